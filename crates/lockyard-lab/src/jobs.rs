//! Independent pieces of work on several threads, with the results in the order of the work: so they
//! do not depend on how many threads there were.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Asked to stop (Ctrl-C): no further piece is begun.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Lets no further piece of work begin.
pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Whether [`interrupt`] was called.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Runs `work` on each of `items`, on `threads` threads, and calls `done` after each. A piece that was
/// not begun, because of an interrupt, is `None`.
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
