//! Reading in place: a look-up that takes no reference, and iteration.
//!
//! A reader is inside the table's reclamation domain. Until it leaves, no entry that it may find is
//! freed, and neither is its value ([`InPlace`]).

use super::bucket::Look;
use super::look_up::InPlace;
use super::table::{BucketOf, Connections, EntryOf};
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::ptr::NonNull;
use lockyard::lock::LaneLock;
use lockyard::platform::HostWithSlots;
use lockyard::reclaim::Guard;
use lockyard::{Context, FourBytes, NoContext};

/// An entry and its bucket.
type Place<'t, K, V, L, H, C> =
    (&'t BucketOf<InPlace<L>, H, C>, NonNull<EntryOf<K, V, InPlace<L>, H, C>>);

/// A reader of a table: look-ups through it take no reference and write nothing. It stays on its
/// thread. While it exists, no entry that leaves the table is freed, so drop it before the thread
/// blocks, or [pass a quiescent state](Self::pass_quiescent_state) now and then.
#[must_use = "if unused the table is left at once"]
pub struct Reader<
    't,
    K: Send + Sync,
    V: Send + Sync,
    S: Send + Sync,
    L: LaneLock<H, Width = FourBytes>,
    H: HostWithSlots,
    C: Context = NoContext,
> {
    table: &'t Connections<K, V, S, InPlace<L>, H, C>,
    guard: Guard<'t, H, C>,
}

impl<K, V, S, L, H, C> Connections<K, V, S, InPlace<L>, H, C>
where
    K: Send + Sync,
    V: Send + Sync,
    S: Send + Sync,
    L: LaneLock<H, Width = FourBytes>,
    H: HostWithSlots,
    C: Context,
{
    /// Makes a reader. Cost: one store and a fence.
    #[inline]
    pub fn reader(&self) -> Reader<'_, K, V, S, L, H, C> {
        Reader { table: self, guard: self.readers.0.enter() }
    }
}

impl<K, V, S, L, H, C> Connections<K, V, S, InPlace<L>, H, C>
where
    K: Hash + Eq + Send + Sync,
    V: Send + Sync,
    S: BuildHasher + Send + Sync,
    L: LaneLock<H, Width = FourBytes>,
    H: HostWithSlots,
    C: Context,
{
    /// Calls `read` with the value of `key`, and returns its result; `None` if there is no entry.
    /// Takes no reference: the value is read in place, inside a [reader](Self::reader).
    #[inline]
    pub fn read<Q, R>(&self, key: &Q, read: impl FnOnce(&V) -> R) -> Option<R>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        // This code does not use a `Reader`, which would put the guard into memory.
        let _guard = self.readers.0.enter();
        // SAFETY: the guard keeps the chain's entries, and their values, from being freed.
        unsafe { self.peek(key).map(|found| read(found.as_ref().value())) }
    }

    /// Returns the entry of `key`, without a reference.
    ///
    /// # Safety
    ///
    /// The caller must be inside the domain, and must stay there while it uses the entry.
    #[inline(always)]
    unsafe fn peek<Q>(&self, key: &Q) -> Option<NonNull<EntryOf<K, V, InPlace<L>, H, C>>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let bucket = self.bucket(self.buckets()?, key);
        let look = |entry: &EntryOf<K, V, InPlace<L>, H, C>| {
            if entry.key().borrow() == key { Look::Found } else { Look::OnInReplaced }
        };
        // SAFETY: the chain has entries of this type, and the caller keeps them from being freed.
        unsafe { bucket.walk(look) }
    }

    /// Removes the entries for which `stays` returns false. `stays` runs outside all locks, and may
    /// use the table. An entry that is inserted meanwhile may be passed over.
    pub fn retain(&self, mut stays: impl FnMut(&K, &V) -> bool) {
        let reader = self.reader();
        for (bucket, found) in reader.entries() {
            // SAFETY: the reader keeps the entry.
            let (key, value) = unsafe { (found.as_ref().key(), found.as_ref().value()) };
            if !stays(key, value) {
                drop(self.take_one(bucket, |entry| NonNull::from(entry) == found));
            }
        }
    }
}

impl<'t, K, V, S, L, H, C> Reader<'t, K, V, S, L, H, C>
where
    K: Send + Sync,
    V: Send + Sync,
    S: Send + Sync,
    L: LaneLock<H, Width = FourBytes>,
    H: HostWithSlots,
    C: Context,
{
    /// Returns the value of `key`.
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Hash + Eq + Borrow<Q>,
        Q: Hash + Eq + ?Sized,
        S: BuildHasher,
    {
        // SAFETY: the guard keeps the entry with its value.
        unsafe { self.table.peek(key).map(|found| found.as_ref().value()) }
    }

    /// Returns each entry that is in the table during the whole iteration, once, in no particular
    /// order, and some of the entries that come and go.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        // SAFETY: the guard keeps the entries with their keys and values.
        self.entries().map(|(_, at)| unsafe { (at.as_ref().key(), at.as_ref().value()) })
    }

    fn entries(&self) -> impl Iterator<Item = Place<'t, K, V, L, H, C>> {
        self.table.all_buckets().flat_map(|bucket| {
            // SAFETY: the chain has entries of this type, and the guard keeps them from being
            // freed.
            let first = unsafe { bucket.first_entry() };
            // SAFETY: as above, and a chain leads to its entries.
            let chain = core::iter::successors(first, |at| unsafe { at.as_ref() }.next_entry());
            chain.map(move |at| (bucket, at))
        })
    }

    /// Passes a quiescent state: no reference from this reader is used any more (the compiler
    /// ensures that), and the reader continues as if it were made now. See
    /// [`Guard::pass_quiescent_state`].
    #[inline]
    pub fn pass_quiescent_state(&mut self) {
        self.guard.pass_quiescent_state();
    }
}

impl<K, V, S, L, H, C> fmt::Debug for Reader<'_, K, V, S, L, H, C>
where
    K: Send + Sync,
    V: Send + Sync,
    S: Send + Sync,
    L: LaneLock<H, Width = FourBytes>,
    H: HostWithSlots,
    C: Context,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("guard", &self.guard).finish_non_exhaustive()
    }
}
