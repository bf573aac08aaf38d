//! Loads, each run for [`TIME`].

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

unsafe extern "C" {
    fn pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int;
    fn pthread_mutex_unlock(mutex: *mut libc::pthread_mutex_t) -> c_int;
    fn pthread_cond_wait(
        condition: *mut libc::pthread_cond_t,
        mutex: *mut libc::pthread_mutex_t,
    ) -> c_int;
    fn pthread_cond_signal(condition: *mut libc::pthread_cond_t) -> c_int;
}

const TIME: Duration = Duration::from_millis(100);

/// Load: what each thread does in a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Short,
    Long,
    Pairs,
}

/// A mutex, a condition variable and a number, on separate cache lines.
#[repr(align(128))]
struct Monitor {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    condition: UnsafeCell<libc::pthread_cond_t>,
    number: UnsafeCell<u64>,
}
// SAFETY: the number is accessed under the mutex.
unsafe impl Sync for Monitor {}

impl Monitor {
    const fn new() -> Self {
        Monitor {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            condition: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            number: UnsafeCell::new(0),
        }
    }

    fn locked<R>(&self, body: impl FnOnce(&mut u64) -> R) -> R {
        // SAFETY: a live mutex; the number is accessed under it.
        unsafe {
            pthread_mutex_lock(self.mutex.get());
            let result = body(&mut *self.number.get());
            pthread_mutex_unlock(self.mutex.get());
            result
        }
    }
}

static STOP: AtomicBool = AtomicBool::new(false);

/// Works for about a microsecond.
fn work(length: u32) {
    for step in 0..length {
        std::hint::black_box(step);
    }
}

/// Returns the number of steps of [`work`] that take a microsecond.
fn microsecond() -> u32 {
    const STEPS: u32 = 100_000;
    let best = (0..20).map(|_| {
        let begin = Instant::now();
        work(STEPS);
        begin.elapsed()
    });
    let best = best.min().unwrap_or_default().as_nanos().max(1) as u64;
    (u64::from(STEPS) * 1000 / best).max(1) as u32
}

fn sections(threads: usize, length: u32) -> u64 {
    static MONITOR: Monitor = Monitor::new();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !STOP.load(Ordering::Relaxed) {
                    MONITOR.locked(|number| {
                        *number += 1;
                        work(length);
                    });
                    work(length);
                }
            });
        }
        std::thread::sleep(TIME);
        STOP.store(true, Ordering::Relaxed);
    });
    MONITOR.locked(|number| *number)
}

/// One thread of a pair waits until the number is even, the other until it is odd.
fn pairs(threads: usize) -> u64 {
    let monitors: Vec<Monitor> = (0..threads / 2).map(|_| Monitor::new()).collect();
    std::thread::scope(|scope| {
        for (monitor, me) in monitors.iter().flat_map(|monitor| [(monitor, 0), (monitor, 1)]) {
            scope.spawn(move || {
                while !STOP.load(Ordering::Relaxed) {
                    // SAFETY: live objects; the number is accessed under the mutex.
                    unsafe {
                        pthread_mutex_lock(monitor.mutex.get());
                        while *monitor.number.get() % 2 != me && !STOP.load(Ordering::Relaxed) {
                            pthread_cond_wait(monitor.condition.get(), monitor.mutex.get());
                        }
                        *monitor.number.get() += 1;
                        pthread_cond_signal(monitor.condition.get());
                        pthread_mutex_unlock(monitor.mutex.get());
                    }
                }
            });
        }
        std::thread::sleep(TIME);
        STOP.store(true, Ordering::Relaxed);
        for monitor in &monitors {
            // A thread that has not yet seen the end may be about to wait.
            monitor.locked(|_| ());
            // SAFETY: a live object.
            unsafe { pthread_cond_signal(monitor.condition.get()) };
        }
    });
    monitors.iter().map(|monitor| monitor.locked(|number| *number)).sum()
}

/// Returns the operations per second of a load.
pub(crate) fn rate(shape: Shape, threads: usize) -> f64 {
    let length = if shape == Shape::Long { microsecond() } else { 0 };
    let begin = Instant::now();
    let count = if shape == Shape::Pairs { pairs(threads) } else { sections(threads, length) };
    count as f64 / begin.elapsed().as_secs_f64()
}
