//! Programs for the queued reader-writer spinlock.

use super::parts::{Outcome, Program, Seen};
use super::read_write::{ReadWriteOp, Shared};
use crate::finding::{EXCLUSION, STUCK};
use lockyard::platform::HostWithSlots;
use lockyard::rwlock::RawQRwLock;

/// Threads that read and write behind one lock. Its operations are [`QueuedReadWriteProgram::OPS`].
pub struct QueuedReadWriteProgram<H: HostWithSlots> {
    lock: RawQRwLock<H>,
    shared: Shared<H>,
    ops: Vec<ReadWriteOp>,
    seen: Seen,
}

use ReadWriteOp::*;

/// Outcome of a try that failed.
const REFUSED: i64 = 999;

impl<H: HostWithSlots> QueuedReadWriteProgram<H> {
    /// The operations that the lock has.
    pub const OPS: [ReadWriteOp; 7] =
        [Read, ReadRecursive, TryRead, Write, WriteTwice, TryWrite, Downgrade];

    fn read(&self, thread: usize) {
        self.seen.note(thread, self.shared.read(thread) as i64);
    }

    fn write(&self, thread: usize) {
        self.seen.note(thread, self.shared.write(thread).0 as i64);
    }
}

impl<H: HostWithSlots> Program for QueuedReadWriteProgram<H> {
    type Op = ReadWriteOp;

    fn new(ops: &[ReadWriteOp], _rounds: u32) -> Self {
        QueuedReadWriteProgram {
            lock: RawQRwLock::new(),
            shared: Shared::new(),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        let lock = &self.lock;
        // SAFETY: each state that is given back is of the acquisition before.
        unsafe {
            match self.ops[thread] {
                Read => {
                    let inside = lock.acquire_shared();
                    self.read(thread);
                    lock.release_shared(inside);
                }
                ReadRecursive => {
                    let first = lock.acquire_shared_recursive();
                    let before = self.shared.read(thread);
                    let second = lock.acquire_shared_recursive();
                    lock.release_shared(first);
                    let after = self.shared.read(thread);
                    assert!(before == after, "{EXCLUSION}a writer came while {thread} read");
                    lock.release_shared(second);
                }
                TryRead => match lock.try_acquire_shared() {
                    Some(inside) => {
                        self.read(thread);
                        lock.release_shared(inside);
                    }
                    None => self.seen.note(thread, REFUSED),
                },
                op @ (Write | WriteTwice) => {
                    for _ in 0..if op == Write { 1 } else { 2 } {
                        let inside = lock.acquire_exclusive();
                        self.write(thread);
                        lock.release_exclusive(inside);
                    }
                }
                TryWrite => match lock.try_acquire_exclusive() {
                    Some(inside) => {
                        self.write(thread);
                        lock.release_exclusive(inside);
                    }
                    None => self.seen.note(thread, REFUSED),
                },
                Downgrade => {
                    let inside = lock.acquire_exclusive();
                    let (writes, _) = self.shared.write(thread);
                    let inside = lock.downgrade(inside);
                    let now = self.shared.read(thread);
                    assert!(now == writes, "{EXCLUSION}a writer came while {thread} downgraded");
                    lock.release_shared(inside);
                }
                op => unreachable!("{op:?} is no operation of this lock"),
            }
        }
    }

    fn finish(&self) {
        self.shared.finish();
        assert!(!self.lock.is_held(), "{STUCK}all threads have left, but the lock is not empty");
    }

    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
