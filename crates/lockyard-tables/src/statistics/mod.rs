//! Statistics of one object: a [`Record`] of counters, updated from many CPUs and read rarely.
//!
//! The record is any data that can be merged. [`counters!`](crate::counters) defines one, and
//! [`Counts`] (packets, bytes, last use and flags, as of a network connection) is there already.
//!
//! One record for all CPUs is a hot line that every update moves. One record for each CPU moves
//! nothing. But it takes memory for CPUs that never update, and a reader must visit all records. A
//! program that often creates objects also takes the allocator's lock each time. One record for
//! each NUMA node *that updates* is a compromise. CPUs of a node share a line that stays in their
//! node. An object that a single node uses has a single record. The [`Variant`] selects one of
//! these:
//!
//! | variant | records | an update moves | a reader visits | bytes, if *n* nodes update |
//! | --- | --- | --- | --- | --- |
//! | [`Shared`] | one | one line, from any CPU to any | 1 | 64 |
//! | [`PerCpu<CPUS>`](PerCpu) | `CPUS`, at creation | nothing | `CPUS` | 8 + 64 `CPUS` |
//! | [`PerNode`] | one for a node that updates | its node's line | *n* | 8 + 8 `NODES` + 64 *n* |
//! | [`PerThread`] | one for each slot, in groups of 8, 16, ... | nothing, and takes no lock | those of groups that exist | 256, and 512 for the first 8 slots |
//!
//! The bytes are for [`Counts`] on the native host, without the allocator's overhead. The overhead
//! is large for memory aligned to a line: with glibc a record takes 192 bytes. Example: an object
//! on eight nodes, one of which updates, takes 136 bytes, while 64 CPUs take 4,104.
//!
//! The first three keep each record behind a lock, so its parts are consistent with each other.
//! [`PerThread`] is several times as fast, for records of 64-bit counters that need not belong
//! together.
//!
//! # Guarantees
//!
//! - Nothing is lost: every update is added to exactly one record. A reading is the sum of the
//!   records.
//! - Each record is read under its lock, so it is consistent: its packets and bytes belong
//!   together. (Not with [`PerThread`].) The records are read one after another. A reading includes
//!   every update that ended before the reading began. It may include updates that run at the same
//!   time.
//! - If only one node ever updates, only the first record is allocated. No node ever has two.
//! - A record for a further node is allocated [without blocking and without
//!   reserves](Host::allocate). If that fails, the update goes to the first record, and the node's
//!   next update tries again. After creation nothing here can fail.
//! - Nothing blocks except on a record's lock, which is held for a few instructions. An interrupt
//!   or a signal handler may interrupt an update and then update the same statistics. The lock's
//!   [`Context`] must keep such a handler out.
//!
//! The idea, and the rule of the last writer, come from J. Rajahalme, "openvswitch: Per NUMA node
//! flow stats", dev@openvswitch.org and netdev mailing lists, 2014. This code was written from the
//! description, not from the implementation.

mod counters;
mod per_node;
mod per_thread;
mod record;
mod records;
mod variant;

pub use per_node::PerNode;
pub use per_thread::PerThread;
pub use record::{Counters, Counts, Kind, Record};
pub use variant::{PerCpu, Shared, Variant};

use crate::memory::AllocationFailed;
use core::fmt;
use lockyard::lock::{LaneLock, Ticket};
use lockyard::platform::{Host, Native};
use lockyard::{Context, NoContext};
use records::Records;

/// Statistics of one object. See the [module documentation](self).
///
/// ```
/// use lockyard_tables::{Counts, Statistics};
///
/// let flow: Statistics = Statistics::new()?;
/// std::thread::scope(|s| {
///     for _ in 0..2 {
///         s.spawn(|| for now in 1..=1000 { flow.update(&Counts::packet(64, now, 1)) });
///     }
/// });
/// let sum = flow.read();
/// assert_eq!((sum.packets, sum.bytes, sum.last_used), (2000, 128_000, 1000));
/// assert_eq!(flow.take(), sum);
/// assert_eq!(flow.read(), Counts::default());
/// # Ok::<(), lockyard_tables::AllocationFailed>(())
/// ```
///
/// Parameters: the [`Variant`], the algorithm of the records' locks, the [`Host`], the [`Context`]
/// of those locks, and the [`Record`].
pub struct Statistics<
    V: Variant<R>,
    K: LaneLock<H>,
    H: Host = Native,
    C: Context = NoContext,
    R: Record = Counts,
> {
    records: V::Records<K, H, C>,
}

impl<V: Variant<R>, K: LaneLock<H>, H: Host, C: Context, R: Record> Statistics<V, K, H, C, R> {
    /// Makes statistics with all counts zero. Allocates once: a record near node 0 ([`PerNode`]),
    /// one for each CPU ([`PerCpu`]), one for threads without a slot ([`PerThread`]), or nothing
    /// ([`Shared`]).
    ///
    /// # Errors
    ///
    /// Fails if the host has no memory.
    pub fn new() -> Result<Self, AllocationFailed> {
        Ok(Statistics { records: Records::new()? })
    }

    /// Adds `counts` at the place where the caller runs. Cost: one acquisition and release of a
    /// record's lock. [`PerNode`] first reads the address of the node's record, which rarely
    /// changes, and asks the host [for the node](Host::numa_node). [`PerThread`]: a load and a
    /// store of each counter, in lines that only this thread writes.
    #[inline]
    pub fn update(&self, counts: &R) {
        self.records.add_here(counts);
    }

    /// Adds `counts` for a caller that knows its place. `place` is the NUMA node ([`PerNode`]) or
    /// the CPU ([`PerCpu`]); [`Shared`] ignores it. Any number is allowed: a wrong one costs line
    /// transfers, but no counts. ([`PerThread`] adds to a record that all such callers share.)
    #[inline]
    pub fn update_at(&self, place: usize, counts: &R) {
        self.records.add(place, counts);
    }

    /// Returns the sum of all existing records. Each is read under its lock; the [module](self)
    /// says what that guarantees. Cost: a transfer of each record's line.
    pub fn read(&self) -> R {
        self.records.read()
    }

    /// Returns the sum of all records, and sets each to zero under its lock. Each update is in
    /// exactly one result: of this `take`, or of a later `take` or [`read`](Self::read). Clearing
    /// therefore loses nothing, unless the caller drops the result. Records stay allocated, and the
    /// last writer stays recorded. ([`PerThread`] clears sums only.) If [`Record::merge`] panics,
    /// what was taken until then is lost.
    pub fn take(&self) -> R {
        self.records.take()
    }

    /// Current number of records.
    pub fn records(&self) -> usize {
        self.records.number()
    }

    /// Current bytes of this object with its records, without the allocator's overhead.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.records.allocated()
    }
}

impl<V: Variant<R>, K: LaneLock<H>, H: Host, C: Context, R: Record + fmt::Debug> fmt::Debug
    for Statistics<V, K, H, C, R>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statistics")
            .field("sum", &self.read())
            .field("records", &self.records())
            .finish()
    }
}

const _: () = {
    type Of<V> = Statistics<V, Ticket, Native>;
    type One = record::LockedRecord<Counts, Ticket, Native, NoContext>;
    assert!(size_of::<One>() == 64 && align_of::<One>() == 64);
    assert!(size_of::<Of<Shared>>() == 64 && align_of::<Of<Shared>>() == 64);
    assert!(size_of::<Of<PerCpu>>() == size_of::<usize>());
    assert!(size_of::<Of<PerNode>>() == 72 && align_of::<Of<PerNode>>() == 8);
    assert!(size_of::<Of<PerNode<2>>>() == 24);
};
