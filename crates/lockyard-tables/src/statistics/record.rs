//! Records: the data that statistics count, and one locked copy of the data in its own cache line.

use core::fmt;
use lockyard::lock::LaneLock;
use lockyard::platform::{Cell, DataCell, Host};
use lockyard::{Context, Held, RawSpinLock};

/// Data that [`Statistics`](super::Statistics) count: any data that can be merged. The default is
/// the empty record.
///
/// [`counters!`](crate::counters) writes a record of counters. This trait is for other data, for
/// example a histogram:
///
/// ```
/// use lockyard_tables::Statistics;
/// use lockyard_tables::statistics::Record;
///
/// #[derive(Clone, Copy, Default)]
/// struct Latencies([u32; 8]);
///
/// impl Record for Latencies {
///     fn merge(&mut self, other: &Self) {
///         // Not `+=`, which panics on overflow in debug builds.
///         self.0.iter_mut().zip(other.0).for_each(|(all, more)| *all = all.wrapping_add(more));
///     }
/// }
///
/// let latencies: Statistics<Latencies> = Statistics::new()?;
/// latencies.update(&Latencies([0, 1, 0, 0, 2, 0, 0, 0]));
/// assert_eq!(latencies.read().0[4], 2);
/// # Ok::<(), lockyard_tables::AllocationFailed>(())
/// ```
pub trait Record: Copy + Default + Send + Sync + 'static {
    /// Adds `other`. The order in which records are merged must make no difference. It runs under a
    /// lock, so it must be short.
    ///
    /// It should not panic. If it does, the caller gets the panic, and the lock is released. The
    /// record being changed keeps the part that was added until then.
    fn merge(&mut self, other: &Self);
}

/// A record that consists of 64-bit counters, so that [`PerThread`](super::PerThread) can keep each
/// counter in a separate word. [`counters!`](crate::counters) implements it. No function should
/// panic: an update that panics adds the counters before the one that failed.
pub trait Counters: Record {
    /// Kind of each counter.
    const KINDS: &'static [Kind];
    /// Returns the counter with this index.
    fn counter(&self, index: usize) -> u64;
    /// Makes a record of the counters that `counter` returns for each index, in their order.
    fn from_counters(counter: impl FnMut(usize) -> u64) -> Self;
}

/// Rule for merging two values of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Their sum, which wraps at 2^64.
    Sum,
    /// The larger value.
    Max,
    /// The union of their bits.
    Union,
}

impl Kind {
    /// Returns `Max`: for [`counters!`](crate::counters).
    #[doc(hidden)]
    pub const fn max(self) -> Kind {
        Kind::Max
    }

    /// Returns `Union`: for [`counters!`](crate::counters).
    #[doc(hidden)]
    pub const fn union(self) -> Kind {
        Kind::Union
    }

    /// Merges two values.
    #[inline(always)]
    pub const fn merge(self, one: u64, other: u64) -> u64 {
        match self {
            Kind::Sum => one.wrapping_add(other),
            Kind::Max => {
                if one > other {
                    one
                } else {
                    other
                }
            }
            Kind::Union => one | other,
        }
    }
}

/// The counted numbers of a network connection. The type serves both for an update and for a
/// reading.
///
/// ```
/// use lockyard_tables::Counts;
///
/// let mut sum = Counts::packet(1500, 7, 0b01);
/// sum.merge(&Counts::packet(40, 5, 0b10));
/// assert_eq!(sum, Counts { packets: 2, bytes: 1540, last_used: 7, flags: 0b11 });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// Packets, or any other event. Wraps at 2^64.
    pub packets: u64,
    /// Bytes of the packets. Wraps at 2^64.
    pub bytes: u64,
    /// Time of the last packet, in the caller's unit; 0 for never.
    pub last_used: u64,
    /// Union of the packets' flags.
    pub flags: u32,
}

impl Counts {
    /// Counts of one packet of `bytes` bytes, at `now`, with `flags`.
    #[inline]
    pub const fn packet(bytes: u64, now: u64, flags: u32) -> Self {
        Counts { packets: 1, bytes, last_used: now, flags }
    }

    /// Adds `other`: packets and bytes are added (wrapping), the later `last_used` is kept, and
    /// flags are united. The order of merging makes no difference.
    #[inline]
    pub fn merge(&mut self, other: &Counts) {
        self.packets = self.packets.wrapping_add(other.packets);
        self.bytes = self.bytes.wrapping_add(other.bytes);
        self.last_used = self.last_used.max(other.last_used);
        self.flags |= other.flags;
    }
}

impl Record for Counts {
    #[inline(always)]
    fn merge(&mut self, other: &Self) {
        Counts::merge(self, other);
    }
}

impl Counters for Counts {
    const KINDS: &'static [Kind] = &[Kind::Sum, Kind::Sum, Kind::Max, Kind::Union];
    #[inline(always)]
    fn counter(&self, index: usize) -> u64 {
        [self.packets, self.bytes, self.last_used, u64::from(self.flags)][index]
    }
    #[inline(always)]
    fn from_counters(mut counter: impl FnMut(usize) -> u64) -> Self {
        let [packets, bytes, last_used, flags] = [0, 1, 2, 3].map(&mut counter);
        Counts { packets, bytes, last_used, flags: flags as u32 }
    }
}

/// A record with a lock of 4 bytes, in lines of its own: 64 bytes for [`Counts`].
#[repr(C, align(64))]
pub(super) struct LockedRecord<R: Record, K: LaneLock<H>, H: Host, C: Context> {
    lock: RawSpinLock<K, H, C>,
    counts: Cell<H, R>,
}

impl<R: Record, K: LaneLock<H>, H: Host, C: Context> LockedRecord<R, K, H, C> {
    pub(super) fn new(counts: R) -> Self {
        LockedRecord { lock: RawSpinLock::new(), counts: DataCell::new(counts) }
    }

    /// Runs `f` under the lock. If `f` unwinds, because a record's own code panics, the lock is
    /// released.
    #[inline(always)]
    pub(super) fn locked<O>(&self, f: impl FnOnce(&Cell<H, R>) -> O) -> O {
        let _locked = Locked { lock: &self.lock, held: Some(self.lock.acquire()) };
        f(&self.counts)
    }

    #[inline(always)]
    pub(super) fn add(&self, counts: &R) {
        // SAFETY: the lock is held, and the cell is accessed only under it.
        self.locked(|cell| cell.with_mut(|all| unsafe { (*all).merge(counts) }));
    }

    pub(super) fn read(&self) -> R {
        // SAFETY: as in `add`.
        self.locked(|cell| cell.with(|all| unsafe { *all }))
    }

    pub(super) fn take(&self) -> R {
        // SAFETY: as in `add`.
        self.locked(|cell| cell.with_mut(|all| unsafe { core::mem::take(&mut *all) }))
    }
}

/// A record's lock, held. It is released when this value is dropped.
struct Locked<'a, K: LaneLock<H>, H: Host, C: Context> {
    lock: &'a RawSpinLock<K, H, C>,
    held: Option<Held<RawSpinLock<K, H, C>>>,
}

impl<K: LaneLock<H>, H: Host, C: Context> Drop for Locked<'_, K, H, C> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            // SAFETY: `held` belongs to this lock.
            unsafe { self.lock.release(held) };
        }
    }
}

impl<R: Record, K: LaneLock<H>, H: Host, C: Context> fmt::Debug for LockedRecord<R, K, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockedRecord").finish_non_exhaustive()
    }
}
