//! The table itself: its memory from creation to drop, and the states of a slot from one object to
//! the next.

use super::access::Access;
use super::chain::Chain;
use super::handle::Handle;
use super::shard::{BATCH, Lack, Shard};
use super::slots::{MAX_HANDLES, Slots, page_of};
use super::stock::{Stock, StockPlace};
use crate::memory::AllocationFailed;
use core::fmt;
use lockyard::platform::{ConstAtomics, HostWithSlots, Ordering, Word};
use lockyard::reclaim::Domain;
use lockyard::{Context, NoContext};

/// Objects that are found by [handles](Handle). See the [module](super).
///
/// `C` is the context that is switched off while a lock of the table, an object's lock or a guard
/// of its domain is held.
#[repr(C)]
pub struct HandleTable<T: Send, A: Access<H>, H: HostWithSlots, C: Context = NoContext> {
    /// The domain of readers. (A table of exclusive objects does not use it.)
    pub(super) domain: Domain<H, C>,
    pub(super) slots: Slots<T, A, H, C>,
    /// Exclusive upper bound of the indices.
    limit: u32,
    stock: StockPlace<H, C>,
}

/// Counts of a table. A snapshot, exact while no thread changes the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Number of objects, including [vacant entries](super::VacantEntry).
    pub objects: usize,
    /// Number of slots that are allocated.
    pub capacity: usize,
    /// Number of removed objects that wait for readers to leave, or are being dropped.
    pub waiting: usize,
    /// Number of slots that get no further object, because each had 2^31 - 2 objects (or vacant
    /// entries that were dropped).
    pub worn_out: usize,
    /// Bytes of the table, its shards, its slots with the objects, and the records of its domain.
    pub bytes: usize,
}

/// Reason why there is no slot for an object.
pub(super) enum Refusal {
    Exhausted,
    OutOfMemory,
}

impl<T: Send, A: Access<H>, H: HostWithSlots<Atomics: ConstAtomics>, C: Context>
    HandleTable<T, A, H, C>
{
    /// Returns an empty table for up to [`MAX_HANDLES`] objects; also works in statics. On
    /// platforms without constants use [`HandleTable::default`].
    pub const fn new() -> Self {
        Self::with_limit(MAX_HANDLES)
    }

    /// Returns an empty table for up to `limit` objects (and up to [`MAX_HANDLES`]).
    pub const fn with_limit(limit: u32) -> Self {
        HandleTable {
            domain: Domain::new(),
            slots: Slots::NONE,
            limit: if limit < MAX_HANDLES { limit } else { MAX_HANDLES },
            stock: StockPlace::EMPTY,
        }
    }
}

impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> Default for HandleTable<T, A, H, C> {
    fn default() -> Self {
        HandleTable {
            domain: Domain::default(),
            slots: Slots::new(),
            limit: MAX_HANDLES,
            stock: StockPlace::new(),
        }
    }
}

impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> HandleTable<T, A, H, C> {
    /// Returns this table with room for up to `limit` objects, if its own limit is not lower. For
    /// platforms without constants, where [`with_limit`](Self::with_limit) does not exist.
    ///
    /// ```
    /// use lockyard_tables::HandleTable;
    /// let table: HandleTable<u8> = HandleTable::default().limited(1);
    /// assert!(table.insert(1).is_ok() && table.insert(2).is_err());
    /// ```
    pub fn limited(mut self, limit: u32) -> Self {
        self.limit = self.limit.min(limit);
        self
    }

    /// Returns the shards, if there are any.
    fn shards(&self) -> &[Shard<H, C>] {
        self.stock.get().map_or(&[], Stock::shards)
    }

    /// Takes a free slot.
    #[inline(always)]
    pub(super) fn take_slot(&self) -> Result<u32, Refusal> {
        let taken = self.stock.get().and_then(|stock| stock.shard().pop(&self.slots));
        taken.map_or_else(|| self.take_slot_elsewhere(), Ok)
    }

    /// Takes a free slot if the shard has none.
    #[cold]
    #[inline(never)]
    fn take_slot_elsewhere(&self) -> Result<u32, Refusal> {
        let Some(stock) = self.stock.make() else { return Err(Refusal::OutOfMemory) };
        let shard = stock.shard();
        loop {
            self.collect_in(shard);
            if let Some(index) = shard.pop(&self.slots) {
                return Ok(index);
            }
            match self.take_from_depot(stock, self.limit) {
                Ok(index) => return Ok(index),
                Err(Lack::Slots) => return self.take_collected(stock).ok_or(Refusal::Exhausted),
                Err(Lack::Page(k)) => {
                    if !self.slots.add_page(k) {
                        // The other shards may have slots.
                        return (self.take_from_depot(stock, 0).ok())
                            .or_else(|| self.take_collected(stock))
                            .ok_or(Refusal::OutOfMemory);
                    }
                }
            }
        }
    }

    fn take_from_depot(&self, stock: &Stock<H, C>, limit: u32) -> Result<u32, Lack> {
        stock.depot.take(&self.slots, limit, stock.shard(), stock.shards())
    }

    /// Drops the objects that can be dropped, and takes a slot that is then free.
    fn take_collected(&self, stock: &Stock<H, C>) -> Option<u32> {
        self.collect();
        self.take_from_depot(stock, 0).ok()
    }

    /// Gives back a slot that no thread uses any more, and that counts as an object.
    #[inline(always)]
    pub(super) fn give_slot(&self, index: u32) {
        let stock = self.stock.there();
        stock.shard().give(&self.slots, &stock.depot, index);
    }

    /// Keeps a slot whose object this thread has removed, until its readers have left.
    #[inline(always)]
    pub(super) fn retire_slot(&self, index: u32) {
        let shard = self.stock.there().shard();
        if shard.retire(&self.slots, index).is_multiple_of(BATCH) {
            self.turn(shard);
        }
    }

    /// Drops the objects that readers have left, and begins a grace period. Ends an epoch if
    /// necessary: other threads may already have done so.
    #[cold]
    #[inline(never)]
    fn turn(&self, shard: &Shard<H, C>) {
        if !self.collect_in(shard) {
            // If a reader from an earlier epoch is inside, later calls end the epoch.
            let _ = self.domain.try_advance();
            self.collect_in(shard);
        }
        shard.close(&self.domain);
    }

    /// Drops the removed objects of a shard that readers have left; returns true if there were any.
    fn collect_in(&self, shard: &Shard<H, C>) -> bool {
        let mut any = false;
        if !core::mem::needs_drop::<T>() {
            let depot = &self.stock.there().depot;
            while shard.free_passed(&self.slots, &self.domain, depot) {
                any = true;
            }
            return any;
        }
        while let Some(chain) = shard.take_passed(&self.domain) {
            any = true;
            let mut passed = Passed { table: self, shard, chain, next: chain.head() };
            passed.drop_values();
        }
        any
    }

    /// Drops the removed objects whose grace period is over, whichever thread removed them; returns
    /// the number of removed objects that are not dropped yet. These wait for readers (of any
    /// object; readers that entered later delay them too), or are being dropped. Never waits for
    /// readers.
    ///
    /// A thread that removes many objects does the same for its own shard, once in 64 removals.
    pub fn collect(&self) -> usize {
        // The second round handles the open chains that found no place in the first round.
        for _ in 0..2 {
            if self.waiting() == 0 {
                break;
            }
            self.shards().iter().for_each(|shard| shard.close(&self.domain));
            // A chain waits for two epochs.
            let _ = self.domain.try_advance();
            let _ = self.domain.try_advance();
            for shard in self.shards() {
                self.collect_in(shard);
            }
        }
        self.waiting()
    }

    fn waiting(&self) -> usize {
        self.shards().iter().map(Shard::waiting).sum()
    }

    /// Number of objects, including [vacant entries](super::VacantEntry). A snapshot, exact while
    /// no thread changes the table, and never above the limit.
    pub fn len(&self) -> usize {
        let sum = self.shards().iter().map(Shard::len).fold(0, u64::wrapping_add);
        // The shards are read one after the other. An object that meanwhile moves between a shard
        // that was read and a shard that was not may count twice, or as minus one.
        (sum as i64).clamp(0, self.limit.into()) as usize
    }

    /// Returns true if there are no objects. A snapshot.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Maximum number of objects: the exclusive upper bound of the handles' indices.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Number of slots that are allocated, used or not.
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// Allocates slots until there are `objects` of them, or as many as the limit allows.
    ///
    /// # Errors
    ///
    /// If the host has no memory. Slots that were allocated before are kept.
    pub fn reserve(&self, objects: u32) -> Result<(), AllocationFailed> {
        let wanted = objects.min(self.limit);
        let Some(last) = wanted.checked_sub(1) else { return Ok(()) };
        let mut pages = 0..=page_of(last);
        let made = self.stock.make().is_some() && pages.all(|k| self.slots.add_page(k));
        made.then_some(()).ok_or(AllocationFailed)
    }

    /// Returns counts of the table. Cost: reads the lines of all shards.
    pub fn usage(&self) -> Usage {
        Usage {
            objects: self.len(),
            capacity: self.capacity(),
            waiting: self.waiting(),
            worn_out: self.shards().iter().map(Shard::worn_out).sum(),
            bytes: size_of::<Self>()
                + self.stock.bytes()
                + self.slots.bytes()
                + self.domain.record_bytes(),
        }
    }

    /// Bytes of a slot with its object, as allocated.
    pub const fn slot_bytes() -> usize {
        Slots::<T, A, H, C>::slot_bytes()
    }

    /// Returns the domain of the table's readers.
    pub fn domain(&self) -> &Domain<H, C> {
        &self.domain
    }

    /// Returns true if the object of `handle` is in the table. A snapshot.
    #[inline]
    pub fn contains(&self, handle: Handle) -> bool {
        self.slots.get(handle.index()).is_some_and(|slot| slot.has(handle.generation()))
    }

    /// Returns the handles of all objects, in the order of their indices.
    ///
    /// An object that is in the table from the call to the end of the iteration is named exactly
    /// once. An object that comes or goes meanwhile may be named.
    pub fn handles(&self) -> impl Iterator<Item = Handle> {
        let used = self.stock.get().map_or(0, |stock| stock.depot.used());
        (0..used).filter_map(|index| {
            // Relaxed: the user of the handle looks it up again, with acquire.
            let generation = self.slots.get(index)?.generation.load(Ordering::Relaxed);
            (generation & 1 == 1).then(|| Handle::new(index, generation))
        })
    }
}

/// Removed objects that readers have left. When this is dropped (also if a destructor panics), the
/// remaining ones are dropped, and their slots are free.
struct Passed<'t, T: Send, A: Access<H>, H: HostWithSlots, C: Context> {
    table: &'t HandleTable<T, A, H, C>,
    shard: &'t Shard<H, C>,
    chain: Chain,
    next: u32,
}

impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> Passed<'_, T, A, H, C> {
    fn drop_values(&mut self) {
        while core::mem::needs_drop::<T>() && self.next > 0 {
            // `None`: see `drop`.
            let Some(slot) = self.table.slots.get(self.next - 1) else { return };
            self.next = slot.next.load(Ordering::Relaxed);
            // SAFETY: the object was removed, its readers have left, and only this thread has the
            // chain.
            unsafe { slot.drop_value() };
        }
    }
}

impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> Drop for Passed<'_, T, A, H, C> {
    fn drop(&mut self) {
        self.drop_values();
        // `None`: a model check failed, and all words read 0.
        let Some(stock) = self.table.stock.get() else { return };
        self.shard.reuse(&self.table.slots, &stock.depot, self.chain);
    }
}

impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> HandleTable<T, A, H, C> {
    /// Drops all objects: removed objects that wait, and objects in the table.
    fn drop_objects(&mut self) {
        for shard in self.shards() {
            loop {
                let chain = shard.drain();
                if chain.count == 0 {
                    break;
                }
                let mut passed = Passed { table: self, shard, chain, next: chain.head() };
                passed.drop_values();
            }
        }
        self.slots.drop_objects();
    }
}

impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> Drop for HandleTable<T, A, H, C> {
    fn drop(&mut self) {
        struct Finish<'t, T: Send, A: Access<H>, H: HostWithSlots, C: Context>(
            &'t mut HandleTable<T, A, H, C>,
        );
        impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> Drop for Finish<'_, T, A, H, C> {
            fn drop(&mut self) {
                // Drops the objects that remain after a panic in a destructor.
                self.0.drop_objects();
                self.0.slots.free();
                self.0.stock.free();
            }
        }
        let finish = Finish(self);
        finish.0.drop_objects();
    }
}

impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> fmt::Debug for HandleTable<T, A, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandleTable")
            .field("access", &A::NAME)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::InsertError;
    use super::super::access::{Exclusive, Shared};
    use super::super::slots::WORN_OUT;
    use super::*;
    use lockyard::Native;

    /// The last object, or vacant entry, of the slot with index 0, after which the slot is used up.
    fn wears_out<A: Access<Native>>(
        table: &HandleTable<u32, A, Native>,
        remove: impl Fn(Handle) -> bool,
        vacant: bool,
    ) {
        let first = table.insert(1).unwrap();
        assert!(remove(first) && table.collect() == 0);
        table.slots.at(0).generation.store(WORN_OUT - 2, Ordering::Relaxed);
        let last = table.insert(2).unwrap();
        assert_eq!((last.index(), last.generation()), (0, u32::MAX - 2));
        if vacant {
            assert!(remove(last) && table.collect() == 0);
            table.slots.at(0).generation.store(WORN_OUT - 2, Ordering::Relaxed);
            assert_eq!(table.vacant_entry().unwrap().handle(), last); // and is dropped
        } else {
            assert!(table.contains(last) && remove(last) && table.collect() == 0);
        }
        assert!(!table.contains(last) && !remove(last));
        for index in 1..16 {
            assert_eq!(table.insert(index).unwrap().index(), index);
        }
        assert_eq!(table.insert(16), Err(InsertError::Exhausted(16)));
        assert_eq!((table.usage().worn_out, table.len()), (1, 15));
    }

    #[test]
    fn a_slot_whose_generations_are_used_up_gets_no_further_object() {
        for vacant in [false, true] {
            let table: HandleTable<u32, Shared, Native> = HandleTable::with_limit(16);
            wears_out(&table, |handle| table.remove(handle), vacant);
            let table: HandleTable<u32, Exclusive, Native> = HandleTable::with_limit(16);
            wears_out(&table, |handle| table.remove(handle).is_some(), vacant);
        }
    }
}
