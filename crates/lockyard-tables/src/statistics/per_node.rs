//! A record for each NUMA node that updates.
//!
//! ```text
//!   records[0]      records[1] ... records[NODES-1]      last_writer
//!   the first one   0, or the address of that node's     none, or the last to use the first
//!
//!   update by node n:
//!     records[n] exists ------------------------------> add there   (n = 0: last_writer := 0)
//!     last_writer is none or n -----------------------> last_writer := n; add to the first
//!     else allocate a record with the counts in it;
//!          publish it: records[n] 0 -> address -------> done
//!                      lost to another of node n -----> free ours; add to theirs
//!                      no memory ---------------------> add to the first
//! ```
//!
//! A slot changes once, from 0 to an address, and the record lives until the object is dropped. An
//! updater therefore needs no reference to the record. `last_writer` is a hint: for any value of
//! it, every update is added to exactly one record.
//!
//! Node 0 also writes its number to `last_writer`, although the first record belongs to it.
//! Otherwise node 0 and another node could share that record for ever: at each update, the other
//! node would appear to be the record's only user.

use super::record::{LockedRecord, Record};
use super::records::{LockedRecords, Records, sums};
use crate::memory::{self, AllocationFailed, from_word, to_word};
use core::marker::PhantomData;
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::lock::LaneLock;
use lockyard::platform::{Host, Ordering, U32, U64, Word};

/// A record for each NUMA node that updates. The second record is allocated when a second node
/// updates. The default.
///
/// An object has room for the addresses of `NODES` records, 8 bytes each. On a host with more
/// nodes, node *n* uses the record of *n* mod `NODES`. Some nodes then share a record, and nothing
/// is lost.
#[derive(Debug)]
pub struct PerNode<const NODES: usize = 8>;

/// The records of [`PerNode`].
pub struct NodeRecords<R: Record, K: LaneLock<H>, H: Host, C: Context, const NODES: usize> {
    /// The address of each node's record, or 0.
    records: [U64<H>; NODES],
    /// 0, or one more than the index of the node that last used the first record.
    last_writer: U32<H>,
    /// Marks that records are owned.
    _records: PhantomData<LockedRecord<R, K, H, C>>,
}

impl<R: Record, K: LaneLock<H>, H: Host, C: Context, const NODES: usize>
    NodeRecords<R, K, H, C, NODES>
{
    /// Returns the record of `node`, if there is one.
    #[inline(always)]
    fn record(&self, node: usize) -> Option<&LockedRecord<R, K, H, C>> {
        // Acquire: pairs with the release of `publish`, so the record is seen fully initialised.
        let record =
            from_word::<LockedRecord<R, K, H, C>>(self.records[node].load(Ordering::Acquire));
        // SAFETY: a slot holds 0 or the address of a record that lives as long as `self`.
        unsafe { record.as_ref() }
    }

    /// Returns the record of node 0, which exists from the start.
    #[inline(always)]
    fn first(&self) -> &LockedRecord<R, K, H, C> {
        // Relaxed: the record existed before any thread could know `self`.
        let record = from_word::<LockedRecord<R, K, H, C>>(self.records[0].load(Ordering::Relaxed));
        // SAFETY: `new` stored the address, and the record lives as long as `self`.
        unsafe { &*record }
    }

    /// Records that `node` uses the first record. Writes only on a change, so that the line can
    /// stay shared.
    #[inline(always)]
    fn note_writer(&self, node: usize) {
        let me = node as u32 + 1;
        // Both relaxed: a hint.
        if self.last_writer.load(Ordering::Relaxed) != me {
            self.last_writer.store(me, Ordering::Relaxed);
        }
    }

    /// Adds an update from a node that has no record.
    #[cold]
    #[inline(never)]
    fn add_without_record(&self, node: usize, counts: &R) {
        // Relaxed: a hint.
        let last = self.last_writer.load(Ordering::Relaxed);
        if last == 0 || last == node as u32 + 1 {
            self.note_writer(node);
            self.first().add(counts);
        } else if self.publish(node, counts).is_err() {
            self.first().add(counts);
        }
    }

    /// Publishes a record with `counts` for `node`. If another CPU of the node was first, adds the
    /// counts to that CPU's record.
    fn publish(&self, node: usize, counts: &R) -> Result<(), AllocationFailed> {
        let new = memory::allocate::<_, H>(Some(node as u32), || {
            LockedRecord::<R, K, H, C>::new(*counts)
        })?;
        // Release: pairs with the acquire of `record`, and of a failed exchange here. Acquire on
        // failure: pairs with the release of the CPU that was first, whose record is then used.
        let published = self.records[node].compare_exchange(
            0,
            to_word(new.as_ptr()),
            Ordering::Release,
            Ordering::Acquire,
        );
        if let Err(theirs) = published {
            // SAFETY: only this thread has `new`: it was not published.
            unsafe { memory::free::<_, H>(new) };
            // SAFETY: a slot that is not 0 holds the address of a record that lives as long as
            // `self`.
            unsafe { &*from_word::<LockedRecord<R, K, H, C>>(theirs) }.add(counts);
        }
        Ok(())
    }
}

impl<R: Record, K: LaneLock<H>, H: Host, C: Context, const NODES: usize> LockedRecords<R, K, H, C>
    for NodeRecords<R, K, H, C, NODES>
{
    #[inline(always)]
    fn here() -> usize {
        H::numa_node() as usize
    }

    fn visit(&self, mut see: impl FnMut(&LockedRecord<R, K, H, C>)) {
        for node in 0..NODES {
            if let Some(record) = self.record(node) {
                see(record);
            }
        }
    }
}

impl<R: Record, K: LaneLock<H>, H: Host, C: Context, const NODES: usize> Records<R>
    for NodeRecords<R, K, H, C, NODES>
{
    fn new() -> Result<Self, AllocationFailed> {
        const { assert!(NODES > 0 && NODES < u32::MAX as usize, "there is at least one record") };
        let make = || LockedRecord::<R, K, H, C>::new(R::default());
        let first = memory::allocate::<_, H>(Some(0), make)?;
        let address = |node| if node == 0 { to_word(first.as_ptr()) } else { 0 };
        Ok(NodeRecords {
            records: core::array::from_fn(|node| Word::new(address(node))),
            last_writer: Word::new(0),
            _records: PhantomData,
        })
    }

    #[inline(always)]
    fn add(&self, place: usize, counts: &R) {
        let node = place % NODES;
        match self.record(node) {
            Some(record) => {
                if node == 0 {
                    self.note_writer(0);
                }
                record.add(counts);
            }
            None => self.add_without_record(node, counts),
        }
    }

    sums!(LockedRecord<R, K, H, C>);

    fn allocated(&self) -> usize {
        self.number() * size_of::<LockedRecord<R, K, H, C>>()
    }
}

impl<R: Record, K: LaneLock<H>, H: Host, C: Context, const NODES: usize> Drop
    for NodeRecords<R, K, H, C, NODES>
{
    fn drop(&mut self) {
        for slot in &mut self.records {
            if let Some(record) = NonNull::new(from_word::<LockedRecord<R, K, H, C>>(slot.get())) {
                // SAFETY: the address came from `memory::allocate` of this host, and no thread has
                // a reference to an object that is being dropped.
                unsafe { memory::free::<_, H>(record) };
            }
        }
    }
}
