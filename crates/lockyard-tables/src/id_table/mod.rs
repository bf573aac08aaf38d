//! Identifier table: small integers that name objects, as a kernel uses for timers, files and
//! processes.
//!
//! [`insert`](IdTable::insert) gives an object the lowest free identifier. [`lock`](IdTable::lock)
//! looks an identifier up and takes the lock of its object. [`remove`](IdTable::remove) removes the
//! object, which frees its identifier.
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
//! - **[`Rcu`], the default**: takes no lock of the table. It
//!   [enters](lockyard::reclaim::Domain::enter), reads two pointers, takes the object's lock, and
//!   checks that the object is still in the table.
//! - **[`Locked`]**: takes the table's only spinlock, finds the object, takes its lock, and
//!   releases the table's lock.
//!
//! `Locked` is the earlier design, and `Rcu` the later design. With `Locked` every look-up moves
//! the line of the table's lock to its CPU, and look-ups wait for each other. With `Rcu`, look-ups
//! of different objects share only memory that no thread writes. Both take the table's lock for
//! insertion and removal.
//!
//! An object is not freed while a thread that found it still uses it. With `Rcu` its memory is
//! retired to the table's own [`Domain`](lockyard::reclaim::Domain), and outlives every look-up
//! that began before the removal. With `Locked` a thread that waits for an object holds the table's
//! lock, which the remover needs.
//!
//! # Faults
//!
//! - **No identifier below the [limit](IdTable::with_limit) is free**: [`InsertError::Exhausted`],
//!   with the object; the table is unchanged.
//! - **No memory, for the object or for the table's growth**: [`InsertError::OutOfMemory`], with
//!   the object; the table is unchanged. Look-up and removal need no memory.
//! - **A panic while an [`Entry`] is held**: the object's lock is released. The object stays in the
//!   table as the panic left it: there is no poisoning.
//! - **A panic in an object's destructor**: only the caller's code drops objects, outside all
//!   locks. If it happens while the table is dropped, the other objects are still dropped.
//! - **A thread that holds an `Entry` and calls the same table**: with `Rcu` this is allowed, but
//!   the thread waits for ever for an object that it holds itself. With `Locked` it may wait for
//!   ever.
//! - **A reader that never leaves the table's domain**: look-ups, insertions and removals continue.
//!   The memory of removed objects is not freed (the objects themselves are returned by
//!   [`remove`](IdTable::remove)): see [reclamation](lockyard::reclaim).
//!
//! # Memory
//!
//! Entries are in segments of 16, 32, 64, ... identifiers. Segments never move and are kept until
//! the table is dropped. A segment takes 8.13 bytes per identifier, even for the unused identifiers
//! of the last segment. Each object takes 32 more bytes for the lock, the state and the header of
//! reclamation ([`object_bytes`](IdTable::object_bytes) includes them). With a million objects of 8
//! bytes, `tests/it/id_table.rs` measures 56.5 bytes for each, of which 8.5 belong to the table.
//!
//! The lowest free identifier is always used next. A table under churn therefore stays as large as
//! at its fullest moment. With `Rcu`, up to 192 removed objects per slot also wait for readers to
//! leave.

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

/// Result of an attempt to place an object.
enum Placed {
    At(u32),
    Exhausted,
    NeedsSegment(usize),
}

impl<T: Send, V: Variant, H: HostWithSlots, C: Context> IdTable<T, V, H, C> {
    /// Gives `value` the lowest free identifier.
    ///
    /// Cost: an allocation, the table's lock, and about one line for each level of the bitmap. Each
    /// level covers 64 times as many identifiers as the level below. Occasionally a segment is
    /// allocated, outside the lock.
    ///
    /// Release: a thread that [locks](Self::lock) the identifier sees everything that happened
    /// before the insertion.
    ///
    /// # Errors
    ///
    /// Fails if no identifier is free, or if there is no memory. The error holds the value, and the
    /// table is unchanged.
    pub fn insert(&self, value: T) -> Result<u32, InsertError<T>> {
        let object = match Owned::<Object<T, H, C>, H>::allocate(Object::new(value), None) {
            Ok(object) => object,
            Err(object) => return Err(InsertError::OutOfMemory(object.into_value())),
        };
        let bits = object.into_bits();
        // SAFETY: made above, and turned back into the object only if it was not published.
        let take_back = || unsafe { Object::<T, H, C>::value_of_bits(bits) };
        loop {
            match self.with_writers(|| self.place(bits)) {
                Placed::At(id) => return Ok(id),
                Placed::Exhausted => return Err(InsertError::Exhausted(take_back())),
                Placed::NeedsSegment(k) => {
                    let Some(segment) = Segment::allocate(k) else {
                        return Err(InsertError::OutOfMemory(take_back()));
                    };
                    // SAFETY: the lock is held.
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

    /// Looks up identifier `id` and locks its object. Returns `None` if there is no such object.
    /// Waits while another entry of the object is held.
    ///
    /// A thread may hold any number of objects at a time. If it locks one that it already holds, it
    /// waits for ever.
    ///
    /// Cost with `Rcu`: [entering](lockyard::reclaim::Domain::enter), three dependent loads, the
    /// object's lock. Cost with `Locked`: the table's lock, two loads, the object's lock.
    ///
    /// Acquire: the caller sees everything that was done under the object's lock earlier, and
    /// everything before the object's insertion.
    #[inline(always)]
    pub fn lock(&self, id: u32) -> Option<Entry<'_, T, V, H, C>> {
        during::<H, _>(Region::LookUp, || self.look_up(id))
    }

    #[inline(always)]
    fn look_up(&self, id: u32) -> Option<Entry<'_, T, V, H, C>> {
        if V::LOCKS {
            // The table's lock and the object's lock are taken hand over hand. The guard encloses
            // both, so that their profiling contexts nest.
            //
            // SAFETY: a thread that frees an object needs the table's lock. Once this thread holds
            // the object's own lock, that lock keeps the object alive.
            let guard = unsafe { self.domain.assume_entered() };
            let entry = self.with_writers(|| {
                // SAFETY: found under the table's lock, which any thread needs to free the object.
                unsafe { self.validate(self.find(id), id, None) }
            });
            return entry.map(|entry| entry.inside(guard));
        }
        let guard = self.domain.enter();
        let bits = self.find(id);
        // SAFETY: found inside a guard of the domain to which removed objects are retired; the
        // entry keeps the guard.
        unsafe { self.validate(bits, id, Some(guard)) }
    }

    /// Locks the object, and checks that it is still in the table.
    ///
    /// # Safety
    ///
    /// The bits must be the bits of `id`. The object must live as long as the guard, or until it is
    /// locked.
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

    /// Removes the object with identifier `id` from the table; `None` if there is none. Waits while
    /// an entry of the object is held. The identifier is free afterwards.
    ///
    /// Cost: a look-up, the table's lock, and a retirement (`Rcu`) or a call to free memory.
    pub fn remove(&self, id: u32) -> Option<T> {
        self.lock(id).map(Entry::remove)
    }
}

impl<T: Send, H: HostWithSlots, C: Context> IdTable<T, Rcu, H, C> {
    /// The same as [`lock`](Self::lock), inside the caller's guard of the table's
    /// [domain](Self::domain). A caller can keep the guard and make it
    /// [quiescent](Guard::pass_quiescent_state) between look-ups. This saves each look-up its
    /// fence.
    ///
    /// # Panics
    ///
    /// Panics if the guard belongs to another domain.
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
