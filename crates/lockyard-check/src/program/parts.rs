//! The parts of all programs: the trait, notes of what threads saw, data that a lock protects.

use crate::finding::{COUNT, EXCLUSION};
use lockyard::platform::{Cell, DataCell, HostWithSlots, Ordering, U32, Word};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering as Plain};

/// A concurrent program: one thread for each operation that it is made of.
pub trait Program: Send + Sync + Sized + 'static {
    /// What a thread does. At most four threads do something.
    type Op: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static;

    /// The shared objects, for threads that do `ops`, each `rounds` times.
    fn new(ops: &[Self::Op], rounds: u32) -> Self;

    /// What is to be done before the threads begin, when the objects are where they stay: operations on them are possible.
    fn begin(&self) {}

    /// Round `round` of thread `thread`. Panics when it finds something wrong.
    fn step(&self, thread: usize, round: u32);

    /// After all threads have ended: panics if what they leave is not what they did.
    fn finish(&self);

    /// What the threads saw and left, after they have ended: two executions with the same outcome
    /// cannot be told apart by the program.
    fn outcome(&self) -> Outcome;
}

/// See [`Program::outcome`].
pub type Outcome = Vec<i64>;

/// What each thread saw, kept outside the platform. Reset by a new program.
pub(crate) struct Seen(Vec<AtomicI64>);

impl Seen {
    pub(crate) fn new(threads: usize) -> Self {
        Seen((0..threads).map(|_| AtomicI64::new(0)).collect())
    }

    /// Thread `thread` saw `what`, after all that it saw before.
    pub(crate) fn note(&self, thread: usize, what: i64) {
        let before = self.0[thread].load(Plain::Relaxed);
        self.0[thread].store(before.wrapping_mul(1000) + what + 1, Plain::Relaxed);
    }

    pub(crate) fn all(&self) -> Outcome {
        self.0.iter().map(|seen| seen.load(Plain::Relaxed)).collect()
    }
}

/// What a lock protects, in a way that shows whether it does: a stamp of the holder, and plain data.
pub(crate) struct Protected<H: HostWithSlots> {
    /// 0, or one more than the thread inside. Relaxed everywhere: it must not order anything.
    stamp: U32<H>,
    /// How many sections there were; plain data, so that a model finds a missing ordering.
    sections: Cell<H, u64>,
    /// The same, counted by the threads themselves and outside the platform.
    expected: AtomicU64,
}

impl<H: HostWithSlots> Protected<H> {
    pub(crate) fn new() -> Self {
        Protected { stamp: Word::new(0), sections: DataCell::new(0), expected: AtomicU64::new(0) }
    }

    /// A critical section of `thread`; returns how many there have been, with this one.
    pub(crate) fn section(&self, thread: usize) -> u64 {
        let me = thread as u32 + 1;
        // Exchanges, because a read-modify-write sees the newest stamp and a load need not.
        let inside = self.stamp.swap(me, Ordering::Relaxed);
        assert!(inside == 0, "{EXCLUSION}thread {me} enters and thread {inside} is inside");
        let sections = read(&self.sections) + 1;
        linger::<H>();
        write(&self.sections, sections);
        self.expected.fetch_add(1, Plain::Relaxed);
        let inside = self.stamp.swap(0, Ordering::Relaxed);
        assert!(inside == me, "{EXCLUSION}thread {me} is inside and finds thread {inside}");
        sections
    }

    /// After all threads have ended.
    pub(crate) fn finish(&self) {
        let (sections, expected) = (read(&self.sections), self.expected.load(Plain::Relaxed));
        assert!(sections == expected, "{COUNT}{expected} sections left a sum of {sections}");
    }
}

/// Threads of a program at most. Cells are in arrays of this length, because all shared data must lie
/// in the object itself: a simulated machine knows no other memory.
pub(crate) const MOST_THREADS: usize = 4;

/// Some pauses, so that others come meanwhile. In a model they are nothing.
pub(crate) fn linger<H: HostWithSlots>() {
    for _ in 0..20 {
        H::relax();
    }
}

/// Reads plain data. A race on it is a finding of the model; natively, where a control that is
/// broken on purpose does race, the access is an atomic one, so that the race is defined.
pub(crate) fn read<C: DataCell<u64>>(cell: &C) -> u64 {
    // SAFETY: the pointer is the cell's, valid and aligned; all accesses to these cells are atomic.
    cell.with(|data| unsafe { AtomicU64::from_ptr(data.cast_mut()).load(Plain::Relaxed) })
}

/// Writes plain data, as [`read`] reads it.
pub(crate) fn write<C: DataCell<u64>>(cell: &C, value: u64) {
    // SAFETY: as in `read`.
    cell.with_mut(|data| unsafe { AtomicU64::from_ptr(data).store(value, Plain::Relaxed) });
}
