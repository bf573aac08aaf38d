//! Programs for a reader-writer lock.

use super::fair::{LONG, SHORT};
use super::parts::{Outcome, Program, Seen, linger, read, write};
use crate::finding::{COUNT, EXCLUSION, STUCK};
use crate::hooks;
use lockyard::lock::adaptive::Patience;
use lockyard::platform::{Cell, DataCell, HostWithSlots, Instant, Ordering, U32, Word};
use lockyard::rwlock::RawRwLock;
use std::sync::atomic::{AtomicU64, Ordering as Plain};

/// Operation of a thread on the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadWriteOp {
    /// Reads.
    Read,
    /// Reads, and reads again while it reads, beside writers that wait.
    ReadRecursive,
    /// Reads if no writer is inside or waits for readers.
    TryRead,
    /// Reads, and leaves fairly.
    ReadFair,
    /// Writes.
    Write,
    /// Writes, twice.
    WriteTwice,
    /// Writes if no thread is inside.
    TryWrite,
    /// Writes, and leaves fairly.
    WriteFair,
    /// Writes, and reads what it wrote as a reader.
    Downgrade,
    /// Reads as the upgradable reader, writes, and reads as the upgradable and as a plain reader.
    Upgrade,
    /// Reads as the upgradable reader, and writes if it is the only reader.
    TryUpgrade,
    /// Tries to read, with a timeout that expires after one park.
    ReadGivesUp,
    /// Tries to write, with a timeout that expires after one park.
    WriteGivesUp,
    /// Reads as the upgradable reader, and tries to write, with a timeout that expires after one
    /// park.
    UpgradeGivesUp,
    /// Reads, with a timeout that does not expire in the model: it must be woken.
    ReadWoken,
    /// Writes, with a timeout that does not expire in the model: it must be woken.
    WriteWoken,
}

use ReadWriteOp::*;

impl ReadWriteOp {
    /// All operations except the waits that must be woken, which need a model with a clock.
    pub const ALL: [ReadWriteOp; 14] = [
        Read,
        ReadRecursive,
        TryRead,
        ReadFair,
        Write,
        WriteTwice,
        TryWrite,
        WriteFair,
        Downgrade,
        Upgrade,
        TryUpgrade,
        ReadGivesUp,
        WriteGivesUp,
        UpgradeGivesUp,
    ];

    /// Returns true if the operation may time out.
    pub fn may_give_up(self) -> bool {
        matches!(self, ReadGivesUp | WriteGivesUp | UpgradeGivesUp)
    }
}

/// One reader inside.
const READER: u32 = 1 << 16;
/// Outcome of a try that failed, or of a wait that gave up.
const REFUSED: i64 = 999;

/// Data behind a reader-writer lock: the threads inside, and plain data.
pub(super) struct Shared<H: HostWithSlots> {
    /// The number of the writer inside plus one, and 2^16 for each reader inside. Accesses
    /// are relaxed, because it must not order anything.
    inside: U32<H>,
    /// Number of sections of writers; plain data, so that a model finds a missing ordering.
    writes: Cell<H, u64>,
    /// Numbers of writers' sections and of all sections, counted outside the platform.
    written: AtomicU64,
    visits: AtomicU64,
}

impl<H: HostWithSlots> Shared<H> {
    pub(super) fn new() -> Self {
        Shared {
            inside: Word::new(0),
            writes: DataCell::new(0),
            written: AtomicU64::new(0),
            visits: AtomicU64::new(0),
        }
    }

    /// Reads, beside other readers. Returns the number of sections of writers before.
    pub(super) fn read(&self, thread: usize) -> u64 {
        let inside = self.inside.fetch_add(READER, Ordering::Relaxed);
        assert!(
            inside.is_multiple_of(READER),
            "{EXCLUSION}thread {thread} reads beside writer {inside}"
        );
        let writes = read(&self.writes);
        linger::<H>();
        let inside = self.inside.fetch_sub(READER, Ordering::Relaxed);
        assert!(
            inside.is_multiple_of(READER),
            "{EXCLUSION}thread {thread} reads and writer {inside} came"
        );
        self.visits.fetch_add(1, Plain::Relaxed);
        writes
    }

    /// Writes, alone. Returns the number of sections of writers, and the number of all.
    pub(super) fn write(&self, thread: usize) -> (u64, u64) {
        let me = thread as u32 + 1;
        let inside = self.inside.swap(me, Ordering::Relaxed);
        assert!(inside == 0, "{EXCLUSION}writer {me} enters and {inside} is inside");
        let writes = read(&self.writes) + 1;
        linger::<H>();
        write(&self.writes, writes);
        self.written.fetch_add(1, Plain::Relaxed);
        let inside = self.inside.swap(0, Ordering::Relaxed);
        assert!(inside == me, "{EXCLUSION}writer {me} is inside and finds {inside}");
        (writes, self.visits.fetch_add(1, Plain::Relaxed) + 1)
    }

    pub(super) fn finish(&self) {
        let (writes, written) = (read(&self.writes), self.written.load(Plain::Relaxed));
        assert!(writes == written, "{COUNT}{written} sections of writers left a sum of {writes}");
    }
}

/// Threads that read and write behind one lock.
///
/// If the last of all sections is a writer's, that writer frees the lock's memory right after its
/// release. All others have left by then. In a model any later access to the lock's word is a
/// failure.
pub struct ReadWriteProgram<P: Patience, H: HostWithSlots> {
    lock: RawRwLock<H, P>,
    shared: Shared<H>,
    ops: Vec<ReadWriteOp>,
    seen: Seen,
    /// Number of sections after which the lock is freed.
    last_section: Option<u64>,
}

impl<P: Patience, H: HostWithSlots> ReadWriteProgram<P, H> {
    fn read(&self, thread: usize) {
        self.seen.note(thread, self.shared.read(thread) as i64);
    }

    /// Reads, and checks that no thread has written since the thread saw `writes` sections.
    fn read_same(&self, thread: usize, writes: u64) {
        let now = self.shared.read(thread);
        assert!(now == writes, "{EXCLUSION}thread {thread} was inside and another one wrote");
        self.seen.note(thread, now as i64);
    }

    /// Writes, and leaves.
    fn write_and_leave(&self, thread: usize, fair: bool) {
        let (writes, visits) = self.shared.write(thread);
        self.seen.note(thread, writes as i64);
        // SAFETY: the caller is inside as the writer.
        unsafe {
            if fair {
                self.lock.release_exclusive_fair();
            } else {
                self.lock.release_exclusive();
            }
        }
        if Some(visits) == self.last_section {
            let word = core::ptr::from_ref(&self.lock).addr();
            hooks::free(word..word + size_of_val(&self.lock));
        }
    }

    /// Upgrades by `upgrade`, which returns true if it became the writer.
    fn upgrade(&self, thread: usize, upgrade: impl FnOnce() -> bool) {
        self.lock.acquire_upgradable();
        let before = self.shared.read(thread);
        let upgraded = upgrade();
        // SAFETY: the thread is inside with the access that each call releases.
        unsafe {
            if upgraded {
                let (writes, _) = self.shared.write(thread);
                assert!(
                    writes == before + 1,
                    "{EXCLUSION}another one wrote while thread {thread} became the writer"
                );
                self.lock.downgrade_to_upgradable();
                self.read_same(thread, writes);
                self.lock.downgrade_upgradable_to_shared();
                self.read_same(thread, writes);
                self.lock.release_shared();
            } else {
                self.read_same(thread, before);
                self.lock.release_upgradable();
            }
        }
    }

    fn timed(&self, thread: usize, op: ReadWriteOp) {
        let woken = matches!(op, ReadWoken | WriteWoken);
        let until = Instant::now() + if woken { LONG } else { SHORT };
        let writes = matches!(op, WriteGivesUp | WriteWoken);
        let took = if writes {
            self.lock.acquire_exclusive_until(until)
        } else {
            self.lock.acquire_shared_until(until)
        };
        if !took {
            assert!(!woken, "{STUCK}a wait gave up before its time");
            self.seen.note(thread, REFUSED);
        } else if writes {
            self.write_and_leave(thread, false);
        } else {
            self.read(thread);
            // SAFETY: taken above.
            unsafe { self.lock.release_shared() };
        }
    }
}

impl<P: Patience, H: HostWithSlots> Program for ReadWriteProgram<P, H> {
    type Op = ReadWriteOp;

    fn new(ops: &[ReadWriteOp], rounds: u32) -> Self {
        hooks::free_nothing();
        let sections = |op: &ReadWriteOp| match op {
            Read | ReadFair | Write | WriteFair | ReadWoken | WriteWoken => Some(1),
            WriteTwice | ReadRecursive => Some(2),
            _ => None,
        };
        let all: Option<u64> = ops.iter().map(sections).sum();
        ReadWriteProgram {
            lock: RawRwLock::new(),
            shared: Shared::new(),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
            last_section: all.map(|sections| sections * u64::from(rounds)),
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        let op = self.ops[thread];
        // SAFETY: the thread is inside with the access that each call releases.
        unsafe {
            match op {
                Read | ReadFair => {
                    self.lock.acquire_shared();
                    self.read(thread);
                    if op == Read {
                        self.lock.release_shared();
                    } else {
                        self.lock.release_shared_fair();
                    }
                }
                ReadRecursive => {
                    self.lock.acquire_shared();
                    let writes = self.shared.read(thread);
                    self.lock.acquire_shared_recursive();
                    self.lock.release_shared();
                    self.read_same(thread, writes);
                    self.lock.release_shared();
                }
                TryRead => {
                    if self.lock.try_acquire_shared() {
                        self.read(thread);
                        self.lock.release_shared();
                    } else {
                        self.seen.note(thread, REFUSED);
                    }
                }
                Write | WriteFair => {
                    self.lock.acquire_exclusive();
                    self.write_and_leave(thread, op == WriteFair);
                }
                WriteTwice => {
                    for _ in 0..2 {
                        self.lock.acquire_exclusive();
                        self.write_and_leave(thread, false);
                    }
                }
                TryWrite => {
                    if self.lock.try_acquire_exclusive() {
                        self.write_and_leave(thread, false);
                    } else {
                        self.seen.note(thread, REFUSED);
                    }
                }
                Downgrade => {
                    self.lock.acquire_exclusive();
                    let (writes, _) = self.shared.write(thread);
                    self.lock.downgrade_to_shared();
                    self.read_same(thread, writes);
                    self.lock.release_shared();
                }
                Upgrade => self.upgrade(thread, || {
                    self.lock.upgrade_to_exclusive();
                    true
                }),
                TryUpgrade => self.upgrade(thread, || self.lock.try_upgrade_to_exclusive()),
                UpgradeGivesUp => self.upgrade(thread, || {
                    self.lock.upgrade_to_exclusive_until(Instant::now() + SHORT)
                }),
                ReadGivesUp | WriteGivesUp | ReadWoken | WriteWoken => self.timed(thread, op),
            }
        }
    }

    fn finish(&self) {
        self.shared.finish();
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
