//! Programs for a lock with fair releases and with timed waits.

use super::parts::{Outcome, Program, Protected, Seen};
use crate::finding::STUCK;
use core::time::Duration;
use lockyard::lock::{FairLock, TimedLock};
use lockyard::platform::{HostWithSlots, Instant};
use lockyard::{Held, RawSpinLock};

/// Longest timeout with which a park in a model returns at once: see
/// [`with_clock`](lockyard::platform::checked::with_clock).
pub const SHORT: Duration = Duration::from_micros(10);
/// A timeout that does not expire before the model ends.
pub(crate) const LONG: Duration = Duration::from_secs(1000);

/// Operation of a thread on the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairOp {
    /// Takes the lock, stays inside for a while, releases it fairly.
    Fair,
    /// Takes the lock, stays inside for a while, releases it as usual.
    Usual,
    /// Tries to lock with a timeout that has already expired.
    Timed,
    /// Tries to lock with a timeout that expires after one park.
    GivesUp,
    /// Tries to lock with a timeout that does not expire in the model: it must be woken.
    Woken,
}

/// Threads that take one lock.
pub struct FairProgram<K: FairLock<H> + TimedLock<H>, H: HostWithSlots> {
    lock: RawSpinLock<K, H>,
    protected: Protected<H>,
    ops: Vec<FairOp>,
    seen: Seen,
}

impl<K: FairLock<H> + TimedLock<H>, H: HostWithSlots> FairProgram<K, H> {
    fn section(&self, thread: usize, held: Held<RawSpinLock<K, H>>, fair: bool) {
        self.seen.note(thread, self.protected.section(thread) as i64);
        // SAFETY: `held` belongs to this lock.
        unsafe { if fair { self.lock.release_fair(held) } else { self.lock.release(held) } }
    }
}

impl<K: FairLock<H> + TimedLock<H>, H: HostWithSlots> Program for FairProgram<K, H> {
    type Op = FairOp;

    fn new(ops: &[FairOp], _rounds: u32) -> Self {
        FairProgram {
            lock: RawSpinLock::new(),
            protected: Protected::new(),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        let op = self.ops[thread];
        let time = match op {
            FairOp::Fair | FairOp::Usual => {
                return self.section(thread, self.lock.acquire(), op == FairOp::Fair);
            }
            FairOp::Timed => Duration::ZERO,
            FairOp::GivesUp => SHORT,
            FairOp::Woken => LONG,
        };
        match self.lock.acquire_until(Instant::now() + time) {
            Some(held) => self.section(thread, held, false),
            None => {
                assert!(op != FairOp::Woken, "{STUCK}a wait gave up before its time");
                self.seen.note(thread, 0);
            }
        }
    }

    fn finish(&self) {
        self.protected.finish();
        assert!(!self.lock.is_held(), "{STUCK}everyone has left and the lock is held");
        // A wait that gave up may leave a bit set. The next acquisition clears it.
        let held = self.lock.try_acquire().expect("it is free");
        // SAFETY: taken above.
        unsafe { self.lock.release(held) };
        let left = format!("{:?}", self.lock);
        assert!(
            left.contains("bits: 0,"),
            "{STUCK}all threads have left, but the lock is not empty: {left}"
        );
    }

    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
