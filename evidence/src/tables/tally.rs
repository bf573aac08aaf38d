//! Numbers of objects created and freed. Each thread counts in its own cache line.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

#[repr(align(128))]
#[derive(Debug, Default)]
struct Line {
    made: AtomicU64,
    freed: AtomicU64,
}

/// Counts of a run, by thread. All other threads share the last line.
#[derive(Debug)]
pub(crate) struct Tally(Vec<Line>);

thread_local! {
    static THREAD: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Records that the calling thread is thread number `thread` of the run.
pub(crate) fn enlist(thread: usize) {
    THREAD.with(|mine| mine.set(thread));
}

impl Tally {
    /// Makes the counts for the given number of threads. They live until the program ends, because
    /// the objects that they count may live as long.
    pub(crate) fn leak(threads: usize) -> &'static Tally {
        Box::leak(Box::new(Tally((0..=threads).map(|_| Line::default()).collect())))
    }

    #[inline(always)]
    fn count(&self, of: fn(&Line) -> &AtomicU64) {
        let others = self.0.len() - 1;
        let thread = THREAD.with(Cell::get);
        if thread < others {
            // A load and a store, because only this thread writes there.
            let mine = of(&self.0[thread]);
            mine.store(mine.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        } else {
            of(&self.0[others]).fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of objects that were created and are not freed yet. A snapshot.
    pub(crate) fn alive(&self) -> u64 {
        // Reads the freed ones first, so that objects created in the meantime count as created.
        let sum = |of: fn(&Line) -> &AtomicU64| -> u64 {
            self.0.iter().map(|line| of(line).load(Ordering::Relaxed)).sum()
        };
        let freed = sum(|line| &line.freed);
        sum(|line| &line.made).saturating_sub(freed)
    }
}

/// A counted object of 64 bytes.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub(crate) value: u64,
    tally: &'static Tally,
    _rest: [u64; 6],
}

const _: () = assert!(size_of::<Tracked>() == 64);

impl Tracked {
    #[inline(always)]
    pub(crate) fn new(value: u64, tally: &'static Tally) -> Tracked {
        tally.count(|line| &line.made);
        Tracked { value, tally, _rest: [value; 6] }
    }
}

impl Drop for Tracked {
    #[inline(always)]
    fn drop(&mut self) {
        // Later readers find another value.
        self.value = !self.value;
        std::hint::black_box(&mut self.value);
        self.tally.count(|line| &line.freed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_here_and_freed_there_is_counted_once() {
        let tally = Tally::leak(2);
        std::thread::scope(|scope| {
            let make = |thread| {
                move || {
                    enlist(thread);
                    (0..10).map(|n| Tracked::new(n, tally)).collect::<Vec<_>>()
                }
            };
            let (a, b) = (scope.spawn(make(0)), scope.spawn(make(1)));
            let (a, b) = (a.join().unwrap(), b.join().unwrap());
            assert_eq!(tally.alive(), 20);
            drop(a);
            assert_eq!(tally.alive(), 10);
            scope.spawn(move || {
                enlist(1);
                drop(b);
            });
        });
        assert_eq!(tally.alive(), 0);
    }
}
