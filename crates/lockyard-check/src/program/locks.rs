//! Programs for a lock.

use super::parts::{Outcome, Program, Protected, Seen};
use crate::finding::STUCK;
use crate::hooks;
use lockyard::lock::LaneLock;
use lockyard::platform::HostWithSlots;
use lockyard::{Held, RawSpinLock};

/// Operation of a thread on the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOp {
    /// Takes the lock, stays inside for a while, releases it.
    Lock,
    /// The same as [`Lock`](Self::Lock), if the lock is free.
    TryLock,
    /// The same as [`Lock`](Self::Lock), twice.
    LockTwice,
}

impl LockOp {
    /// Returns the number of critical sections in a round, for a thread that waits for the lock.
    fn sections(self) -> u64 {
        1 + u64::from(self == LockOp::LockTwice)
    }
}

/// Threads that take one lock.
///
/// If every thread waits for the lock, the last holder frees the lock's memory right after its
/// release. In a model any later access to the lock's word is then a failure. (With
/// [`LockOp::TryLock`] no thread knows that it is the last.)
pub struct LockProgram<K: LaneLock<H>, H: HostWithSlots> {
    lock: RawSpinLock<K, H>,
    protected: Protected<H>,
    ops: Vec<LockOp>,
    seen: Seen,
    /// Number of critical sections after which the lock is freed.
    last_section: Option<u64>,
}

impl<K: LaneLock<H>, H: HostWithSlots> LockProgram<K, H> {
    /// Performs a critical section and releases the lock.
    fn section(&self, thread: usize, held: Held<RawSpinLock<K, H>>) {
        let sections = self.protected.section(thread);
        self.seen.note(thread, sections as i64);
        // SAFETY: `held` belongs to this lock.
        unsafe { self.lock.release(held) };
        if Some(sections) == self.last_section {
            let word = core::ptr::from_ref(&self.lock).addr();
            hooks::free(word..word + size_of_val(&self.lock));
        }
    }
}

impl<K: LaneLock<H>, H: HostWithSlots> Program for LockProgram<K, H> {
    type Op = LockOp;

    fn new(ops: &[LockOp], rounds: u32) -> Self {
        hooks::free_nothing();
        let everyone_waits = !ops.contains(&LockOp::TryLock);
        let sections: u64 = ops.iter().map(|op| op.sections()).sum();
        LockProgram {
            lock: RawSpinLock::new(),
            protected: Protected::new(),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
            last_section: everyone_waits.then_some(sections * u64::from(rounds)),
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        let op = self.ops[thread];
        if op == LockOp::TryLock {
            match self.lock.try_acquire() {
                Some(held) => self.section(thread, held),
                None => self.seen.note(thread, 0),
            }
            return;
        }
        for _ in 0..op.sections() {
            self.section(thread, self.lock.acquire());
        }
    }

    fn finish(&self) {
        self.protected.finish();
        if self.last_section.is_none() {
            assert!(!self.lock.is_held(), "{STUCK}everyone has left and the lock is held");
        }
    }
    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
