//! Independent jobs on several threads. The results are in the order of the jobs, so they
//! do not depend on the number of threads.
//!
//! This module also has the interrupt: the user's request to end the process with the results
//! finished so far. Work checks it often enough to end within half a second. Simulations read
//! [`interrupt_flag`], waits use [`sleep`], and code that waits for its own threads uses
//! [`since_interrupt`].

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Interrupt flag, for code that checks it often.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Time of the interrupt, for code that sleeps. The condition variable is notified when it is set.
static SINCE: (Mutex<Option<Instant>>, Condvar) = (Mutex::new(None), Condvar::new());

/// Ends all work soon: no new piece begins, and pieces in progress are abandoned.
pub fn interrupt() {
    let mut since = SINCE.0.lock().unwrap_or_else(PoisonError::into_inner);
    since.get_or_insert_with(Instant::now);
    INTERRUPTED.store(true, Ordering::Relaxed);
    SINCE.1.notify_all();
}

/// Ends the interrupt, for a process that goes on after interrupted work. No work may be in
/// progress, because it would not end.
pub fn clear_interrupt() {
    let mut since = SINCE.0.lock().unwrap_or_else(PoisonError::into_inner);
    *since = None;
    INTERRUPTED.store(false, Ordering::Relaxed);
}

/// Returns true if [`interrupt`] was called.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Returns the time since the interrupt; `None` before it.
pub fn since_interrupt() -> Option<Duration> {
    let since = SINCE.0.lock().unwrap_or_else(PoisonError::into_inner);
    since.map(|since| since.elapsed())
}

/// Sleeps without using the CPU. An interrupt ends the sleep immediately.
pub fn sleep(time: Duration) {
    let since = SINCE.0.lock().unwrap_or_else(PoisonError::into_inner);
    // The caller finds out which of the two ended the sleep: the timeout or the interrupt.
    drop(SINCE.1.wait_timeout_while(since, time, |since| since.is_none()));
}

/// Returns the flag that [`interrupt`] sets, for work that reads it at every step.
pub fn interrupt_flag() -> &'static AtomicBool {
    &INTERRUPTED
}

/// Runs `work` on each of `items`, on `threads` threads, and calls `done` after each. The result of
/// a piece is `None` if an interrupt came before its end.
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
            // An interrupt may have ended the work half-way.
            if interrupted() {
                break;
            }
            *results[index].lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(result);
            done();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, items.len().max(1)) {
            // If the system refuses a thread, the others do its work.
            if Builder::new().spawn_scoped(scope, one).is_err() {
                break;
            }
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
