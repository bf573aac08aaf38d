//! Per-node statistics: packets, bytes, last use and flags of one object, updated from many CPUs and read rarely.
//!
//! One record for all CPUs is a hot line that every update moves. One for each CPU moves nothing, but takes memory for CPUs that
//! never update, makes a reader visit them all, and an object that is created often takes the allocator's lock each time. One record
//! for each NUMA node *that updates* is between: CPUs of a node share a line that stays in their node, and an object that a single
//! node uses has a single record. Which it is is the [`Variant`]:
//!
//! | variant | records | an update moves | a reader visits | bytes an object, when *n* nodes update |
//! | --- | --- | --- | --- | --- |
//! | [`Shared`] | one | the line, from any CPU to any | 1 | 64 |
//! | [`PerCpu<CPUS>`](PerCpu) | `CPUS`, at creation | nothing | `CPUS` | 8 + 64 `CPUS` |
//! | [`PerNode<NODES>`](PerNode) | one, and one for each further node that updates | the line, within a node | *n* | 8 + 8 `NODES` + 64 *n* |
//!
//! (Natively, without what the allocator adds, which is much for memory that is aligned to a line: with that a record takes 192 bytes of glibc.
//! Eight nodes, one of which updates: 136 bytes, where 64 CPUs take 4,104.)
//!
//! # What holds
//!
//! - Nothing is lost: every update is added to exactly one record. A reading is the sum of the records, each of which is read under its
//!   lock: no record is torn (its packets and bytes belong together). The records are read one after another, so an update that runs
//!   meanwhile is in the reading, or is not; one that ended before the reading began is.
//! - Where only one node ever updates, no record but the first is allocated, and no node ever has two.
//! - A record for a further node is allocated [without blocking and without reserves](Host::allocate). When that fails, the update goes
//!   to the first record, and the node's next update tries again. So after the creation nothing here fails.
//! - Nothing blocks but on a record's lock, which is held for a few instructions. In an interrupt or a signal handler that may
//!   update what it interrupted, the lock's [`Context`] must keep it out.
//!
//! The idea, and the rule of the last writer: J. Rajahalme, "openvswitch: Per NUMA node flow stats", dev@openvswitch.org and netdev mailing
//! lists, 2014. Written from its description, not from the implementation.

mod per_node;
mod record;
mod variant;

pub use per_node::PerNode;
pub use record::Counts;
pub use variant::{PerCpu, Shared, Variant};

use crate::context::{Context, NoContext};
use crate::lock::{LaneLock, Ticket};
use crate::memory::AllocationFailed;
use crate::platform::{Host, Native};
use core::fmt;
use record::Record;
use variant::Records;

/// Statistics of one object. See the [module documentation](self).
///
/// ```
/// use lockyard::{Counts, Statistics};
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
/// # Ok::<(), lockyard::AllocationFailed>(())
/// ```
///
/// Parameters: the [`Variant`], the algorithm of the records' locks, the [`Host`], the [`Context`] of those locks.
pub struct Statistics<V: Variant, K: LaneLock<H>, H: Host = Native, C: Context = NoContext> {
    records: V::Records<K, H, C>,
}

impl<V: Variant, K: LaneLock<H>, H: Host, C: Context> Statistics<V, K, H, C> {
    /// Statistics in which nothing was counted. One allocation ([`PerNode`]: of 64 bytes, near node 0; [`PerCpu`]: of 64 for each
    /// CPU; [`Shared`]: none).
    ///
    /// # Errors
    ///
    /// If the host has no memory for that.
    pub fn new() -> Result<Self, AllocationFailed> {
        Ok(Statistics { records: Records::new()? })
    }

    /// Adds `counts`, where the caller runs. One acquisition and release of a record's lock; [`PerNode`]: after reading the address of the
    /// node's record, which seldom changes, and asking the host [which node it is](Host::numa_node).
    ///
    /// The sum of all updates wraps at 2^64.
    #[inline]
    pub fn update(&self, counts: &Counts) {
        self.update_at(V::Records::<K, H, C>::here(), counts);
    }

    /// The same, for a caller who knows where it runs: `place` is the NUMA node ([`PerNode`]), or the CPU ([`PerCpu`]); with [`Shared`] it
    /// makes no difference. Any number is allowed, and a wrong one costs transfers, not counts.
    #[inline]
    pub fn update_at(&self, place: usize, counts: &Counts) {
        self.records.add(place, counts);
    }

    /// The sum of all records that exist. Each is read under its lock; see the [module](self) for what that means. It costs a transfer of
    /// each record's line.
    pub fn read(&self) -> Counts {
        self.sum(Record::read)
    }

    /// The same, and sets each record to nothing while its lock is held: an update is in what one `take` returns, or in what a later
    /// `take` or [`read`](Self::read) does, and never in two, nor in none. So clearing loses nothing, unless the caller drops what it
    /// returns. Records stay allocated, and the last writer stays noted.
    pub fn take(&self) -> Counts {
        self.sum(Record::take)
    }

    fn sum(&self, of: fn(&Record<K, H, C>) -> Counts) -> Counts {
        let mut sum = Counts::default();
        self.records.visit(|record| sum.merge(&of(record)));
        sum
    }

    /// How many records there are now.
    pub fn records(&self) -> usize {
        let mut records = 0;
        self.records.visit(|_| records += 1);
        records
    }

    /// The bytes that this object takes now, with its records, but without what the allocator adds.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.records.allocated()
    }
}

impl<V: Variant, K: LaneLock<H>, H: Host, C: Context> fmt::Debug for Statistics<V, K, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statistics")
            .field("sum", &self.read())
            .field("records", &self.records())
            .finish()
    }
}

const _: () = {
    type Of<V> = Statistics<V, Ticket, Native>;
    assert!(size_of::<Record<Ticket, Native, NoContext>>() == 64);
    assert!(align_of::<Record<Ticket, Native, NoContext>>() == 64);
    assert!(size_of::<Of<Shared>>() == 64 && align_of::<Of<Shared>>() == 64);
    assert!(size_of::<Of<PerCpu>>() == size_of::<usize>());
    assert!(size_of::<Of<PerNode>>() == 72 && align_of::<Of<PerNode>>() == 8);
    assert!(size_of::<Of<PerNode<2>>>() == 24);
};
