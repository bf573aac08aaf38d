//! Programs for the sharded reader-writer lock: threads that read together and spread.

use super::fair::{LONG, SHORT};
use super::parts::{Outcome, Program, Seen};
use super::read_write::Shared;
use crate::finding::{EXCLUSION, STUCK};
use lockyard::platform::{HostWithSlots, Instant};
use lockyard::rwlock::RawShardedRwLock;
use lockyard::rwlock::sharded::{Entry, Spreading};

/// Operation of a thread on the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardedOp {
    /// Reads.
    Read,
    /// Reads, twice.
    ReadTwice,
    /// Reads if no writer is inside or waits.
    TryRead,
    /// Writes.
    Write,
    /// Writes, twice.
    WriteTwice,
    /// Writes if no thread is inside.
    TryWrite,
    /// Writes, and reads what it wrote as a reader.
    Downgrade,
    /// Spreads the readers.
    Spread,
    /// Spreads the readers, writes, and spreads them again.
    SpreadAgain,
    /// Tries to write, with a timeout that expires after one park.
    WriteGivesUp,
    /// Writes, with a timeout that does not expire in the model: it must be woken.
    WriteWoken,
}

use ShardedOp::*;

impl ShardedOp {
    /// All operations but the wait that must be woken: it needs a model with a clock.
    pub const ALL: [ShardedOp; 10] = [
        Read,
        ReadTwice,
        TryRead,
        Write,
        WriteTwice,
        TryWrite,
        Downgrade,
        Spread,
        SpreadAgain,
        WriteGivesUp,
    ];
}

/// Outcome of a try that failed, or of a wait that gave up.
const REFUSED: i64 = 999;

/// Threads that read and write behind one lock. If `SPREAD`, readers are spread over two shards
/// when the threads begin.
pub struct ShardedProgram<P: Spreading, H: HostWithSlots, const SPREAD: bool> {
    lock: RawShardedRwLock<H, P>,
    shared: Shared<H>,
    ops: Vec<ShardedOp>,
    seen: Seen,
}

impl<P: Spreading, H: HostWithSlots, const SPREAD: bool> ShardedProgram<P, H, SPREAD> {
    fn read(&self, thread: usize, entry: Entry<H>) {
        self.seen.note(thread, self.shared.read(thread) as i64);
        // SAFETY: the caller has entered.
        unsafe { self.lock.release_shared(entry) };
    }

    fn write(&self, thread: usize, entered: bool) {
        if entered {
            let (writes, _) = self.shared.write(thread);
            self.seen.note(thread, writes as i64);
            // SAFETY: the caller has entered.
            unsafe { self.lock.release_exclusive() };
        } else {
            self.seen.note(thread, REFUSED);
        }
    }

    fn wait_and_write(&self, thread: usize) {
        self.lock.acquire_exclusive();
        self.write(thread, true);
    }
}

impl<P: Spreading, H: HostWithSlots, const SPREAD: bool> Program for ShardedProgram<P, H, SPREAD> {
    type Op = ShardedOp;

    fn new(ops: &[ShardedOp], _rounds: u32) -> Self {
        ShardedProgram {
            lock: RawShardedRwLock::new(),
            shared: Shared::new(),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
        }
    }

    fn begin(&self) {
        if SPREAD {
            self.lock.spread(2);
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        match self.ops[thread] {
            Read => self.read(thread, self.lock.acquire_shared()),
            ReadTwice => (0..2).for_each(|_| self.read(thread, self.lock.acquire_shared())),
            TryRead => match self.lock.try_acquire_shared() {
                Some(entry) => self.read(thread, entry),
                None => self.seen.note(thread, REFUSED),
            },
            Write => self.wait_and_write(thread),
            WriteTwice => (0..2).for_each(|_| self.wait_and_write(thread)),
            TryWrite => self.write(thread, self.lock.try_acquire_exclusive()),
            Downgrade => {
                self.lock.acquire_exclusive();
                let (writes, _) = self.shared.write(thread);
                // SAFETY: entered above.
                let entry = unsafe { self.lock.downgrade_to_shared() };
                let now = self.shared.read(thread);
                assert!(now == writes, "{EXCLUSION}thread {thread} was inside and another wrote");
                self.read(thread, entry);
            }
            Spread => self.lock.spread(2),
            SpreadAgain => {
                self.lock.spread(2);
                self.wait_and_write(thread);
                self.lock.spread(2);
            }
            WriteGivesUp => {
                let until = Instant::now() + SHORT;
                self.write(thread, self.lock.acquire_exclusive_until(until));
            }
            WriteWoken => {
                let entered = self.lock.acquire_exclusive_until(Instant::now() + LONG);
                assert!(entered, "{STUCK}a wait gave up before its time");
                self.write(thread, true);
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
