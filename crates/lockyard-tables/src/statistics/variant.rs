//! The variants: the number of records, and the record for each update. [`PerNode`] has its own
//! file.

use super::per_node::{self, PerNode};
use super::record::{Counts, Record};
use super::records::Records;
use crate::memory::{self, AllocationFailed};
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::lock::LaneLock;
use lockyard::platform::Host;

/// The records that receive updates: [`Shared`], [`PerCpu`], [`PerNode`]. Sealed.
pub trait Variant: sealed::Sealed + 'static {
    #[doc(hidden)]
    type Records<K: LaneLock<H>, H: Host, C: Context>: Records<K, H, C>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Shared {}
    impl<const CPUS: usize> Sealed for super::PerCpu<CPUS> {}
    impl<const NODES: usize> Sealed for super::PerNode<NODES> {}
}

/// One record for all, inside the object. It takes the least memory. Its line moves to every CPU
/// that updates.
#[derive(Debug)]
pub struct Shared;

impl Variant for Shared {
    type Records<K: LaneLock<H>, H: Host, C: Context> = OneRecord<K, H, C>;
}

/// The record of [`Shared`].
pub struct OneRecord<K: LaneLock<H>, H: Host, C: Context>(Record<K, H, C>);

impl<K: LaneLock<H>, H: Host, C: Context> Records<K, H, C> for OneRecord<K, H, C> {
    fn new() -> Result<Self, AllocationFailed> {
        Ok(OneRecord(Record::new(Counts::default())))
    }
    #[inline(always)]
    fn here() -> usize {
        0
    }
    #[inline(always)]
    fn add(&self, _place: usize, counts: &Counts) {
        self.0.add(counts);
    }
    fn visit(&self, mut see: impl FnMut(&Record<K, H, C>)) {
        see(&self.0);
    }
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

impl<const CPUS: usize> Variant for PerCpu<CPUS> {
    type Records<K: LaneLock<H>, H: Host, C: Context> = AllRecords<K, H, C, CPUS>;
}

/// The records of [`PerCpu`], in one allocation.
pub struct AllRecords<K: LaneLock<H>, H: Host, C: Context, const CPUS: usize>(
    NonNull<[Record<K, H, C>; CPUS]>,
);

// SAFETY: the records are owned, and each is `Send` and `Sync` (a word and a cell of numbers).
unsafe impl<K: LaneLock<H>, H: Host, C: Context, const CPUS: usize> Send
    for AllRecords<K, H, C, CPUS>
{
}
// SAFETY: as above.
unsafe impl<K: LaneLock<H>, H: Host, C: Context, const CPUS: usize> Sync
    for AllRecords<K, H, C, CPUS>
{
}

impl<K: LaneLock<H>, H: Host, C: Context, const CPUS: usize> AllRecords<K, H, C, CPUS> {
    #[inline(always)]
    fn records(&self) -> &[Record<K, H, C>; CPUS] {
        // SAFETY: made by `new`, freed by `drop`.
        unsafe { self.0.as_ref() }
    }
}

impl<K: LaneLock<H>, H: Host, C: Context, const CPUS: usize> Records<K, H, C>
    for AllRecords<K, H, C, CPUS>
{
    fn new() -> Result<Self, AllocationFailed> {
        const { assert!(CPUS > 0, "there is at least one record") };
        // SAFETY: every element of the array is written.
        let records = unsafe {
            memory::allocate_with::<[Record<K, H, C>; CPUS], H>(None, |all| {
                for index in 0..CPUS {
                    all.cast::<Record<K, H, C>>().add(index).write(Record::new(Counts::default()));
                }
            })
        };
        Ok(AllRecords(records?))
    }
    #[inline(always)]
    fn here() -> usize {
        H::slot().map_or(0, |slot| slot.0 as usize)
    }
    #[inline(always)]
    fn add(&self, place: usize, counts: &Counts) {
        self.records()[place % CPUS].add(counts);
    }
    fn visit(&self, see: impl FnMut(&Record<K, H, C>)) {
        self.records().iter().for_each(see);
    }
    fn allocated(&self) -> usize {
        size_of_val(self.records())
    }
}

impl<K: LaneLock<H>, H: Host, C: Context, const CPUS: usize> Drop for AllRecords<K, H, C, CPUS> {
    fn drop(&mut self) {
        // SAFETY: `new` made them, and nobody has a reference to an object that is being dropped.
        unsafe { memory::free::<_, H>(self.0) };
    }
}

impl<const NODES: usize> Variant for PerNode<NODES> {
    type Records<K: LaneLock<H>, H: Host, C: Context> = per_node::NodeRecords<K, H, C, NODES>;
}
