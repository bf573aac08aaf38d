//! The loop that measures every subject, and its operations. Both are the same for all rows of a
//! group.
//!
//! Each thread draws [`DRAWS`] operations before it begins, and repeats them. A draw gives the
//! object, its expected value, and the kind of the operation: a read or a change. The number of
//! changes matches the load exactly, and they are spread at random. The loop itself therefore draws
//! no random numbers, and every subject gets the same work.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The load of a run on its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Number of objects in a table at the beginning.
    pub objects: u32,
    /// Percentage of operations that read; the others change something.
    pub reads: u32,
    /// Number of threads.
    pub threads: usize,
}

/// Number of operations that a thread draws.
pub(crate) const DRAWS: usize = 1 << 14;

/// Number of operations between two reports of progress and checks for the stop.
const BATCH: usize = 64;

/// Request to stop a run.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Requests the stop.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One thread of a run.
#[derive(Clone, Copy, Debug)]
pub struct Worker<'r> {
    /// Its number, from 0.
    pub thread: usize,
    /// The load of the run.
    pub load: Load,
    /// The request to stop.
    pub stop: &'r Stop,
    /// Number of operations that the thread has reported as done.
    pub progress: &'r AtomicU64,
}

/// Counts of a thread's completed operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Operations that read.
    pub reads: u64,
    /// Operations that changed something.
    pub changes: u64,
    /// Reads that found nothing.
    pub missed: u64,
    /// Reads that found a wrong value.
    pub wrong: u64,
}

impl Done {
    /// Returns the sum of several threads' counts.
    pub fn sum(all: &[Done]) -> Done {
        all.iter().fold(Done::default(), |a, b| Done {
            reads: a.reads + b.reads,
            changes: a.changes + b.changes,
            missed: a.missed + b.missed,
            wrong: a.wrong + b.wrong,
        })
    }
}

/// A drawn operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw<K> {
    pub(crate) key: K,
    /// The expected value.
    expected: u64,
    changes: bool,
}

/// Pseudo-random numbers: a 64-bit xorshift with a multiplication (G. Marsaglia, 2003; S. Vigna,
/// 2016).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        // The seed is not 0, and neighbouring seeds are far apart.
        Random((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

/// Returns the operations of a thread. `key` returns the key and the expected value of each of
/// `objects` objects.
pub(crate) fn draws<K>(
    worker: &Worker,
    objects: usize,
    mut object: impl FnMut(usize) -> (K, u64),
) -> Vec<Draw<K>> {
    let mut random = Random::new(worker.thread as u64);
    let changes = DRAWS - DRAWS * worker.load.reads as usize / 100;
    let mut draws: Vec<Draw<K>> = (0..DRAWS)
        .map(|index| {
            let (key, expected) = object(random.below(objects));
            Draw { key, expected, changes: index < changes }
        })
        .collect();
    // R. Durstenfeld, Algorithm 235, 1964. The shuffle only decides which operations are changes.
    for index in (1..DRAWS).rev() {
        let other = random.below(index + 1);
        let changes = draws[index].changes;
        draws[index].changes = draws[other].changes;
        draws[other].changes = changes;
    }
    draws
}

impl Worker<'_> {
    /// Repeats `draws` until the run is stopped. `read` reads the object of a key, and `change`
    /// makes a change. Both get the state that the thread keeps.
    #[inline(always)]
    pub(crate) fn run<K, S>(
        &self,
        draws: &[Draw<K>],
        kept: &mut S,
        mut read: impl FnMut(&mut S, &K) -> Option<u64>,
        mut change: impl FnMut(&mut S, &K),
    ) -> Done {
        let mut done = Done::default();
        let mut operations = 0;
        'run: loop {
            for batch in draws.chunks_exact(BATCH) {
                for draw in batch {
                    if draw.changes {
                        change(kept, &draw.key);
                        done.changes += 1;
                        continue;
                    }
                    match read(kept, &draw.key) {
                        Some(value) => done.wrong += u64::from(value != draw.expected),
                        None => done.missed += 1,
                    }
                }
                operations += BATCH as u64;
                // A store by the only writer. The store and the load of the stop request are
                // relaxed, because no other data depends on them.
                self.progress.store(operations, Ordering::Relaxed);
                if self.stop.0.load(Ordering::Relaxed) {
                    break 'run;
                }
            }
        }
        done.reads = operations - done.changes;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_operations_change_something_as_was_asked_for() {
        for (reads, expected) in [(100, 0), (99, 164), (90, 1639), (0, DRAWS)] {
            let (stop, progress) = (Stop::default(), AtomicU64::new(0));
            let load = Load { objects: 7, reads, threads: 1 };
            let worker = Worker { thread: 3, load, stop: &stop, progress: &progress };
            let draws = draws(&worker, 7, |index| (index, index as u64 + 100));
            assert_eq!(draws.iter().filter(|draw| draw.changes).count(), expected);
            assert!((0..7).all(|key| draws.iter().any(|draw| draw.key == key)), "all are drawn");
            stop.stop();
            let done =
                worker.run(&draws[..BATCH], &mut (), |_, &k| Some(k as u64 + 100), |_, _| ());
            assert_eq!((done.wrong, done.missed), (0, 0));
            assert_eq!(done.reads + done.changes, progress.into_inner());
        }
    }

    #[test]
    fn what_is_read_wrongly_or_not_found_is_counted() {
        let (stop, progress) = (Stop::default(), AtomicU64::new(0));
        stop.stop();
        let load = Load { objects: 1, reads: 100, threads: 1 };
        let worker = Worker { thread: 0, load, stop: &stop, progress: &progress };
        let draws = draws(&worker, 1, |_| ((), 1));
        assert_eq!(worker.run(&draws, &mut (), |_, _| Some(2), |_, _| ()).wrong, BATCH as u64);
        assert_eq!(worker.run(&draws, &mut (), |_, _| None, |_, _| ()).missed, BATCH as u64);
    }
}
