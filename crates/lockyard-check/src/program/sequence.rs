//! Programs for a sequence lock: threads that copy its value, and replace it.

use super::parts::{Outcome, Program, Seen};
use crate::finding::{COUNT, EXCLUSION};
use lockyard::lock::LaneLock;
use lockyard::platform::Host;
use lockyard::seqlock::{SeqLock, SeqLockGuard};
use std::sync::atomic::{AtomicU64, Ordering as Plain};

/// Operation of a thread on the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SequenceOp {
    /// Copies the value.
    Read,
    /// Copies the value twice.
    ReadTwice,
    /// Copies the value if no writer comes between.
    TryRead,
    /// Copies the value behind the writers' lock.
    ReadLocked,
    /// Replaces the value.
    Write,
    /// Replaces the value, twice.
    WriteTwice,
    /// Replaces the value if no other writer is there.
    TryWrite,
    /// Changes a copy and discards it.
    Discard,
}

use SequenceOp::*;

impl SequenceOp {
    /// All operations.
    pub const ALL: [SequenceOp; 8] =
        [Read, ReadTwice, TryRead, ReadLocked, Write, WriteTwice, TryWrite, Discard];
}

/// The value: the number of writes, and its complement.
type Value = [u64; 2];

/// Outcome of a try that failed.
const REFUSED: i64 = 999;

/// Threads that use one sequence lock, whose value is two words that belong together.
pub struct SequenceProgram<H: Host, K: LaneLock<H>> {
    lock: SeqLock<Value, H, K>,
    ops: Vec<SequenceOp>,
    seen: Seen,
    /// Number of writes, counted outside the platform.
    written: AtomicU64,
}

impl<H: Host, K: LaneLock<H>> SequenceProgram<H, K> {
    /// Checks a copy. Returns the number of writes before it.
    fn whole(&self, thread: usize, [writes, complement]: Value) -> u64 {
        assert!(
            writes == !complement,
            "{EXCLUSION}thread {thread} accepts a copy of two values: {writes} and {}",
            !complement
        );
        self.seen.note(thread, writes as i64);
        writes
    }

    fn read(&self, thread: usize) -> u64 {
        let value = self.lock.read();
        self.whole(thread, value)
    }

    fn replace(&self, thread: usize, mut guard: SeqLockGuard<'_, Value, H, K>) {
        let writes = self.whole(thread, *guard) + 1;
        guard[0] = writes;
        guard[1] = !writes;
        let before = self.written.fetch_add(1, Plain::Relaxed);
        assert!(writes == before + 1, "{COUNT}writer {thread} is number {writes} after {before}");
    }
}

impl<H: Host, K: LaneLock<H>> Program for SequenceProgram<H, K> {
    type Op = SequenceOp;

    fn new(ops: &[SequenceOp], _rounds: u32) -> Self {
        SequenceProgram {
            lock: SeqLock::from([0, !0]),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
            written: AtomicU64::new(0),
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        match self.ops[thread] {
            Read => _ = self.read(thread),
            ReadTwice => {
                let first = self.read(thread);
                let second = self.read(thread);
                assert!(first <= second, "{COUNT}thread {thread} reads {second} after {first}");
            }
            TryRead => match self.lock.try_read() {
                Some(value) => _ = self.whole(thread, value),
                None => self.seen.note(thread, REFUSED),
            },
            ReadLocked => {
                let value = self.lock.read_locked();
                self.whole(thread, value);
            }
            Write => self.replace(thread, self.lock.write()),
            WriteTwice => (0..2).for_each(|_| self.replace(thread, self.lock.write())),
            TryWrite => match self.lock.try_write() {
                Some(guard) => self.replace(thread, guard),
                None => self.seen.note(thread, REFUSED),
            },
            Discard => {
                let mut guard = self.lock.write();
                self.whole(thread, *guard);
                guard[0] = 77;
                SeqLockGuard::discard(guard);
            }
        }
    }

    fn finish(&self) {
        let [writes, complement] = self.lock.read();
        let written = self.written.load(Plain::Relaxed);
        assert!(
            writes == written && complement == !writes,
            "{COUNT}{written} writes left a value of {writes}, {complement}"
        );
    }

    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
