//! The operations of a table with any keys, and the steps that they share with the table of network
//! connections.

use super::bucket::Look;
use super::entry::NEVER;
use super::held::Held;
use super::look_up::{LookUp, Readers};
use super::table::{BucketOf, Connections, EntryOf};
use crate::memory::AllocationFailed;
use crate::seed::HashOf;
use core::borrow::Borrow;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::mem;
use core::ptr::NonNull;
use lockyard::platform::{Host, Native, Region, during};
use lockyard::{Context, NoContext};

/// A refused insertion, with the key and the value.
#[non_exhaustive]
pub struct NotInserted<
    't,
    K: Send + Sync,
    V: Send + Sync,
    S: Send + Sync,
    P: LookUp<H>,
    H: Host = Native,
    C: Context = NoContext,
> {
    /// The key that was to be inserted.
    pub key: K,
    /// The value that was to be inserted.
    pub value: V,
    /// The table's entry of the key. `None` means that the host has no memory.
    pub there: Option<Held<'t, K, V, S, P, H, C>>,
}

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context> fmt::Display
    for NotInserted<'_, K, V, S, P, H, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.there {
            Some(_) => "the table already has an entry of this key",
            None => "no memory could be allocated for the entry",
        })
    }
}

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context> fmt::Debug
    for NotInserted<'_, K, V, S, P, H, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NotInserted({self})")
    }
}

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context>
    core::error::Error for NotInserted<'_, K, V, S, P, H, C>
{
}

/// An entry that is not in the table yet. Dropping this frees it.
struct Unpublished<K: Send + Sync, V: Send + Sync, P: LookUp<H>, H: Host, C: Context>(
    NonNull<EntryOf<K, V, P, H, C>>,
);

impl<K: Send + Sync, V: Send + Sync, P: LookUp<H>, H: Host, C: Context> Unpublished<K, V, P, H, C> {
    fn entry(&self) -> &EntryOf<K, V, P, H, C> {
        // SAFETY: the entry lives until it is taken.
        unsafe { self.0.as_ref() }
    }

    /// Returns the entry, which the caller has published.
    fn published(self) -> NonNull<EntryOf<K, V, P, H, C>> {
        let entry = self.0;
        mem::forget(self);
        entry
    }

    /// Returns key and value.
    fn take_back(self) -> (K, V) {
        // SAFETY: the entry was not published.
        unsafe { EntryOf::<K, V, P, H, C>::take_back(self.published()) }
    }
}

impl<K: Send + Sync, V: Send + Sync, P: LookUp<H>, H: Host, C: Context> Drop
    for Unpublished<K, V, P, H, C>
{
    fn drop(&mut self) {
        // SAFETY: the entry was not published.
        drop(unsafe { EntryOf::<K, V, P, H, C>::take_back(self.0) });
    }
}

/// An unpublished entry and its bucket.
type Prepared<'t, K, V, P, H, C> = (&'t BucketOf<P, H, C>, Unpublished<K, V, P, H, C>);

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context>
    Connections<K, V, S, P, H, C>
{
    /// Returns the entry of `key`, which `is` must recognise, with a reference. `REPLACED` is true
    /// if the table replaces entries.
    #[inline(always)]
    pub(super) fn find<const REPLACED: bool, Q: ?Sized>(
        &self,
        key: &Q,
        is: impl Fn(&K) -> bool,
    ) -> Option<Held<'_, K, V, S, P, H, C>>
    where
        S: HashOf<Q>,
    {
        let entry = during::<H, _>(Region::LookUp, || {
            let bucket = self.bucket(self.buckets()?, key);
            // SAFETY: the chains of this table have entries of this type, and `reading` keeps them
            // from being freed.
            self.readers.reading(bucket, || unsafe { Self::find_in::<REPLACED>(bucket, is) })
        })?;
        // SAFETY: `find_in` took a reference.
        Some(unsafe { Held::new(self, entry) })
    }

    /// Makes a new entry, not yet published, and finds its bucket. Returns key and value if there
    /// is no memory.
    fn prepare(
        &self,
        key: K,
        value: V,
        deadline: u64,
    ) -> Result<Prepared<'_, K, V, P, H, C>, NotInserted<'_, K, V, S, P, H, C>>
    where
        S: HashOf<K>,
    {
        let no_memory = |(key, value)| NotInserted { key, value, there: None };
        let made = self.buckets().map_or_else(|| self.make_buckets(), Ok);
        let Ok(buckets) = made else { return Err(no_memory((key, value))) };
        let bucket = self.bucket(buckets, &key);
        let new = EntryOf::<K, V, P, H, C>::allocate(key, value, deadline).map_err(no_memory)?;
        Ok((bucket, Unpublished(new)))
    }

    /// Inserts an entry, unless the table has an entry whose key `is` accepts.
    pub(super) fn put<const REPLACED: bool>(
        &self,
        key: K,
        value: V,
        deadline: u64,
        is: impl Fn(&K) -> bool,
    ) -> Result<Held<'_, K, V, S, P, H, C>, NotInserted<'_, K, V, S, P, H, C>>
    where
        S: HashOf<K>,
    {
        let (bucket, new) = self.prepare(key, value, deadline)?;
        self.put_prepared::<REPLACED>(bucket, new, is)
    }

    /// The same as [`put`](Self::put), for an entry and its bucket.
    fn put_prepared<const REPLACED: bool>(
        &self,
        bucket: &BucketOf<P, H, C>,
        new: Unpublished<K, V, P, H, C>,
        is: impl Fn(&K) -> bool,
    ) -> Result<Held<'_, K, V, S, P, H, C>, NotInserted<'_, K, V, S, P, H, C>> {
        let there = bucket.locked(|| {
            // SAFETY: the lock is held. Nothing is removed meanwhile, so nothing is freed.
            let there =
                during::<H, _>(Region::LookUp, || unsafe { Self::find_in::<REPLACED>(bucket, is) });
            if there.is_none() {
                // SAFETY: the lock is held; one of the new entry's two references belongs to the
                // table.
                unsafe { bucket.push(new.0) };
            }
            there
        });
        match there {
            // SAFETY: this is the other reference of the new entry.
            None => Ok(unsafe { Held::new(self, new.published()) }),
            Some(there) => {
                // SAFETY: `find_in` took a reference.
                let there = unsafe { Held::new(self, there) };
                let (key, value) = new.take_back();
                Err(NotInserted { key, value, there: Some(there) })
            }
        }
    }

    /// Inserts an entry that the caller knows to be absent.
    pub(super) fn put_absent(
        &self,
        key: K,
        value: V,
        deadline: u64,
    ) -> Result<Held<'_, K, V, S, P, H, C>, NotInserted<'_, K, V, S, P, H, C>>
    where
        S: HashOf<K>,
    {
        let (bucket, new) = self.prepare(key, value, deadline)?;
        // SAFETY: the lock is held; one of the new entry's two references belongs to the table.
        bucket.locked(|| unsafe { bucket.push(new.0) });
        // SAFETY: this is the other reference.
        Ok(unsafe { Held::new(self, new.published()) })
    }

    /// Removes all entries. Entries that are inserted meanwhile may stay.
    pub fn clear(&self) {
        for bucket in self.all_buckets() {
            self.take_due(bucket, NEVER, drop);
        }
        self.readers.collect();
    }
}

impl<K, V, S, P, H, C> Connections<K, V, S, P, H, C>
where
    K: Hash + Eq + Send + Sync,
    V: Send + Sync,
    S: BuildHasher + Send + Sync,
    P: LookUp<H>,
    H: Host,
    C: Context,
{
    /// Returns the entry of `key`, with a reference that keeps it alive.
    #[inline]
    pub fn get<Q>(&self, key: &Q) -> Option<Held<'_, K, V, S, P, H, C>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.find::<true, Q>(key, |other| other.borrow() == key)
    }

    /// Returns true if the table has an entry of `key`.
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.get(key).is_some()
    }

    /// Inserts an entry that never expires, in the place of the entry of its key, if there is one.
    /// Returns the replaced entry. Cost: one allocation, the bucket's lock, a walk along its chain.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory; the table is unchanged.
    #[inline]
    pub fn insert(
        &self,
        key: K,
        value: V,
    ) -> Result<Option<Held<'_, K, V, S, P, H, C>>, NotInserted<'_, K, V, S, P, H, C>> {
        self.insert_until(key, value, NEVER)
    }

    /// The same as [`insert`](Self::insert), with a deadline in the caller's unit of time: see
    /// [`expire`](Self::expire).
    ///
    /// # Errors
    ///
    /// The same as [`insert`](Self::insert).
    pub fn insert_until(
        &self,
        key: K,
        value: V,
        deadline: u64,
    ) -> Result<Option<Held<'_, K, V, S, P, H, C>>, NotInserted<'_, K, V, S, P, H, C>> {
        let (bucket, new) = self.prepare(key, value, deadline)?;
        let old = bucket.locked(|| {
            let key = new.entry().key();
            // SAFETY: the lock is held. Nothing is removed meanwhile, so nothing is freed.
            let old = unsafe {
                bucket.walk(
                    |other: &EntryOf<K, V, P, H, C>| {
                        if other.key() == key { Look::Found } else { Look::OnInReplaced }
                    },
                )
            };
            // SAFETY: as above. One of the new entry's references belongs to the table.
            unsafe {
                match old {
                    Some(old) => {
                        let removed = || {
                            old.as_ref().take_deadline();
                        };
                        let replaced = bucket.replace(old, new.0, removed);
                        debug_assert!(replaced, "the walk found it");
                    }
                    None => bucket.push(new.0),
                }
            }
            old
        });
        // SAFETY: this is the other reference. It is not used.
        drop(unsafe { Held::new(self, new.published()) });
        // SAFETY: the handle takes over the table's reference.
        Ok(old.map(|old| unsafe { Held::new(self, old) }))
    }

    /// Inserts an entry that never expires, unless the table has one of its key, and returns it.
    ///
    /// # Errors
    ///
    /// Fails if the table has an entry of the key: the error holds that entry. Also fails if there
    /// is no memory. In both cases the error holds key and value.
    #[inline]
    pub fn try_insert(
        &self,
        key: K,
        value: V,
    ) -> Result<Held<'_, K, V, S, P, H, C>, NotInserted<'_, K, V, S, P, H, C>> {
        self.try_insert_until(key, value, NEVER)
    }

    /// The same as [`try_insert`](Self::try_insert), with a deadline in the caller's unit of time:
    /// see [`expire`](Self::expire).
    ///
    /// # Errors
    ///
    /// The same as [`try_insert`](Self::try_insert).
    pub fn try_insert_until(
        &self,
        key: K,
        value: V,
        deadline: u64,
    ) -> Result<Held<'_, K, V, S, P, H, C>, NotInserted<'_, K, V, S, P, H, C>> {
        let (bucket, new) = self.prepare(key, value, deadline)?;
        let entry = new.0;
        // SAFETY: the entry stays until the search is over.
        self.put_prepared::<true>(bucket, new, |other| unsafe { entry.as_ref() }.key() == other)
    }

    /// Returns the entry of `key`, or inserts one with the value that `make` returns. `make` runs
    /// outside all locks. A caller that loses a race gets the winner's entry, and its own value is
    /// dropped.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory for a new entry. Key and value are dropped.
    pub fn get_or_insert_with(
        &self,
        key: K,
        make: impl FnOnce() -> V,
    ) -> Result<Held<'_, K, V, S, P, H, C>, AllocationFailed> {
        match self.get(&key) {
            Some(there) => Ok(there),
            None => self
                .try_insert(key, make())
                .or_else(|refused| refused.there.ok_or(AllocationFailed)),
        }
    }

    /// Replaces the value of `key` by the result of `change`, and returns the new entry; `None` if
    /// there is no entry. The deadline stays. `change` runs outside all locks. It runs again if the
    /// entry was replaced or removed meanwhile, so no change is lost.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory for the new entry; the table is unchanged.
    pub fn update<Q>(
        &self,
        key: &Q,
        mut change: impl FnMut(&V) -> V,
    ) -> Result<Option<Held<'_, K, V, S, P, H, C>>, AllocationFailed>
    where
        K: Borrow<Q> + Clone,
        Q: Hash + Eq + ?Sized,
    {
        while let Some(old) = self.get(key) {
            let prepared = self.prepare(old.key().clone(), change(&old), NEVER);
            let (bucket, new) = prepared.map_err(|_| AllocationFailed)?;
            let move_deadline = || {
                // SAFETY: the handle has a reference to the old entry, which is in the chain, and
                // the new entry is not published.
                unsafe { new.entry().set_deadline(old.entry().take_deadline().unwrap_or(NEVER)) }
            };
            // SAFETY: the lock is held. The new entry has two references, one for the table.
            let replaced =
                bucket.locked(|| unsafe { bucket.replace(old.entry, new.0, move_deadline) });
            if replaced {
                // SAFETY: the table's reference to the old entry, which is given up here, and the
                // other reference to the new one.
                return unsafe {
                    drop(Held::new(self, old.entry));
                    Ok(Some(Held::new(self, new.published())))
                };
            }
        }
        Ok(None)
    }

    /// Removes the entry of `key` from the table. Existing references stay valid. Cost: the
    /// bucket's lock, a walk along its chain.
    pub fn remove<Q>(&self, key: &Q) -> Option<Held<'_, K, V, S, P, H, C>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let bucket = self.bucket(self.buckets()?, key);
        self.take_one(bucket, |entry| entry.key().borrow() == key)
    }

    /// Removes the entry of `key`, if `leaves` returns true for its value. `leaves` runs outside
    /// all locks. It runs again if the entry was replaced meanwhile.
    pub fn remove_if<Q>(
        &self,
        key: &Q,
        mut leaves: impl FnMut(&V) -> bool,
    ) -> Option<Held<'_, K, V, S, P, H, C>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        loop {
            let found = self.get(key)?;
            if !leaves(&found) {
                return None;
            }
            if found.remove() {
                return Some(found);
            }
        }
    }
}

impl<K, V, S, P, H, C> Held<'_, K, V, S, P, H, C>
where
    K: Hash + Eq + Send + Sync,
    V: Send + Sync,
    S: Send + Sync,
    P: LookUp<H>,
    H: Host,
    C: Context,
{
    /// Returns the key.
    pub fn key(&self) -> &K {
        self.entry().key()
    }
}

impl<K, V, S, P, H, C> fmt::Debug for Held<'_, K, V, S, P, H, C>
where
    K: Hash + fmt::Debug + Send + Sync,
    V: fmt::Debug + Send + Sync,
    S: Send + Sync,
    P: LookUp<H>,
    H: Host,
    C: Context,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held")
            .field("key", self.entry().key())
            .field("deadline", &self.deadline())
            .field("value", &**self)
            .finish()
    }
}
