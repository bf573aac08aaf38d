//! The common parts of all programs: the trait, records of the threads' observations, and data
//! protected by a lock.

use crate::finding::{COUNT, EXCLUSION};
use lockyard::platform::{Cell, DataCell, HostWithSlots, Ordering, U32, Word};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering as Plain};

/// A concurrent program, with one thread for each of its operations.
pub trait Program: Send + Sync + Sized + 'static {
    /// Operation of a thread. A program has at most four.
    type Op: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static;

    /// Makes the shared objects for threads that perform `ops`, `rounds` times each.
    fn new(ops: &[Self::Op], rounds: u32) -> Self;

    /// Prepares the objects before the threads begin. The objects have their final addresses here,
    /// so operations on them are allowed.
    fn begin(&self) {}

    /// Performs round `round` of thread `thread`. Panics if it finds a violation.
    fn step(&self, thread: usize, round: u32);

    /// Checks the objects after all threads have ended. Panics if they do not match the operations.
    fn finish(&self);

    /// Returns what the threads saw and left, after they have ended. Two executions with the same
    /// outcome count as equal.
    fn outcome(&self) -> Outcome;
}

/// Outcome of an execution: see [`Program::outcome`].
pub type Outcome = Vec<i64>;

/// Record of what each thread saw, outside the platform. A new program resets it.
pub(crate) struct Seen(Vec<AtomicI64>);

impl Seen {
    pub(crate) fn new(threads: usize) -> Self {
        Seen((0..threads).map(|_| AtomicI64::new(0)).collect())
    }

    /// Records that `thread` saw `what`, after everything recorded before.
    pub(crate) fn note(&self, thread: usize, what: i64) {
        let before = self.0[thread].load(Plain::Relaxed);
        self.0[thread].store(before.wrapping_mul(1000) + what + 1, Plain::Relaxed);
    }

    pub(crate) fn all(&self) -> Outcome {
        self.0.iter().map(|seen| seen.load(Plain::Relaxed)).collect()
    }
}

/// Data protected by a lock: the holder's stamp, and plain data. A lock that does not exclude
/// corrupts them visibly.
pub(crate) struct Protected<H: HostWithSlots> {
    /// The index of the thread inside plus one, or 0. Accesses are relaxed, because it must not
    /// order anything.
    stamp: U32<H>,
    /// Number of critical sections; plain data, so that a model finds a missing ordering.
    sections: Cell<H, u64>,
    /// Number of critical sections, counted by the threads themselves outside the platform.
    expected: AtomicU64,
}

impl<H: HostWithSlots> Protected<H> {
    pub(crate) fn new() -> Self {
        Protected { stamp: Word::new(0), sections: DataCell::new(0), expected: AtomicU64::new(0) }
    }

    /// Performs a critical section of `thread`; returns the number of sections including this one.
    pub(crate) fn section(&self, thread: usize) -> u64 {
        let me = thread as u32 + 1;
        // Both are exchanges: a read-modify-write sees the newest stamp, which a load may miss.
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

    /// Checks the count after all threads have ended.
    pub(crate) fn finish(&self) {
        let (sections, expected) = (read(&self.sections), self.expected.load(Plain::Relaxed));
        assert!(sections == expected, "{COUNT}{expected} sections left a sum of {sections}");
    }
}

/// Maximum number of threads of a program. Cells are in arrays of this length, because a simulated
/// machine knows only the memory of the object itself.
pub(crate) const MOST_THREADS: usize = 4;

/// Pauses for a while, so that other threads run. Does nothing in a model.
pub(crate) fn linger<H: HostWithSlots>() {
    for _ in 0..20 {
        H::relax();
    }
}

/// Reads plain data. In a model a race on it is a finding. On the native host a broken control
/// really races, so the access is atomic there to keep it defined.
pub(crate) fn read<C: DataCell<u64>>(cell: &C) -> u64 {
    // SAFETY: the pointer comes from the cell, valid and aligned; all accesses to these cells are
    // atomic.
    cell.with(|data| unsafe { AtomicU64::from_ptr(data.cast_mut()).load(Plain::Relaxed) })
}

/// Writes plain data, with the accesses of [`read`].
pub(crate) fn write<C: DataCell<u64>>(cell: &C, value: u64) {
    // SAFETY: as in `read`.
    cell.with_mut(|data| unsafe { AtomicU64::from_ptr(data).store(value, Plain::Relaxed) });
}
