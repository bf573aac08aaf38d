//! The variants: the number of records, and the record for each update. [`PerNode`] and
//! [`PerThread`] have their own files.

use super::per_node::{self, PerNode};
use super::per_thread::{PerThread, ThreadRecords};
use super::record::{Counters, Counts, LockedRecord, Record};
use super::records::{LockedRecords, Records, sums};
use crate::memory::{self, AllocationFailed};
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::lock::LaneLock;
use lockyard::platform::Host;

/// The records that receive updates of `R`: [`Shared`], [`PerCpu`], [`PerNode`], [`PerThread`].
/// Sealed.
pub trait Variant<R: Record = Counts>: sealed::Sealed + 'static {
    /// True if the parts of a record are consistent: a reading has no packet without its bytes.
    const TOGETHER: bool = true;
    #[doc(hidden)]
    type Records<K: LaneLock<H>, H: Host, C: Context>: Records<R>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Shared {}
    impl Sealed for super::PerThread {}
    impl<const CPUS: usize> Sealed for super::PerCpu<CPUS> {}
    impl<const NODES: usize> Sealed for super::PerNode<NODES> {}
}

/// One record for all CPUs, inside the object. It takes the least memory. Its line moves to every
/// CPU that updates.
#[derive(Debug)]
pub struct Shared;

impl<R: Record> Variant<R> for Shared {
    type Records<K: LaneLock<H>, H: Host, C: Context> = OneRecord<R, K, H, C>;
}

/// The record of [`Shared`].
pub struct OneRecord<R: Record, K: LaneLock<H>, H: Host, C: Context>(LockedRecord<R, K, H, C>);

impl<R: Record, K: LaneLock<H>, H: Host, C: Context> LockedRecords<R, K, H, C>
    for OneRecord<R, K, H, C>
{
    #[inline(always)]
    fn here() -> usize {
        0
    }
    fn visit(&self, mut see: impl FnMut(&LockedRecord<R, K, H, C>)) {
        see(&self.0);
    }
}

impl<R: Record, K: LaneLock<H>, H: Host, C: Context> Records<R> for OneRecord<R, K, H, C> {
    fn new() -> Result<Self, AllocationFailed> {
        Ok(OneRecord(LockedRecord::new(R::default())))
    }
    #[inline(always)]
    fn add(&self, _place: usize, counts: &R) {
        self.0.add(counts);
    }
    sums!(LockedRecord<R, K, H, C>);
    fn allocated(&self) -> usize {
        0
    }
}

/// A record for each of `CPUS` [slots](Host::slot), all allocated at creation. Updates share
/// nothing. An object takes 64 bytes for every CPU, used or not, and a reader visits all records.
///
/// Slot *s* updates record *s* mod `CPUS`; a thread without a slot updates the first. If there are
/// fewer records than slots, some are shared, and nothing is lost.
#[derive(Debug)]
pub struct PerCpu<const CPUS: usize = 64>;

impl<R: Record, const CPUS: usize> Variant<R> for PerCpu<CPUS> {
    type Records<K: LaneLock<H>, H: Host, C: Context> = AllRecords<R, K, H, C, CPUS>;
}

/// The records of [`PerCpu`], in one allocation.
pub struct AllRecords<R: Record, K: LaneLock<H>, H: Host, C: Context, const CPUS: usize>(
    NonNull<[LockedRecord<R, K, H, C>; CPUS]>,
);

// SAFETY: the records are owned, and each is `Send` and `Sync`: it has a word, and a cell of `Send`
// data that is accessed under the record's lock.
unsafe impl<R: Record, K: LaneLock<H>, H: Host, C: Context, const CPUS: usize> Send
    for AllRecords<R, K, H, C, CPUS>
{
}
// SAFETY: as above.
unsafe impl<R: Record, K: LaneLock<H>, H: Host, C: Context, const CPUS: usize> Sync
    for AllRecords<R, K, H, C, CPUS>
{
}

impl<R: Record, K: LaneLock<H>, H: Host, C: Context, const CPUS: usize>
    AllRecords<R, K, H, C, CPUS>
{
    #[inline(always)]
    fn records(&self) -> &[LockedRecord<R, K, H, C>; CPUS] {
        // SAFETY: made by `new`, freed by `drop`.
        unsafe { self.0.as_ref() }
    }
}

impl<R: Record, K: LaneLock<H>, H: Host, C: Context, const CPUS: usize> LockedRecords<R, K, H, C>
    for AllRecords<R, K, H, C, CPUS>
{
    #[inline(always)]
    fn here() -> usize {
        H::slot().map_or(0, |slot| slot.0 as usize)
    }
    fn visit(&self, see: impl FnMut(&LockedRecord<R, K, H, C>)) {
        self.records().iter().for_each(see);
    }
}

impl<R: Record, K: LaneLock<H>, H: Host, C: Context, const CPUS: usize> Records<R>
    for AllRecords<R, K, H, C, CPUS>
{
    fn new() -> Result<Self, AllocationFailed> {
        const { assert!(CPUS > 0, "there is at least one record") };
        // SAFETY: every element of the array is written.
        let records = unsafe {
            memory::allocate_with::<[LockedRecord<R, K, H, C>; CPUS], H>(None, |all| {
                for index in 0..CPUS {
                    let place = all.cast::<LockedRecord<R, K, H, C>>().add(index);
                    place.write(LockedRecord::new(R::default()));
                }
            })
        };
        Ok(AllRecords(records?))
    }
    #[inline(always)]
    fn add(&self, place: usize, counts: &R) {
        self.records()[place % CPUS].add(counts);
    }
    sums!(LockedRecord<R, K, H, C>);
    fn allocated(&self) -> usize {
        size_of_val(self.records())
    }
}

impl<R: Record, K: LaneLock<H>, H: Host, C: Context, const CPUS: usize> Drop
    for AllRecords<R, K, H, C, CPUS>
{
    fn drop(&mut self) {
        // SAFETY: `new` made them, and no thread has a reference to an object that is being
        // dropped.
        unsafe { memory::free::<_, H>(self.0) };
    }
}

impl<R: Record, const NODES: usize> Variant<R> for PerNode<NODES> {
    type Records<K: LaneLock<H>, H: Host, C: Context> = per_node::NodeRecords<R, K, H, C, NODES>;
}

impl<R: Counters> Variant<R> for PerThread {
    const TOGETHER: bool = false;
    type Records<K: LaneLock<H>, H: Host, C: Context> = ThreadRecords<R, K, H, C>;
}
