//! CPU time of threads that wait while nothing happens, without and with a library preloaded:
//! `waiters THREADS SECONDS [LIBRARY]`.
//!
//! All threads wait for one mutex, each for a separate mutex, or all for a condition. The figure is
//! the CPU time of the process in the given seconds, as a share of one CPU. Counting begins one
//! second after the last thread has started.

use std::cell::UnsafeCell;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

/// A mutex with a condition, and whether the waiters may end.
struct Monitor {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    condition: UnsafeCell<libc::pthread_cond_t>,
    ends: UnsafeCell<bool>,
}
// SAFETY: the functions of POSIX threads allow any thread; `ends` is accessed under the mutex.
unsafe impl Sync for Monitor {}

impl Monitor {
    fn new() -> Monitor {
        Monitor {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            condition: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            ends: UnsafeCell::new(false),
        }
    }

    fn lock(&self) {
        // SAFETY: a live mutex.
        unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
    }

    fn unlock(&self) {
        // SAFETY: a live mutex, which this thread holds.
        unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
    }
}

/// Object that the threads wait for.
const WAITS: [&str; 3] = ["one mutex", "own mutexes", "a condition"];

/// Stack of a thread in bytes: thousands of them need little memory.
const STACK: usize = 64 << 10;

/// Returns the CPU time of this process.
fn cpu_time() -> Duration {
    // SAFETY: zeros are a valid value, and the call writes the live structure.
    unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut used);
        let time = |of: libc::timeval| {
            Duration::from_secs(of.tv_sec as u64) + Duration::from_micros(of.tv_usec as u64)
        };
        time(used.ru_utime) + time(used.ru_stime)
    }
}

/// Lets threads wait. Returns the share of a CPU that they use, in per cent, and the time until all
/// have ended.
fn wait(what: &str, threads: usize, time: Duration) -> (f64, Duration) {
    let is_condition = what == "a condition";
    let count = if what == "own mutexes" { threads } else { 1 };
    let all: Vec<Monitor> = (0..count).map(|_| Monitor::new()).collect();
    if !is_condition {
        all.iter().for_each(Monitor::lock);
    }
    let (share, end) = std::thread::scope(|scope| {
        for me in 0..threads {
            let monitor = &all[me % count];
            let body = move || {
                monitor.lock();
                // SAFETY: under the mutex.
                while is_condition && !unsafe { *monitor.ends.get() } {
                    // SAFETY: both are live, and this thread holds the mutex.
                    unsafe {
                        libc::pthread_cond_wait(monitor.condition.get(), monitor.mutex.get())
                    };
                }
                monitor.unlock();
            };
            let builder = std::thread::Builder::new().stack_size(STACK);
            builder.spawn_scoped(scope, body).expect("the system starts a thread");
        }
        std::thread::sleep(Duration::from_secs(1));
        let (before, begin) = (cpu_time(), Instant::now());
        std::thread::sleep(time);
        let (used, passed) = (cpu_time() - before, begin.elapsed());
        let end = Instant::now();
        if is_condition {
            all[0].lock();
            // SAFETY: under the mutex; the condition is live.
            unsafe {
                *all[0].ends.get() = true;
                libc::pthread_cond_broadcast(all[0].condition.get());
            }
        }
        all.iter().for_each(Monitor::unlock);
        (used.as_secs_f64() / passed.as_secs_f64() * 100.0, end)
    });
    (share, end.elapsed())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (threads, seconds, rest) = match words.as_slice() {
        [threads, seconds, rest @ ..] => (threads.parse(), seconds.parse(), rest),
        _ => (Ok(0), Ok(0.0), [].as_slice()),
    };
    let (Ok(threads @ 1..), Ok(seconds)) = (threads, seconds) else {
        eprintln!("usage: waiters THREADS SECONDS [LIBRARY]");
        return ExitCode::from(2);
    };
    if let ["--run", what] = rest {
        let (share, ended) = wait(what, threads, Duration::from_secs_f64(seconds));
        println!("{share:.2} % of a CPU; all ended {:.2} s after the release", ended.as_secs_f64());
        return ExitCode::SUCCESS;
    }
    for what in WAITS {
        for library in std::iter::once(None).chain(rest.iter().map(Some)) {
            let mut command = Command::new(std::env::current_exe().expect("the system knows it"));
            command.args([words[0], words[1], "--run", what]);
            command.env("LD_PRELOAD", library.unwrap_or(&""));
            let output = command.output().expect("the program starts itself");
            let text = String::from_utf8_lossy(&output.stdout);
            println!("{what}, {}: {}", library.unwrap_or(&"C library"), text.trim_end());
        }
    }
    ExitCode::SUCCESS
}
