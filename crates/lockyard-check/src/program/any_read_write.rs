//! Programs for any reader-writer lock: threads that read and write.

use super::parts::{Outcome, Program, Seen};
use super::read_write::{ReadWriteOp, Shared};
use crate::finding::STUCK;
use lockyard::platform::HostWithSlots;
use lockyard::rwlock::ReadWrite;

/// Threads that read and write behind one lock. The operations are [`ReadWriteOp::Read`],
/// [`ReadWriteOp::Write`] and [`ReadWriteOp::WriteTwice`].
pub struct AnyReadWriteProgram<L: ReadWrite<H>, H: HostWithSlots> {
    lock: L,
    shared: Shared<H>,
    ops: Vec<ReadWriteOp>,
    seen: Seen,
}

impl<L: ReadWrite<H>, H: HostWithSlots> AnyReadWriteProgram<L, H> {
    fn write(&self, thread: usize) {
        self.lock.lock_exclusive();
        let (writes, _) = self.shared.write(thread);
        self.seen.note(thread, writes as i64);
        // SAFETY: taken above.
        unsafe { self.lock.unlock_exclusive() };
    }
}

impl<L: ReadWrite<H>, H: HostWithSlots> Program for AnyReadWriteProgram<L, H> {
    type Op = ReadWriteOp;

    fn new(ops: &[ReadWriteOp], _rounds: u32) -> Self {
        AnyReadWriteProgram {
            lock: L::free(),
            shared: Shared::new(),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        match self.ops[thread] {
            ReadWriteOp::Read => {
                let entry = self.lock.lock_shared();
                self.seen.note(thread, self.shared.read(thread) as i64);
                // SAFETY: taken above.
                unsafe { self.lock.unlock_shared(entry) };
            }
            ReadWriteOp::Write => self.write(thread),
            ReadWriteOp::WriteTwice => (0..2).for_each(|_| self.write(thread)),
            op => unreachable!("{op:?} is no operation of every reader-writer lock"),
        }
    }

    fn finish(&self) {
        self.shared.finish();
        assert!(!self.lock.is_inside(), "{STUCK}all threads have left, but the lock is not empty");
    }

    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
