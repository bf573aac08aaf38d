//! Identifier table: small integers that stand for objects, as a kernel has for its timers, files
//! and processes.
//!
//! [`insert`](IdTable::insert) gives an object the lowest free identifier. [`lock`](IdTable::lock)
//! looks an identifier up and takes the object's own lock. [`remove`](IdTable::remove) takes the
//! object out, and its identifier is free again.
//!
//! ```
//! use lockyard_tables::IdTable;
//!
//! static TIMERS: IdTable<u64> = IdTable::new();
//!
//! let id = TIMERS.insert(100).expect("identifiers and memory are left");
//! *TIMERS.lock(id).expect("it is there") += 5;
//! assert_eq!(TIMERS.remove(id), Some(105));
//! assert!(TIMERS.lock(id).is_none());
//! ```
//!
//! # Variants
//!
//! - **[`Rcu`], the default**: takes no lock of the table: it
//!   [enters](lockyard::reclaim::Domain::enter), reads two pointers, takes the object's lock, and
//!   checks that the object is still in the table.
//! - **[`Locked`]**: takes the one spinlock of the table, finds the object, takes its lock, and
//!   releases the table's.
//!
//! They are the way before and the way after. With `Locked` every look-up moves the line of the
//! table's lock to its CPU, and look-ups wait for each other. With `Rcu` look-ups of different
//! objects share only memory that nobody writes. Insertion and removal take the table's lock in
//! both.
//!
//! An object that was found is not freed under its reader. With `Rcu` its memory is retired to the
//! table's own [`Domain`](lockyard::reclaim::Domain), and outlives everyone who looked for it
//! before it was removed. With `Locked` a thread that waits for an object holds the table's lock,
//! which the remover needs.
//!
//! # Faults
//!
//! - **No identifier below the [limit](IdTable::with_limit) is free**: [`InsertError::Exhausted`],
//!   with the object; the table is as it was.
//! - **No memory, for the object or for the table's growth**: [`InsertError::OutOfMemory`], with
//!   the object; the table is as it was. Look-up and removal need no memory.
//! - **A panic while an [`Entry`] is held**: the object's lock is released, and the object stays in
//!   the table as the panic left it: there is no poisoning.
//! - **A panic in an object's destructor**: only the caller's own code drops objects, outside all
//!   locks. When the table is dropped the other objects are still dropped.
//! - **A thread that holds an `Entry` and calls the same table**: `Rcu`: allowed, but it waits for
//!   ever for an object that it holds itself. `Locked`: it may wait for ever.
//! - **A reader that never leaves the table's domain**: look-ups, insertions and removals go on.
//!   The memory of removed objects is not freed (the objects themselves are what
//!   [`remove`](IdTable::remove) returns): see [reclamation](lockyard::reclaim).
//!
//! # Memory
//!
//! Entries are in segments of 16, 32, 64, ... identifiers, which never move and are kept until the
//! table is dropped. A segment takes 8.13 bytes for an identifier, also for those that the last one
//! holds in reserve. An object has 32 bytes beside it for the lock, the state and the header of
//! reclamation ([`object_bytes`](IdTable::object_bytes) is all of it). At a million objects of 8
//! bytes, measured by `tests/it/id_table.rs`: 56.5 bytes for each, of which the table takes 8.5.
//!
//! Identifiers are given from the lowest, so a table under churn stays as large as its fullest
//! moment. With `Rcu` up to 192 removed objects a slot wait beside it while readers leave.

mod bits;
mod entry;
mod insert_error;
mod object;
mod segments;
mod table;
mod variant;

pub use entry::Entry;
pub use insert_error::InsertError;
pub use segments::MAX_IDS;
pub use table::IdTable;
pub use variant::{Locked, Rcu, Variant};

use lockyard::Context;
use lockyard::platform::{HostWithSlots, Ordering, Region, Word, during};
use lockyard::reclaim::{Guard, Owned};
use object::Object;
use segments::Segment;

/// The result of an attempt to place an object.
enum Placed {
    At(u32),
    Exhausted,
    NeedsSegment(usize),
}

impl<T: Send, V: Variant, H: HostWithSlots, C: Context> IdTable<T, V, H, C> {
    /// Gives `value` the lowest free identifier.
    ///
    /// Cost: an allocation, the table's lock, and about one line for each level of the bitmap.
    /// There is one level for each 64-fold of identifiers. Now and then a segment is allocated,
    /// outside the lock.
    ///
    /// Release: a thread that [locks](Self::lock) the identifier sees what happened before.
    ///
    /// # Errors
    ///
    /// The value, if no identifier is free, or there is no memory. The table is then as it was.
    pub fn insert(&self, value: T) -> Result<u32, InsertError<T>> {
        let object = match Owned::<Object<T, H, C>, H>::allocate(Object::new(value), None) {
            Ok(object) => object,
            Err(object) => return Err(InsertError::OutOfMemory(object.into_value())),
        };
        let bits = object.into_bits();
        // SAFETY: made above, and not published if it is made back.
        let take_back = || unsafe { Object::<T, H, C>::value_of_bits(bits) };
        loop {
            match self.with_writers(|| self.place(bits)) {
                Placed::At(id) => return Ok(id),
                Placed::Exhausted => return Err(InsertError::Exhausted(take_back())),
                Placed::NeedsSegment(k) => {
                    let Some(segment) = Segment::allocate(k) else {
                        return Err(InsertError::OutOfMemory(take_back()));
                    };
                    // SAFETY: under the lock.
                    let unused = self.with_writers(|| unsafe { self.segments.publish(segment) });
                    drop(unused);
                }
            }
        }
    }

    /// Publishes the object under the lowest free identifier, if there is one. Under the lock.
    fn place(&self, bits: u64) -> Placed {
        let full = self.writers.full.load(Ordering::Relaxed);
        let k = full.trailing_ones() as usize;
        let Some(segment) = self.segments.get(k) else {
            let exhausted = Segment::<H>::first_id(k) >= u64::from(self.limit);
            return if exhausted { Placed::Exhausted } else { Placed::NeedsSegment(k) };
        };
        let index = segment.lowest_free();
        let id = Segment::<H>::first_id(k) + u64::from(index);
        if id >= u64::from(self.limit) {
            return Placed::Exhausted;
        }
        if segment.mark_used(index) {
            self.writers.full.store(full | 1 << k, Ordering::Relaxed);
        }
        self.count(1);
        // Release: pairs with the acquire in `find`; the object is initialised.
        segment.entry(index).store(bits, Ordering::Release);
        Placed::At(id as u32)
    }

    /// Returns the bits of the object of `id`, or 0.
    #[inline(always)]
    fn find(&self, id: u32) -> u64 {
        // Acquire: pairs with the release in `place`.
        self.segments.entry(id).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Looks up identifier `id` and locks its object; `None` if there is none. Waits while another
    /// entry of the object is held.
    ///
    /// A thread may hold any number of objects at once. If it asks again for one that it holds, it
    /// waits for ever.
    ///
    /// Cost, `Rcu`: that of [entering](lockyard::reclaim::Domain::enter), three dependent
    /// loads, the object's lock. `Locked`: the table's lock, two loads, the object's lock.
    ///
    /// Acquire: the caller sees what happened under the object's lock before, and before its
    /// insertion.
    #[inline(always)]
    pub fn lock(&self, id: u32) -> Option<Entry<'_, T, V, H, C>> {
        during::<H, _>(Region::LookUp, || self.look_up(id))
    }

    #[inline(always)]
    fn look_up(&self, id: u32) -> Option<Entry<'_, T, V, H, C>> {
        if V::LOCKS {
            // The table's lock and the object's are taken hand over hand. The guard is around both,
            // so that contexts nest. SAFETY: a thread that frees an object needs the table's lock;
            // the object's own lock keeps it from then on.
            let guard = unsafe { self.domain.assume_entered() };
            let entry = self.with_writers(|| {
                // SAFETY: found under the table's lock, which a thread that frees the object needs.
                unsafe { self.validate(self.find(id), id, None) }
            });
            return entry.map(|entry| entry.inside(guard));
        }
        let guard = self.domain.enter();
        let bits = self.find(id);
        // SAFETY: found inside the guard, of the domain to which removed objects are retired; the
        // entry keeps the guard.
        unsafe { self.validate(bits, id, Some(guard)) }
    }

    /// Locks the object, and checks that it is still in the table.
    ///
    /// # Safety
    ///
    /// The bits are of `id`; the object stays as long as the guard, or until it is locked.
    #[inline(always)]
    unsafe fn validate<'t>(
        &'t self,
        bits: u64,
        id: u32,
        guard: Option<Guard<'t, H, C>>,
    ) -> Option<Entry<'t, T, V, H, C>> {
        // SAFETY: the caller's promise.
        let object = unsafe { Object::at(bits) }?;
        let entry = Entry::acquire(self, object, id, guard);
        entry.is_in_table().then_some(entry)
    }

    /// Takes the object with identifier `id` out of the table; `None` if there is none. Waits while
    /// an entry of it is held. The identifier is free from then on.
    ///
    /// Cost: a look-up, the table's lock, and a retirement (`Rcu`) or a freeing.
    pub fn remove(&self, id: u32) -> Option<T> {
        self.lock(id).map(Entry::remove)
    }
}

impl<T: Send, H: HostWithSlots, C: Context> IdTable<T, Rcu, H, C> {
    /// As [`lock`](Self::lock), inside the caller's guard of the table's [domain](Self::domain). A
    /// guard that is kept, and made [quiescent](Guard::pass_quiescent_state) between look-ups,
    /// saves each look-up its fence.
    ///
    /// # Panics
    ///
    /// If the guard is of another domain.
    #[inline(always)]
    pub fn lock_in<'t>(
        &'t self,
        guard: &'t Guard<'_, H, C>,
        id: u32,
    ) -> Option<Entry<'t, T, Rcu, H, C>> {
        let own = core::ptr::eq(guard.domain(), &self.domain);
        assert!(own, "the guard is not one of the table's domain");
        // SAFETY: found inside the guard, which the entry borrows.
        during::<H, _>(Region::LookUp, || unsafe { self.validate(self.find(id), id, None) })
    }
}
