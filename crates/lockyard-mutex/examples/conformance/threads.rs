//! Many threads, threads that end, and signals.

use crate::posix::*;
use crate::run::{Check, times};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

pub(crate) const CHECKS: &[Check] = &[
    (
        "threads-1000",
        "pthread_mutex_lock: 1,000 threads that block on one mutex all acquire it",
        a_thousand,
    ),
    (
        "threads-end",
        "pthread_exit: other threads lock and wait while threads begin and end",
        beginning_and_ending,
    ),
    (
        "threads-late",
        "pthread_key_create: \"destructor\"s of thread-specific data may lock, as often as they run",
        late_locks,
    ),
    (
        "signals-mutex",
        "pthread_mutex_lock: \"If a signal is delivered to a thread waiting for a mutex, upon return \
         from the signal handler the thread shall resume waiting for the mutex as if it was not \
         interrupted.\"",
        signals_on_a_mutex,
    ),
    (
        "signals-condition",
        "pthread_cond_wait: \"These functions shall not return an error code of [EINTR].\"",
        signals_on_a_condition,
    ),
];

fn a_thousand() {
    let lock = At(mutex());
    let sum = Shared::new(0u32);
    let each = times(3);
    must!(pthread_mutex_lock(lock.get()));
    std::thread::scope(|scope| {
        for _ in 0..1000 {
            let begins = std::thread::Builder::new().stack_size(64 << 10);
            let run = || {
                for _ in 0..each {
                    must!(pthread_mutex_lock(lock.get()));
                    // SAFETY: under the mutex.
                    unsafe { *sum.at() += 1 };
                    must!(pthread_mutex_unlock(lock.get()));
                }
            };
            begins.spawn_scoped(scope, run).expect("a thread");
        }
        pause(20);
        must!(pthread_mutex_unlock(lock.get()));
    });
    // SAFETY: the threads have ended.
    assert_eq!(unsafe { *sum.at() }, 1000 * each);
}

fn beginning_and_ending() {
    let rounds = times(300);
    let (lock, condition) = (At(mutex()), At(condition()));
    let sum = Shared::new(0u32);
    let add = || {
        must!(pthread_mutex_lock(lock.get()));
        // SAFETY: under the mutex.
        unsafe { *sum.at() += 1 };
        must!(pthread_cond_signal(condition.get()));
        must!(pthread_mutex_unlock(lock.get()));
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..rounds {
                    std::thread::scope(|inner| {
                        inner.spawn(add);
                        inner.spawn(add);
                    });
                }
            });
        }
        must!(pthread_mutex_lock(lock.get()));
        // SAFETY: under the mutex.
        while unsafe { *sum.at() } < 6 * rounds {
            must!(pthread_cond_wait(condition.get(), lock.get()));
        }
        must!(pthread_mutex_unlock(lock.get()));
    });
}

static LATE: Shared<pthread_mutex_t> = Shared::new(libc::PTHREAD_MUTEX_INITIALIZER);
static LATE_KEY: AtomicU32 = AtomicU32::new(0);
static LATE_COUNT: AtomicU32 = AtomicU32::new(0);
/// Number of locks in each call of the destructor.
const LATE_LOCKS: u32 = 5;

unsafe extern "C" fn lock_late(value: *mut c_void) {
    for _ in 0..LATE_LOCKS {
        must!(pthread_mutex_lock(LATE.at()));
        LATE_COUNT.fetch_add(1, Ordering::Relaxed);
        std::thread::yield_now();
        must!(pthread_mutex_unlock(LATE.at()));
    }
    // The destructor is called again, up to PTHREAD_DESTRUCTOR_ITERATIONS times.
    // SAFETY: the key exists.
    unsafe { libc::pthread_setspecific(LATE_KEY.load(Ordering::Relaxed), value) };
}

fn late_locks() {
    let mut key = 0;
    must!(libc::pthread_key_create(&raw mut key, Some(lock_late)));
    LATE_KEY.store(key, Ordering::Relaxed);
    let rounds = times(10);
    for _ in 0..rounds {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    must!(pthread_mutex_lock(LATE.at()));
                    must!(pthread_mutex_unlock(LATE.at()));
                    // SAFETY: the key exists.
                    unsafe { libc::pthread_setspecific(key, LATE.at().cast()) };
                });
            }
        });
    }
    // The standard library counts a thread as ended before its last destructors.
    let begin = std::time::Instant::now();
    while LATE_COUNT.load(Ordering::Relaxed) < 8 * rounds * 4 * LATE_LOCKS {
        assert!(begin.elapsed().as_secs() < 20, "destructors did not end");
        pause(1);
    }
}

static SIGNALS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_signal(_: c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

/// Sends signals to a thread that runs `body`, until it has ended.
fn under_signals(body: impl FnOnce() + Send) {
    // SAFETY: the handler is async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count_signal as *const () as usize;
        must!(libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()));
    }
    static THREAD: Shared<pthread_t> = Shared::new(0);
    static BEGAN: AtomicBool = AtomicBool::new(false);
    static ENDED: AtomicBool = AtomicBool::new(false);
    static GONE: AtomicBool = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: before the other thread reads it.
            unsafe { *THREAD.at() = libc::pthread_self() };
            BEGAN.store(true, Ordering::SeqCst);
            body();
            ENDED.store(true, Ordering::SeqCst);
            while !GONE.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        });
        while !BEGAN.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        while !ENDED.load(Ordering::SeqCst) {
            // SAFETY: the thread has not ended.
            unsafe { libc::pthread_kill(*THREAD.at(), libc::SIGUSR1) };
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        GONE.store(true, Ordering::SeqCst);
    });
    assert!(SIGNALS.load(Ordering::Relaxed) > 10, "there were no signals");
}

fn signals_on_a_mutex() {
    let lock = At(mutex());
    must!(pthread_mutex_lock(lock.get()));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            under_signals(|| {
                let until = after(CLOCK_REALTIME, 50);
                must!(pthread_mutex_timedlock(lock.get(), &raw const until), ETIMEDOUT);
                assert!(has_passed(CLOCK_REALTIME, until), "too early");
                must!(pthread_mutex_lock(lock.get()));
                must!(pthread_mutex_unlock(lock.get()));
            });
        });
        pause(150);
        must!(pthread_mutex_unlock(lock.get()));
        waits.join().expect("it has not failed");
    });
}

fn signals_on_a_condition() {
    let (lock, condition) = (At(mutex()), At(condition()));
    under_signals(|| {
        must!(pthread_mutex_lock(lock.get()));
        let until = after(CLOCK_MONOTONIC, 100);
        loop {
            // SAFETY: live objects.
            let code = unsafe {
                let clock = CLOCK_MONOTONIC;
                pthread_cond_clockwait(condition.get(), lock.get(), clock, &raw const until)
            };
            if code == ETIMEDOUT {
                break;
            }
            assert_eq!(code, 0, "neither a wake-up nor a timeout");
        }
        must!(pthread_mutex_unlock(lock.get()));
    });
}
