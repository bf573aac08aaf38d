//! The table itself: its memory from creation to drop, and the state that changes under its lock.

use super::object::{Lock, Object};
use super::segments::{MAX_IDS, Segment, Segments};
use super::variant::Variant;
use crate::memory::Invariant;
use core::fmt;
use core::marker::PhantomData;
use lock_api::RawMutex;
use lockyard::platform::{ConstAtomics, HostWithSlots, Ordering, U64, Word};
use lockyard::reclaim::{Domain, Owned};
use lockyard::{Context, NoContext};

/// Identifiers for objects. See the [module](super).
///
/// `C` is the context that is switched off while the table's lock, an object's lock or a guard of
/// its domain is held. In a look-up the guard's context and the object's context nest. Both are
/// left when the [`Entry`](super::Entry) is dropped.
#[repr(C)]
pub struct IdTable<T: Send, V: Variant, H: HostWithSlots, C: Context = NoContext> {
    /// The domain of readers and of removed objects' memory. (`Locked` does not use it.)
    pub(super) domain: Domain<H, C>,
    /// The segments of objects; read by look-ups, changed under the lock.
    pub(super) segments: Segments<H>,
    /// Exclusive upper bound of the identifiers.
    pub(super) limit: u32,
    pub(super) writers: Writers<H, C>,
    _variant: Invariant<V>,
    _objects: PhantomData<Owned<Object<T, H, C>, H>>,
}

/// State of insertion and removal. It has its own cache line, so that changes do not take look-ups'
/// lines away.
#[repr(C, align(64))]
pub(super) struct Writers<H: HostWithSlots, C: Context> {
    lock: Lock<H, C>,
    /// Each set bit is a segment without a free identifier. Accessed under the lock.
    pub(super) full: U64<H>,
    /// Number of objects. Changed under the lock.
    len: U64<H>,
}

impl<T: Send, V: Variant, H: HostWithSlots<Atomics: ConstAtomics>, C: Context> IdTable<T, V, H, C> {
    /// Returns an empty table for up to [`MAX_IDS`] identifiers; also works in statics. On
    /// platforms without constants use [`IdTable::default`].
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

impl<T: Send, V: Variant, H: HostWithSlots, C: Context> IdTable<T, V, H, C> {
    /// Runs `body` under the table's lock. `body` must not panic.
    pub(super) fn with_writers<R>(&self, body: impl FnOnce() -> R) -> R {
        let held = self.writers.lock.acquire();
        let result = body();
        // SAFETY: acquired above.
        unsafe { self.writers.lock.release(held) };
        result
    }

    /// Under the lock.
    pub(super) fn count(&self, difference: i64) {
        let len = self.writers.len.load(Ordering::Relaxed);
        self.writers.len.store(len.wrapping_add_signed(difference), Ordering::Relaxed);
    }

    /// Clears the object's word in the table and frees its identifier; returns its bits.
    pub(super) fn forget(&self, id: u32) -> u64 {
        self.with_writers(|| {
            let (k, index) = Segment::<H>::place_of(id);
            let Some(segment) = self.segments.get(k) else { return 0 };
            let word = segment.entry(index);
            // Both relaxed: the lock is held, and the domain covers readers that miss the change.
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

    /// Returns the exclusive upper bound of all identifiers.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Returns the domain to which removed objects are retired.
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

impl<T: Send, V: Variant, H: HostWithSlots, C: Context> Drop for IdTable<T, V, H, C> {
    fn drop(&mut self) {
        struct Finish<'t, T: Send, H: HostWithSlots, C: Context>(
            &'t mut Segments<H>,
            PhantomData<(T, C)>,
        );
        impl<T: Send, H: HostWithSlots, C: Context> Drop for Finish<'_, T, H, C> {
            fn drop(&mut self) {
                // Drops the objects that remain after a panic in a destructor. SAFETY: the table is
                // being dropped: no other thread has its objects.
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
