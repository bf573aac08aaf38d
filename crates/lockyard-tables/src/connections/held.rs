//! Handles: the references that look-ups return.

use super::look_up::{LookUp, Readers};
use super::table::{Connections, EntryOf, ReadersOf};
use crate::seed::HashOf;
use core::ops::Deref;
use core::ptr::NonNull;
use lockyard::platform::{Host, Native};
use lockyard::{Context, NoContext};

/// A reference to an entry of a [`Connections`]. It keeps the entry alive, even after the entry has
/// left the table, and dereferences to the value.
///
/// Cloning and dropping each cost one read-modify-write of the entry's reference count. Once the
/// entry has left the table, the last handle drops the value; with [`InPlace`](super::InPlace) the
/// value also waits for look-ups.
pub struct Held<
    't,
    K: Send + Sync,
    V: Send + Sync,
    S: Send + Sync,
    P: LookUp<H>,
    H: Host = Native,
    C: Context = NoContext,
> {
    pub(super) table: &'t Connections<K, V, S, P, H, C>,
    pub(super) entry: NonNull<EntryOf<K, V, P, H, C>>,
}

// SAFETY: a handle gives access to `&K` and `&V`, and the last handle drops them in its own thread,
// or leaves them to another thread. Both are `Send` and `Sync`. The rest of an entry consists of
// words.
unsafe impl<K, V, S, P, H, C> Send for Held<'_, K, V, S, P, H, C>
where
    K: Send + Sync,
    V: Send + Sync,
    S: Send + Sync,
    P: LookUp<H>,
    H: Host,
    C: Context,
{
}
// SAFETY: as above.
unsafe impl<K, V, S, P, H, C> Sync for Held<'_, K, V, S, P, H, C>
where
    K: Send + Sync,
    V: Send + Sync,
    S: Send + Sync,
    P: LookUp<H>,
    H: Host,
    C: Context,
{
}

impl<'t, K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context>
    Held<'t, K, V, S, P, H, C>
{
    /// Makes a handle from a reference.
    ///
    /// # Safety
    ///
    /// The entry must belong to the table, and the caller must pass on a reference to it.
    #[inline(always)]
    pub(super) unsafe fn new(
        table: &'t Connections<K, V, S, P, H, C>,
        entry: NonNull<EntryOf<K, V, P, H, C>>,
    ) -> Self {
        Held { table, entry }
    }

    #[inline(always)]
    pub(super) fn entry(&self) -> &EntryOf<K, V, P, H, C> {
        // SAFETY: the handle has a reference.
        unsafe { self.entry.as_ref() }
    }

    /// Returns the deadline; `None` if the entry was removed from the table. A snapshot.
    pub fn deadline(&self) -> Option<u64> {
        // SAFETY: the handle has a reference.
        unsafe { self.entry().deadline() }
    }

    /// Moves the deadline to `until`, unless it is already later. Returns true if the entry is in
    /// the table. It then stays there until the deadline, unless it is removed. Cost: a load, and a
    /// read-modify-write if the deadline moves.
    #[inline]
    pub fn renew(&self, until: u64) -> bool {
        // SAFETY: the handle has a reference.
        unsafe { self.entry().renew(until) }
    }

    /// Removes the entry from the table. Returns true if this call removed it, and false if another
    /// removal or expiry was first. The handle stays valid.
    pub fn remove(&self) -> bool
    where
        S: HashOf<K>,
    {
        let (Some(buckets), Some(_)) = (self.table.buckets(), self.deadline()) else {
            return false;
        };
        let bucket = self.table.bucket(buckets, self.entry().key());
        self.table.take_one(bucket, |entry| NonNull::from(entry) == self.entry).is_some()
    }
}

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context> Deref
    for Held<'_, K, V, S, P, H, C>
{
    type Target = V;
    #[inline]
    fn deref(&self) -> &V {
        // SAFETY: the handle has a reference while the returned value is used.
        unsafe { self.entry().value() }
    }
}

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context> Clone
    for Held<'_, K, V, S, P, H, C>
{
    fn clone(&self) -> Self {
        self.entry().references.get();
        Held { table: self.table, entry: self.entry }
    }
}

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context> Drop
    for Held<'_, K, V, S, P, H, C>
{
    #[inline]
    fn drop(&mut self) {
        if self.entry().references.put() {
            destroy(self.table, self.entry);
        }
    }
}

/// Frees an entry whose last reference is gone.
#[cold]
fn destroy<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context>(
    table: &Connections<K, V, S, P, H, C>,
    entry: NonNull<EntryOf<K, V, P, H, C>>,
) {
    // SAFETY: no thread has a reference, and none can be taken. The entry is in no chain: the table
    // removed the entry before it gave up its own reference. `free` is called once, by `retire`.
    unsafe {
        EntryOf::<K, V, P, H, C>::destroy(entry, ReadersOf::<P, H, C>::deferred(), |deferred| {
            table.readers.retire(deferred, EntryOf::<K, V, P, H, C>::free);
        });
    }
}
