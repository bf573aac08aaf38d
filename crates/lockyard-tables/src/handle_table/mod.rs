//! Handle table: objects that are found by 64-bit handles with generations.
//!
//! [`insert`](HandleTable::insert) gives an object a [`Handle`]. In this table the handle names
//! this object for ever: once the object is removed, its handle finds nothing, even if another
//! object has taken the place.
//!
//! ```
//! use lockyard_tables::HandleTable;
//!
//! static SESSIONS: HandleTable<String> = HandleTable::new();
//!
//! let handle = SESSIONS.insert("first".into()).expect("places and memory are left");
//! assert_eq!(*SESSIONS.get(handle).expect("it is there"), "first");
//! assert!(SESSIONS.remove(handle));
//! let other = SESSIONS.insert("second".into()).expect("places and memory are left");
//! assert!(SESSIONS.get(handle).is_none(), "not the second one either");
//! # assert_ne!(handle, other);
//! ```
//!
//! The [identifier table](crate::id_table) is the kernel's design for the same purpose: it gives
//! the *lowest free* number, reuses numbers at once, and locks each object that it finds. Use it if
//! numbers must be small and dense. Otherwise use a handle table, which was faster in every
//! operation that `cargo evidence measure-tables` measures.
//!
//! # Access
//!
//! | access | a look-up | writes to shared memory | a removal |
//! | --- | --- | --- | --- |
//! | [`Shared`], the default | [`get`](HandleTable::get): a [`Ref`] that many threads may have | none | [`remove`](HandleTable::remove): the object is dropped when its readers have left |
//! | [`Exclusive<K>`](Exclusive) | [`lock`](HandleTable::lock): an [`Entry`] that one thread has, and may change the object | the object's lock, of algorithm `K` | waits for the lock, and returns the object |
//!
//! With `Shared`, [`get`](HandleTable::get) enters the table's [domain](lockyard::reclaim::Domain).
//! Entering is a store to a line of the thread, and a fence. [`get_in`](HandleTable::get_in) uses a
//! guard that the caller keeps, and costs three dependent loads.
//!
//! # Faults
//!
//! - **All places below the [limit](HandleTable::with_limit) are used**:
//!   [`InsertError::Exhausted`], with the object. A removed object keeps its place until the call
//!   that removed it has returned. With `Shared` it also keeps its place until all readers that
//!   were inside the domain have left, and until the objects that are dropped with it have been
//!   dropped.
//! - **No memory for a page of places, or for the shards at the first insertion**:
//!   [`InsertError::OutOfMemory`], with the object. Nothing else allocates here. (A thread's first
//!   look-up may allocate a record of the domain, and works without it.)
//! - **A panic while an object is read or locked**: the guard is dropped, or the lock released. The
//!   object stays in the table as the panic left it.
//! - **A panic in an object's destructor**: with `Shared` any thread that inserts, removes or
//!   collects may drop objects that other threads removed, and then gets the panic. The other
//!   objects are still dropped. If a second destructor panics meanwhile, the process aborts, as for
//!   a `Vec`.
//! - **A vacant entry that is forgotten** keeps its place, and counts as an object.
//! - **A slot that had 2^31 - 2 objects** (or vacant entries that were dropped) is never used
//!   again, so no handle ever names a second object. [`usage`](HandleTable::usage) counts these
//!   slots.
//! - **A reader that never leaves**: look-ups, insertions and removals continue, and removed
//!   objects wait.
//! - **A signal handler** may look up by the [rules of readers](lockyard::reclaim), if access is
//!   `Shared`. Insertions and removals allocate, drop objects and take locks, which few handlers
//!   may do.
//!
//! # Memory
//!
//! Slots are in pages of 16, 32, 64, ... slots. Pages never move and are kept until the table is
//! dropped. A slot takes the object and 8 bytes (`Shared`) or 12 (`Exclusive`, a lock of 4 bytes),
//! rounded up to the alignment. The first insertion also allocates 16 shards, 2,112 bytes. Through
//! these shards, different threads insert and remove without a common line. A shard keeps up to 127
//! free slots (more for a moment, if threads that share the shard find it empty together), and 32
//! slots that had no object yet. Other shards get these slots only when the limit is reached, or
//! when there is no memory.
//!
//! With `Shared`, up to 192 removed objects of each shard also wait for readers, as long as readers
//! leave within an epoch and nothing panics; objects that are being dropped come on top.
//! [`collect`](HandleTable::collect) drops them earlier.

mod access;
mod chain;
mod entry;
mod handle;
mod reference;
mod shard;
mod slots;
mod stock;
mod table;
mod vacant;

pub use crate::id_table::InsertError;
pub use access::{Access, Exclusive, Shared};
pub use entry::Entry;
pub use handle::Handle;
pub use reference::Ref;
pub use slots::MAX_HANDLES;
pub use table::{HandleTable, Usage};
pub use vacant::VacantEntry;

use lockyard::Context;
use lockyard::lock::LaneLock;
use lockyard::platform::{HostWithSlots, Ordering, Region, Word, during};
use lockyard::reclaim::Guard;
use slots::Slot;
use table::Refusal;

impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> HandleTable<T, A, H, C> {
    /// Puts `value` into the table, and returns its handle.
    ///
    /// Cost: the lock of the thread's shard, which other threads use only if there are more threads
    /// than shards, and the slot's line. Once in 64 insertions (32 in a table that grows) the shard
    /// may need the lock that all shards share, or drop objects that were removed. When a page is
    /// full, the insertion allocates another page. Near the limit each insertion may take the locks
    /// of all shards.
    ///
    /// Release: a thread that finds the object sees everything that happened before the insertion.
    ///
    /// # Errors
    ///
    /// Fails if no place is free, or if there is no memory. The error holds the value, and the
    /// table has the objects that it had.
    ///
    /// # Panics
    ///
    /// Panics only if the destructor of a removed object panics, with `Shared`. `value` is then
    /// dropped.
    #[inline]
    pub fn insert(&self, value: T) -> Result<Handle, InsertError<T>> {
        match self.take_slot() {
            Ok(index) => Ok(Handle::new(index, self.slots.at(index).fill(value))),
            Err(Refusal::Exhausted) => Err(InsertError::Exhausted(value)),
            Err(Refusal::OutOfMemory) => Err(InsertError::OutOfMemory(value)),
        }
    }

    /// Returns a place whose handle is known before the object is made.
    ///
    /// # Errors
    ///
    /// The same as for [`insert`](Self::insert).
    pub fn vacant_entry(&self) -> Result<VacantEntry<'_, T, A, H, C>, InsertError<()>> {
        match self.take_slot() {
            Ok(index) => {
                // Relaxed: the slot belongs to this thread.
                let generation = self.slots.at(index).generation.load(Ordering::Relaxed) + 1;
                Ok(VacantEntry::new(self, Handle::new(index, generation)))
            }
            Err(Refusal::Exhausted) => Err(InsertError::Exhausted(())),
            Err(Refusal::OutOfMemory) => Err(InsertError::OutOfMemory(())),
        }
    }
}

impl<T: Send, H: HostWithSlots, C: Context> HandleTable<T, Shared, H, C> {
    /// Removes the object of `handle`; returns false if it is not in the table. The object is
    /// dropped when the readers that may have it have left, by any thread that inserts or removes.
    ///
    /// Of several threads that remove an object, exactly one gets true. To read an object that is
    /// removed, use [`Ref::remove`].
    ///
    /// Cost: a read-modify-write of the slot, and the lock of the thread's shard. Once in 64
    /// removals, also a scan of the domain's records.
    ///
    /// # Panics
    ///
    /// Panics only if the destructor of a removed object panics. The object of `handle` is removed
    /// before.
    #[inline]
    pub fn remove(&self, handle: Handle) -> bool {
        self.slots.get(handle.index()).is_some_and(|slot| self.remove_from(slot, handle))
    }

    #[inline(always)]
    fn remove_from(&self, slot: &Slot<T, Shared, H, C>, handle: Handle) -> bool {
        let generation = handle.generation();
        // Acquire: pairs with the release in `fill`, for the thread that drops the object. A
        // look-up that begins after the shard's grace period does not find the object.
        let removed = slot.generation.compare_exchange(
            generation,
            generation.wrapping_add(1),
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if removed.is_ok() {
            self.retire_slot(handle.index());
        }
        removed.is_ok()
    }
}

impl<T: Send + Sync, H: HostWithSlots, C: Context> HandleTable<T, Shared, H, C> {
    /// Finds the object of `handle`. Returns `None` if it is not in the table. Never waits.
    ///
    /// Cost: [entering](lockyard::reclaim::Domain::enter), and three dependent loads of memory that
    /// look-ups do not write.
    ///
    /// Acquire: the caller sees everything that happened before the object's insertion.
    #[inline(always)]
    pub fn get(&self, handle: Handle) -> Option<Ref<'_, T, H, C>> {
        during::<H, _>(Region::LookUp, || {
            let guard = self.domain.enter();
            let slot = self.slots.get(handle.index())?;
            slot.has(handle.generation()).then_some(Ref {
                table: self,
                slot,
                handle,
                _guard: guard,
            })
        })
    }

    /// The same as [`get`](Self::get), inside the caller's guard of the table's
    /// [domain](Self::domain). A caller can keep the guard and make it
    /// [quiescent](Guard::pass_quiescent_state) between look-ups, which saves each look-up its
    /// fence.
    ///
    /// # Panics
    ///
    /// Panics if the guard belongs to another domain.
    #[inline(always)]
    pub fn get_in<'g>(&'g self, guard: &'g Guard<'_, H, C>, handle: Handle) -> Option<&'g T> {
        self.assert_own(guard);
        during::<H, _>(Region::LookUp, || {
            let slot = self.slots.get(handle.index())?;
            // SAFETY: found inside the guard, which lives as long as the reference.
            slot.has(handle.generation()).then(|| unsafe { slot.value() })
        })
    }

    #[inline(always)]
    fn assert_own(&self, guard: &Guard<'_, H, C>) {
        let own = core::ptr::eq(guard.domain(), &self.domain);
        assert!(own, "the guard is not one of the table's domain");
    }

    /// Iterates over the objects inside the caller's guard, in the order of their indices. See
    /// [`handles`](Self::handles) for objects that come and go meanwhile.
    ///
    /// # Panics
    ///
    /// Panics if the guard belongs to another domain.
    pub fn iter_in<'g>(
        &'g self,
        guard: &'g Guard<'_, H, C>,
    ) -> impl Iterator<Item = (Handle, &'g T)> {
        self.assert_own(guard);
        self.handles().filter_map(move |handle| Some((handle, self.get_in(guard, handle)?)))
    }

    /// Calls `each` with each object and its handle, inside one guard. See
    /// [`handles`](Self::handles) for objects that come and go meanwhile.
    pub fn for_each(&self, mut each: impl FnMut(Handle, &T)) {
        let guard = self.domain.enter();
        self.iter_in(&guard).for_each(|(handle, value)| each(handle, value));
    }
}

impl<T: Send, K: LaneLock<H>, H: HostWithSlots, C: Context> HandleTable<T, Exclusive<K>, H, C> {
    /// Finds the object of `handle` and takes its lock. Returns `None` if it is not in the table.
    /// Waits while another entry of the object is held.
    ///
    /// A thread may hold any number of objects at a time. If it locks one that it already holds, it
    /// waits for ever.
    ///
    /// Cost: two dependent loads, and the object's lock. It needs no reclamation, because slots
    /// live as long as the table.
    ///
    /// Acquire: the caller sees everything that was done under the object's lock earlier, and
    /// everything before the object's insertion.
    #[inline(always)]
    pub fn lock(&self, handle: Handle) -> Option<Entry<'_, T, K, H, C>> {
        during::<H, _>(Region::LookUp, || {
            let slot = self.slots.get(handle.index())?;
            if !slot.has(handle.generation()) {
                return None;
            }
            Entry::of(self, slot, handle, slot.lock.acquire())
        })
    }

    /// The same as [`lock`](Self::lock), but also returns `None` if another thread has the object,
    /// or is just looking at its slot with the handle of an earlier object. (Algorithms whose
    /// attempts may fail for no reason say so themselves.)
    #[inline(always)]
    pub fn try_lock(&self, handle: Handle) -> Option<Entry<'_, T, K, H, C>> {
        during::<H, _>(Region::LookUp, || {
            let slot = self.slots.get(handle.index())?;
            if !slot.has(handle.generation()) {
                return None;
            }
            Entry::of(self, slot, handle, slot.lock.try_acquire()?)
        })
    }

    /// Removes the object of `handle` and returns it; `None` if it is not in the table. Waits while
    /// an entry of the object is held.
    ///
    /// Cost: a look-up, and the lock of the thread's shard.
    #[inline]
    pub fn remove(&self, handle: Handle) -> Option<T> {
        self.lock(handle).map(Entry::remove)
    }

    /// Locks each object in turn, and calls `each` with it and its handle. See
    /// [`handles`](Self::handles) for objects that come and go meanwhile.
    pub fn for_each(&self, mut each: impl FnMut(Handle, &mut T)) {
        for handle in self.handles() {
            if let Some(mut entry) = self.lock(handle) {
                each(handle, &mut entry);
            }
        }
    }
}
