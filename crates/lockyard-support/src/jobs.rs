//! Independent pieces of work on several threads, with the results in the order of the work: so
//! they do not depend on how many threads there were.
//!
//! Also the interrupt: the wish of the user that the process ends with what is finished. Work looks
//! at it often enough to end within half a second: simulations by [`interrupt_flag`],
//! what waits by [`sleep`], and what waits for threads of its own by [`since_interrupt`].

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The interrupt, for those who look often.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Moment of the interrupt, for those who sleep; the condition is notified when it is set.
static SINCE: (Mutex<Option<Instant>>, Condvar) = (Mutex::new(None), Condvar::new());

/// Ends all work soon: nothing new begins, and what is under way is given up.
pub fn interrupt() {
    let mut since = SINCE.0.lock().unwrap_or_else(PoisonError::into_inner);
    since.get_or_insert_with(Instant::now);
    INTERRUPTED.store(true, Ordering::Relaxed);
    SINCE.1.notify_all();
}

/// Returns whether [`interrupt`] was called.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Returns the time since the interrupt; `None` before it.
pub fn since_interrupt() -> Option<Duration> {
    let since = SINCE.0.lock().unwrap_or_else(PoisonError::into_inner);
    since.map(|since| since.elapsed())
}

/// Sleeps; an interrupt ends it at once. The sleeper takes no CPU meanwhile.
pub fn sleep(time: Duration) {
    let since = SINCE.0.lock().unwrap_or_else(PoisonError::into_inner);
    // Whether it was the time or the interrupt, the caller looks.
    drop(SINCE.1.wait_timeout_while(since, time, |since| since.is_none()));
}

/// Flag that [`interrupt`] sets, for work that reads it at every step.
pub fn interrupt_flag() -> &'static AtomicBool {
    &INTERRUPTED
}

/// Runs `work` on each of `items`, on `threads` threads, and calls `done` after each. A piece that
/// was not finished before an interrupt is `None`.
pub fn run<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
    done: impl Fn() + Sync,
) -> Vec<Option<R>> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let one = || {
        while !interrupted() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            let result = work(item);
            // It may have been given up half-way.
            if interrupted() {
                break;
            }
            *results[index].lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(result);
            done();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, items.len().max(1)) {
            scope.spawn(one);
        }
        one();
    });
    results
        .into_iter()
        .map(|r| r.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn results_are_in_the_order_of_the_work() {
        let items: Vec<u64> = (0..100).collect();
        for threads in [1, 2, 7] {
            let results = super::run(&items, threads, |x| x * x, || {});
            let expected: Vec<_> = items.iter().map(|x| Some(x * x)).collect();
            assert_eq!(results, expected);
        }
    }
}
