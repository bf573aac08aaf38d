//! Handles: the references that look-ups return.

use super::cache::{BufferCache, EntryOf, Part};
use super::entry::Entry;
use super::index::Index;
use super::key::{CacheKey, Hashes};
use super::place::Place;
use super::switches::{Promote, Switches};
use super::wanted::Wanted;
use core::fmt;
use core::ops::Deref;
use core::ptr::NonNull;
use lockyard::platform::HostWithSlots;
use lockyard::{Context, NoContext};

/// A reference to a buffer. It keeps the buffer alive, even after the buffer has left the cache,
/// and dereferences to the value.
///
/// Cloning and dropping each cost one compare-exchange of the buffer's lockref. Once the buffer has
/// left the cache, the last handle drops the value. A buffer in the cache stays there.
pub struct Buffer<
    'c,
    Q: CacheKey,
    T: Send + Sync,
    B: Hashes<Q>,
    S: Switches<H, Q>,
    H: HostWithSlots,
    C: Context = NoContext,
> {
    cache: &'c BufferCache<Q, T, B, S, H, C>,
    entry: NonNull<EntryOf<Q, T, S, H, C>>,
}

// SAFETY: a handle gives access to `&Q` and `&T`. The last handle drops the `T` in its own thread,
// and any thread may drop the `Q`. Both are `Send` and `Sync`. The rest of an entry consists of
// words.
unsafe impl<
    Q: CacheKey,
    T: Send + Sync,
    B: Hashes<Q>,
    S: Switches<H, Q>,
    H: HostWithSlots,
    C: Context,
> Send for Buffer<'_, Q, T, B, S, H, C>
{
}
// SAFETY: as above.
unsafe impl<
    Q: CacheKey,
    T: Send + Sync,
    B: Hashes<Q>,
    S: Switches<H, Q>,
    H: HostWithSlots,
    C: Context,
> Sync for Buffer<'_, Q, T, B, S, H, C>
{
}

impl<'c, Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    Buffer<'c, Q, T, B, S, H, C>
{
    /// Makes a handle that has a reference. Only the caller may use the handle until it is
    /// [ready](Self::hit).
    ///
    /// # Safety
    ///
    /// The entry must belong to the cache, and the caller must pass on a reference to it.
    #[inline(always)]
    pub(super) unsafe fn new(
        cache: &'c BufferCache<Q, T, B, S, H, C>,
        entry: NonNull<EntryOf<Q, T, S, H, C>>,
    ) -> Self {
        Buffer { cache, entry }
    }

    #[inline(always)]
    pub(super) fn entry(&self) -> &EntryOf<Q, T, S, H, C> {
        // SAFETY: the handle has a reference.
        unsafe { self.entry.as_ref() }
    }

    /// Waits until the buffer is filled; returns true if the filling succeeded.
    #[inline(always)]
    pub(super) fn ready(&self) -> bool {
        // SAFETY: the handle has a reference.
        unsafe { self.entry().ready() }
    }

    /// Waits as [`ready`](Self::ready) does. It then marks the buffer as found, for reclaim, unless
    /// the look-up has already done so.
    #[inline(always)]
    pub(super) fn hit(&self) -> bool {
        if !self.ready() {
            return false;
        }
        if !S::Promote::MOVES {
            // SAFETY: the handle has a reference, and the buffer is ready.
            unsafe { self.entry().set_referenced() };
        } else if !S::Index::LOCKS {
            self.under_lock(|Part { shard, .. }, _| {
                // SAFETY: the shard's lock is held, and the buffer is in the shard's list.
                unsafe { shard.move_to_front(self.entry) };
            });
        }
        true
    }

    /// Runs `f` under the lock of the buffer's shard, if the buffer is in the cache. `f` gets the
    /// shard, the state of all shards, and the wanted key with its hash.
    fn under_lock<R>(
        &self,
        f: impl FnOnce(Part<'_, Q, S, H, C>, &Wanted<'_, Q>) -> R,
    ) -> Option<R> {
        let shards = self.cache.shards()?;
        let wanted = self.cache.wanted_of(self.entry());
        // SAFETY: published shards live as long as the cache.
        let part = unsafe { self.cache.part(shards, &wanted) };
        part.shard.locked(|| {
            // SAFETY: the handle has a reference.
            let cached = unsafe { self.entry().is_cached() };
            cached.then(|| f(part, &wanted))
        })
    }

    /// Returns the key of the buffer, which says where its contents come from.
    pub fn key(&self) -> &Q {
        self.entry().key()
    }

    /// Returns true if the buffer is in the cache. A snapshot.
    pub fn is_cached(&self) -> bool {
        // SAFETY: the handle has a reference.
        unsafe { self.entry().is_cached() }
    }

    /// Removes this buffer from the cache. Returns true if this call removed it, and false if
    /// another removal or reclaim was first. The handle stays valid. Cost: the shard's lock.
    pub fn remove(&self) -> bool {
        let removed = self.under_lock(|part, wanted| {
            // SAFETY: the shard's lock is held, and the buffer is in the index and in the list.
            unsafe { BufferCache::<Q, T, B, S, H, C>::take_out(part, wanted, self.entry) };
        });
        if removed.is_some() {
            let last = self.entry().put();
            debug_assert!(!last, "the handle has a reference");
        }
        removed.is_some()
    }
}

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    Deref for Buffer<'_, Q, T, B, S, H, C>
{
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the handle has a reference while the returned value is used. The cache returns
        // only handles that are ready.
        unsafe { self.entry().value() }
    }
}

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    Clone for Buffer<'_, Q, T, B, S, H, C>
{
    fn clone(&self) -> Self {
        self.entry().get_another();
        Buffer { cache: self.cache, entry: self.entry }
    }
}

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    Drop for Buffer<'_, Q, T, B, S, H, C>
{
    #[inline]
    fn drop(&mut self) {
        if self.entry().put() {
            // SAFETY: the last reference is gone. The cache gave up its own reference after it
            // removed the buffer from the index.
            drop(unsafe { Dead::new(self.cache, self.entry) });
        }
    }
}

impl<Q, T, B, S, H, C> fmt::Debug for Buffer<'_, Q, T, B, S, H, C>
where
    Q: CacheKey + fmt::Debug,
    T: Send + Sync + fmt::Debug,
    B: Hashes<Q>,
    S: Switches<H, Q>,
    H: HostWithSlots,
    C: Context,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("key", self.key())
            .field("cached", &self.is_cached())
            .field("value", &**self)
            .finish()
    }
}

/// A buffer that has no references and is in no index. Dropping it drops the value. The memory is
/// freed when no look-up can reach it.
pub(super) struct Dead<
    'c,
    Q: CacheKey,
    T: Send + Sync,
    B: Hashes<Q>,
    S: Switches<H, Q>,
    H: HostWithSlots,
    C: Context,
> {
    cache: &'c BufferCache<Q, T, B, S, H, C>,
    entry: NonNull<EntryOf<Q, T, S, H, C>>,
    /// The buffer's place within the limit.
    place: Option<Place<'c, Q, T, B, S, H, C>>,
}

impl<'c, Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    Dead<'c, Q, T, B, S, H, C>
{
    /// # Safety
    ///
    /// The buffer must have no references and must be in no index. This must be its only `Dead`.
    pub(super) unsafe fn new(
        cache: &'c BufferCache<Q, T, B, S, H, C>,
        entry: NonNull<EntryOf<Q, T, S, H, C>>,
    ) -> Self {
        Dead { cache, entry, place: Some(Place(cache)) }
    }

    /// Takes the buffer's place for a new buffer.
    pub(super) fn take_place(&mut self) -> Option<Place<'c, Q, T, B, S, H, C>> {
        self.place.take()
    }
}

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    Drop for Dead<'_, Q, T, B, S, H, C>
{
    #[inline(never)]
    fn drop(&mut self) {
        let cache = self.cache;
        let place = self.place.take();
        // SAFETY: no thread has a reference, and none can be taken. `free` is called once: by the
        // domain, or here.
        unsafe {
            Entry::destroy(self.entry, |tail| {
                drop(place);
                if S::Index::LOCKS {
                    // Look-ups hold the shard's lock. The buffer was removed under that lock, so no
                    // look-up is at the buffer.
                    EntryOf::<Q, T, S, H, C>::free(tail);
                } else {
                    // The buffer was removed under the shard's lock. After that its last reference
                    // was dropped, or taken under that lock. All look-ups without the lock enter
                    // this domain. Freeing the buffer touches its memory and its key, as its value
                    // is gone. The key may be sent to any thread, and everything that the key
                    // borrows outlives the cache. So any thread may free the buffer at any time
                    // before the domain, which the cache owns, is dropped.
                    cache.domain.retire(tail, EntryOf::<Q, T, S, H, C>::free);
                }
            });
        }
    }
}
