//! Uncontended locks as straight-line code: a loop with only the lock, one addition and the unlock.
//! There is no interpreter and no indirect call.
//!
//! `tests/it/listings.rs` checks the machine code of each loop. `cargo study uncontended`
//! measures the cost of a pair of lock and unlock, next to the yardstick, round by round.

use crate::bare::BareLock;
use lockyard::{RawQSpinLock, RawTicketLock};
use std::cell::Cell;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Takes the yardstick, adds one and releases it, `pairs` times.
#[inline(never)]
pub fn bare_loop(lock: &BareLock, word: &Cell<u64>, pairs: u64) {
    for _ in 0..pairs {
        lock.acquire();
        word.set(word.get().wrapping_add(1));
        lock.release();
    }
}

/// Takes the ticket lock, adds one and releases it, `pairs` times.
#[inline(never)]
pub fn ticket_loop(lock: &RawTicketLock, word: &Cell<u64>, pairs: u64) {
    for _ in 0..pairs {
        let held = lock.acquire();
        word.set(word.get().wrapping_add(1));
        // SAFETY: taken above.
        unsafe { lock.release(held) };
    }
}

/// Takes the queued lock, adds one and releases it, `pairs` times.
#[inline(never)]
pub fn queued_loop(lock: &RawQSpinLock, word: &Cell<u64>, pairs: u64) {
    for _ in 0..pairs {
        let held = lock.acquire();
        word.set(word.get().wrapping_add(1));
        // SAFETY: taken above.
        unsafe { lock.release(held) };
    }
}

/// A lock and the word that it protects, in their own cache line.
#[repr(align(128))]
struct Line<L>(L, Cell<u64>);

/// Returns the time of `pairs` pairs of lock and unlock, without contention.
fn time<L>(lock: L, body: fn(&L, &Cell<u64>, u64), pairs: u64) -> Duration {
    let line = Line(lock, Cell::new(0));
    let line = black_box(&line);
    let begin = Instant::now();
    body(&line.0, &line.1, pairs);
    let time = begin.elapsed();
    assert_eq!(line.1.get(), pairs, "each pair adds one");
    time
}

/// A lock's name, and the function that times the given number of pairs.
pub type Loop = (&'static str, fn(u64) -> Duration);

/// The loops, beginning with the yardstick's.
pub const LOOPS: &[Loop] = &[
    ("bare", |pairs| time(BareLock::new(), bare_loop, pairs)),
    ("ticket", |pairs| time(RawTicketLock::new(), ticket_loop, pairs)),
    ("queued", |pairs| time(RawQSpinLock::new(), queued_loop, pairs)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_does_all_its_pairs() {
        for (_, pairs) in LOOPS {
            // Panics if the word does not count the pairs.
            pairs(1_000);
        }
        assert_eq!(LOOPS[0].0, "bare");
    }
}
