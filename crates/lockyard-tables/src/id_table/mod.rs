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
//! table's own [`Domain`], and outlives everyone who looked for it before it was removed. With
//! `Locked` a thread that waits for an object holds the table's lock, which the remover needs.
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
mod segments;

pub use entry::Entry;
pub use segments::MAX_IDS;

use crate::memory::Invariant;
use core::fmt;
use core::marker::PhantomData;
use entry::Object;
use lock_api::RawMutex;
use lockyard::lock::Queued;
use lockyard::platform::{ConstAtomics, HostWithSlots, Ordering, Region, U64, Word, during};
use lockyard::reclaim::{Domain, Guard, Owned};
use lockyard::{Context, NoContext, RawSpinLock};
use segments::{Segment, Segments};

/// The way in which look-ups are kept from objects that are removed meanwhile. Sealed: [`Rcu`] or
/// [`Locked`].
pub trait Variant: sealed::Sealed + 'static {
    /// Its name in tables.
    const NAME: &'static str;
    /// True if look-ups take the table's lock.
    const LOCKS: bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Rcu {}
    impl Sealed for super::Locked {}
}

/// Look-ups take no lock of the table.
#[derive(Debug)]
pub struct Rcu;

impl Variant for Rcu {
    const NAME: &'static str = "rcu";
    const LOCKS: bool = false;
}

/// One spinlock for all. To compare with.
#[derive(Debug)]
pub struct Locked;

impl Variant for Locked {
    const NAME: &'static str = "locked";
    const LOCKS: bool = true;
}

/// The reason why an object was not inserted, with the object.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError<T> {
    /// No identifier below the limit is free.
    Exhausted(T),
    /// The host has no memory.
    OutOfMemory(T),
}

impl<T> InsertError<T> {
    /// The object.
    pub fn into_inner(self) -> T {
        match self {
            InsertError::Exhausted(value) | InsertError::OutOfMemory(value) => value,
        }
    }
}

impl<T> fmt::Display for InsertError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InsertError::Exhausted(_) => "no identifier is free",
            InsertError::OutOfMemory(_) => "the host has no memory",
        })
    }
}

impl<T> fmt::Debug for InsertError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InsertError::Exhausted(_) => "Exhausted(..)",
            InsertError::OutOfMemory(_) => "OutOfMemory(..)",
        })
    }
}

impl<T> core::error::Error for InsertError<T> {}

/// The lock of a table, and of an object.
type Lock<H, C> = RawSpinLock<Queued, H, C>;

/// Identifiers for objects. See the [module](self).
///
/// `C` is what the table's lock, the objects' locks and the guards of its domain switch off while
/// they are held. In a look-up those of the guard and of the object nest, and both are left when
/// the [`Entry`] is dropped.
#[repr(C)]
pub struct IdTable<T: Send, V: Variant, H: HostWithSlots, C: Context = NoContext> {
    /// Readers, and the memory of removed objects. (`Locked` does not use it.)
    domain: Domain<H, C>,
    /// The objects; read by look-ups, changed under the lock.
    segments: Segments<H>,
    /// Identifiers are below this.
    limit: u32,
    writers: Writers<H, C>,
    _variant: Invariant<V>,
    _objects: PhantomData<Owned<Object<T, H, C>, H>>,
}

/// State of insertion and removal. In a line of its own, so that look-ups do not lose theirs.
#[repr(C, align(64))]
struct Writers<H: HostWithSlots, C: Context> {
    lock: Lock<H, C>,
    /// A set bit is a segment without a free identifier. Used under the lock.
    full: U64<H>,
    /// Number of objects. Changed under the lock.
    len: U64<H>,
}

impl<T: Send, V: Variant, H: HostWithSlots<Atomics: ConstAtomics>, C: Context> IdTable<T, V, H, C> {
    /// Returns an empty table for up to [`MAX_IDS`] identifiers; for statics too. Where the
    /// platform has no constants use [`IdTable::default`].
    pub const fn new() -> Self {
        Self::with_limit(MAX_IDS)
    }

    /// Returns an empty table for identifiers below `limit` (and below [`MAX_IDS`]).
    pub const fn with_limit(limit: u32) -> Self {
        IdTable {
            domain: Domain::new(),
            segments: Segments::NONE,
            limit: if limit < MAX_IDS { limit } else { MAX_IDS },
            writers: Writers {
                lock: <Lock<H, C> as RawMutex>::INIT,
                full: <H::Atomics as ConstAtomics>::U64_ZERO,
                len: <H::Atomics as ConstAtomics>::U64_ZERO,
            },
            _variant: PhantomData,
            _objects: PhantomData,
        }
    }
}

impl<T: Send, V: Variant, H: HostWithSlots, C: Context> Default for IdTable<T, V, H, C> {
    fn default() -> Self {
        IdTable {
            domain: Domain::default(),
            segments: Segments::new(),
            limit: MAX_IDS,
            writers: Writers { lock: Lock::<H, C>::new(), full: Word::new(0), len: Word::new(0) },
            _variant: PhantomData,
            _objects: PhantomData,
        }
    }
}

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

    /// Runs `body` with the table's lock. It must not panic.
    fn with_writers<R>(&self, body: impl FnOnce() -> R) -> R {
        let held = self.writers.lock.acquire();
        let result = body();
        // SAFETY: acquired above.
        unsafe { self.writers.lock.release(held) };
        result
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

    /// Under the lock.
    fn count(&self, difference: i64) {
        let len = self.writers.len.load(Ordering::Relaxed);
        self.writers.len.store(len.wrapping_add_signed(difference), Ordering::Relaxed);
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
    /// Cost, `Rcu`: that of [entering](Domain::enter), three dependent loads, the object's lock.
    /// `Locked`: the table's lock, two loads, the object's lock.
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

    /// Clears the object's word in the table and frees its identifier; returns its bits.
    fn forget(&self, id: u32) -> u64 {
        self.with_writers(|| {
            let (k, index) = Segment::<H>::place_of(id);
            let Some(segment) = self.segments.get(k) else { return 0 };
            let word = segment.entry(index);
            // Relaxed, both: under the lock; that readers miss it is the domain's affair.
            let bits = word.load(Ordering::Relaxed);
            word.store(0, Ordering::Relaxed);
            segment.mark_free(index);
            let full = self.writers.full.load(Ordering::Relaxed);
            self.writers.full.store(full & !(1 << k), Ordering::Relaxed);
            self.count(-1);
            bits
        })
    }

    /// Number of objects. A snapshot.
    pub fn len(&self) -> usize {
        self.writers.len.load(Ordering::Relaxed) as usize
    }

    /// Returns true if there are no objects. A snapshot.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bound that all identifiers are below.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// The domain to which removed objects are retired.
    pub fn domain(&self) -> &Domain<H, C> {
        &self.domain
    }

    /// Bytes of the table's segments, without objects and without the records of [the
    /// domain](Self::domain).
    pub fn table_bytes(&self) -> usize {
        self.segments.bytes()
    }

    /// Bytes of one object, as allocated.
    pub const fn object_bytes() -> usize {
        Owned::<Object<T, H, C>, H>::BYTES
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

impl<T: Send, V: Variant, H: HostWithSlots, C: Context> Drop for IdTable<T, V, H, C> {
    fn drop(&mut self) {
        struct Finish<'t, T: Send, H: HostWithSlots, C: Context>(
            &'t mut Segments<H>,
            PhantomData<(T, C)>,
        );
        impl<T: Send, H: HostWithSlots, C: Context> Drop for Finish<'_, T, H, C> {
            fn drop(&mut self) {
                // Drops what a panic in an object's destructor has left.
                // SAFETY: the table is being dropped: nobody else has its objects.
                self.0.drain(|bits| unsafe { Object::<T, H, C>::free(bits) });
                self.0.free();
            }
        }
        let finish = Finish::<T, H, C>(&mut self.segments, PhantomData);
        // SAFETY: as above.
        finish.0.drain(|bits| unsafe { Object::<T, H, C>::free(bits) });
    }
}

impl<T: Send, V: Variant, H: HostWithSlots, C: Context> fmt::Debug for IdTable<T, V, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdTable").field("variant", &V::NAME).field("len", &self.len()).finish()
    }
}
