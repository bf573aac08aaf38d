//! One record of statistics with its own lock, in its own cache line.

use lockyard::Context;
use lockyard::RawSpinLock;
use lockyard::lock::LaneLock;
use lockyard::platform::{Cell, DataCell, Host};

/// The counted numbers. The type serves both for an update and for a reading.
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

/// Counts with a lock of 4 bytes. 64 bytes in all, so that two records never share a line.
#[repr(C, align(64))]
pub struct Record<K: LaneLock<H>, H: Host, C: Context> {
    lock: RawSpinLock<K, H, C>,
    counts: Cell<H, Counts>,
}

impl<K: LaneLock<H>, H: Host, C: Context> Record<K, H, C> {
    pub(super) fn new(counts: Counts) -> Self {
        Record { lock: RawSpinLock::new(), counts: DataCell::new(counts) }
    }

    #[inline(always)]
    fn locked<R>(&self, f: impl FnOnce(&Cell<H, Counts>) -> R) -> R {
        let held = self.lock.acquire();
        let result = f(&self.counts);
        // SAFETY: `held` belongs to this lock. `f` does not unwind: it copies and adds numbers.
        unsafe { self.lock.release(held) };
        result
    }

    #[inline(always)]
    pub(super) fn add(&self, counts: &Counts) {
        // SAFETY: the lock is held, and the cell is accessed only under it.
        self.locked(|cell| cell.with_mut(|all| unsafe { (*all).merge(counts) }));
    }

    pub(super) fn read(&self) -> Counts {
        // SAFETY: as in `add`.
        self.locked(|cell| cell.with(|all| unsafe { *all }))
    }

    pub(super) fn take(&self) -> Counts {
        // SAFETY: as in `add`.
        self.locked(|cell| cell.with_mut(|all| unsafe { core::mem::take(&mut *all) }))
    }
}
