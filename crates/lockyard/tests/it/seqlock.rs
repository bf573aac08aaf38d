//! The sequence lock on real threads: copies are whole, writes are not lost, and writers that
//! panic or forget their guard do not stop readers.

use crate::support::watchdog::watched;
use lockyard::seqlock::NoUninit;
use lockyard::{Native, SeqLock, SeqLockGuard, seqlock};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Counts up in all words of a value. Readers check that all words are the same.
fn torture<const WORDS: usize>(threads: usize, rounds: u64)
where
    [u64; WORDS]: NoUninit,
{
    let lock = SeqLock::<[u64; WORDS]>::new([0; WORDS]);
    let writers = threads / 4;
    thread::scope(|scope| {
        for number in 0..threads {
            let lock = &lock;
            scope.spawn(move || {
                let mut last = 0;
                for round in 0..rounds {
                    if number < writers {
                        lock.write().iter_mut().for_each(|word| *word += 1);
                    } else {
                        let copy = if round % 64 == 0 { lock.read_locked() } else { lock.read() };
                        assert!(copy.iter().all(|&word| word == copy[0]), "torn: {copy:?}");
                        assert!(copy[0] >= last, "a copy is older than the one before");
                        last = copy[0];
                    }
                }
            });
        }
    });
    assert_eq!(lock.read(), [writers as u64 * rounds; WORDS]);
}

#[test]
fn copies_are_whole_with_64_threads() {
    watched(|| {
        torture::<1>(64, 500);
        torture::<4>(64, 500);
        torture::<23>(8, 2_000);
    });
}

/// A struct with a length that is no multiple of a word.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Odd {
    bytes: [u8; 7],
}
// SAFETY: an array of bytes has no padding.
unsafe impl NoUninit for Odd {}

#[test]
fn values_of_any_size_are_replaced() {
    let empty = SeqLock::new(());
    empty.set(());
    assert_eq!((empty.read(), size_of_val(&empty)), ((), 16));
    let odd = SeqLock::new(Odd { bytes: [1; 7] });
    odd.set(Odd { bytes: [9; 7] });
    assert_eq!(odd.read(), Odd { bytes: [9; 7] });
    assert_eq!(odd.into_inner(), Odd { bytes: [9; 7] });
    let half = SeqLock::new(5_u32);
    *half.write() += 1;
    assert_eq!((half.read(), size_of_val(&half)), (6, 24));
}

#[test]
fn a_guard_that_is_forgotten_stops_writers_and_no_readers() {
    let lock = SeqLock::new(1);
    let mut guard = lock.write();
    *guard = 2;
    assert_eq!(lock.read(), 1, "the value is replaced at the end");
    std::mem::forget(guard);
    assert_eq!((lock.read(), lock.try_read()), (1, Some(1)));
    assert!(lock.is_write_locked() && lock.try_write().is_none());
}

#[test]
fn a_panic_publishes_and_discard_does_not() {
    let lock = SeqLock::new(1);
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let mut guard = lock.write();
        *guard = 2;
        panic!("a writer's");
    }));
    assert!(panicked.is_err());
    assert_eq!((lock.read(), lock.is_write_locked()), (2, false));
    let mut guard = lock.write();
    *guard = 3;
    SeqLockGuard::discard(guard);
    assert_eq!((lock.read(), lock.is_write_locked()), (2, false));
}

#[test]
fn readers_are_not_starved_by_writers() {
    watched(|| {
        let (lock, stop) = (SeqLock::new([0_u64; 32]), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        lock.write().iter_mut().for_each(|word| *word += 1);
                    }
                });
            }
            for _ in 0..1_000 {
                lock.read();
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn a_spinlock_of_writers_serves_hosts_without_slots() {
    static TIME: seqlock::SeqLock<u64, Native, lockyard::lock::Ticket> = seqlock::SeqLock::new(0);
    TIME.set(7);
    assert_eq!(TIME.read(), 7);
}
