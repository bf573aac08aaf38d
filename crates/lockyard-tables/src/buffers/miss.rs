//! A miss: memory for the absent buffer, a place within the limit, insertion, and filling.
//!
//! The thread that inserts a buffer fills it. With [`Outside`](super::Outside) the buffer is in the
//! index before it has its value. Other threads that want the buffer find it there and wait, and do
//! not fill it. Threads that want other buffers do not wait. If filling fails, by an error or a
//! panic, the buffer is removed first, and then its waiters are woken. Each waiter starts over. By
//! then it finds a buffer that another thread is filling, or it fills one itself.

use super::buffer::Buffer;
use super::cache::{BufferCache, EntryOf, Part, ShardsOf};
use super::index::Index;
use super::key::{CacheKey, Hashes};
use super::place::Place;
use super::switches::{Allocate, Initialise, Switches};
use super::wanted::Wanted;
use crate::memory::AllocationFailed;
use core::fmt;
use core::mem;
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::platform::{HostWithSlots, Ordering, Region, Word, during};

/// Maximum number of buffers that one miss reclaims while there are more than the limit.
const ROOM: u64 = 16;

/// The reason why there is no buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GetError<E> {
    /// The host has no memory for the buffer, or for the cache. The cache is unchanged.
    NoMemory,
    /// The cache has its maximum number of buffers, and all are referenced. The cache is unchanged.
    Full,
    /// The caller's function failed with this error.
    Fill(E),
}

impl<E: fmt::Display> fmt::Display for GetError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GetError::NoMemory => f.write_str("no memory could be allocated for the buffer"),
            GetError::Full => f.write_str("the cache is full, and all its buffers are referenced"),
            GetError::Fill(error) => write!(f, "the buffer could not be filled: {error}"),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for GetError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            GetError::Fill(error) => Some(error),
            _ => None,
        }
    }
}

/// Memory for a buffer that is not yet published. Dropping it frees the memory.
struct Spare<Q: CacheKey, T: Send + Sync, S: Switches<H, Q>, H: HostWithSlots, C: Context>(
    NonNull<EntryOf<Q, T, S, H, C>>,
);

impl<Q: CacheKey, T: Send + Sync, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    Spare<Q, T, S, H, C>
{
    fn allocate(key: Q) -> Result<Self, AllocationFailed> {
        EntryOf::<Q, T, S, H, C>::allocate(key).map(Spare)
    }
}

impl<Q: CacheKey, T: Send + Sync, S: Switches<H, Q>, H: HostWithSlots, C: Context> Drop
    for Spare<Q, T, S, H, C>
{
    fn drop(&mut self) {
        // SAFETY: the buffer was not published, and has no value.
        unsafe { EntryOf::<Q, T, S, H, C>::give_back(self.0) };
    }
}

/// A buffer that is not filled yet. Dropping this marks it as failed.
struct Filling<
    'b,
    'c,
    Q: CacheKey,
    T: Send + Sync,
    B: Hashes<Q>,
    S: Switches<H, Q>,
    H: HostWithSlots,
    C: Context,
>(&'b Buffer<'c, Q, T, B, S, H, C>);

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    Drop for Filling<'_, '_, Q, T, B, S, H, C>
{
    fn drop(&mut self) {
        // The buffer is removed first, so woken waiters do not find it again.
        self.0.remove();
        // SAFETY: the handle has a reference. This thread inserted the buffer, and has not ended
        // its filling in any other way.
        unsafe { self.0.entry().fail() };
    }
}

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    BufferCache<Q, T, B, S, H, C>
{
    /// Returns the buffer of `key`, or a new one with the value that `fill` makes. If several
    /// callers want the buffer at the same time, one of them fills it, and all get the same buffer.
    ///
    /// Cost of a hit: as [`look_up`](Self::look_up), and with [`EveryCall`](super::EveryCall) an
    /// allocation. Cost of a miss: an allocation, a read-modify-write of the number of buffers, the
    /// shard's lock; at the limit, a [`reclaim`](Self::reclaim) of one buffer.
    ///
    /// With [`Outside`](super::Outside), `fill` runs outside all locks. It may use the cache for
    /// other keys. With the same key, or a key whose filling waits for this filling, it would wait
    /// for ever. With [`UnderLock`](super::UnderLock), `fill` must not use the cache at all.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory, if the limit is reached and all buffers are referenced, or if
    /// `fill` fails. Callers that wait for the buffer then start over, each with its own function.
    ///
    /// # Panics
    ///
    /// Panics if `fill` panics. Other callers see this as a failure of `fill`.
    #[inline]
    pub fn get_or_fill<E>(
        &self,
        key: Q,
        fill: impl FnOnce() -> Result<T, E>,
    ) -> Result<Buffer<'_, Q, T, B, S, H, C>, GetError<E>> {
        let key = &key;
        // A hit is possible even without memory for a new buffer.
        let spare = if S::Allocate::EVERY_CALL { Spare::allocate(key.clone()).ok() } else { None };
        // SAFETY: the shards belong to this cache.
        let find = |shards| unsafe { self.find_ready(shards, &self.wanted(key)) };
        match self.shards().and_then(find) {
            Some(found) => Ok(found),
            None => self.make(key, spare, fill),
        }
    }

    #[inline(never)]
    fn make<E>(
        &self,
        key: &Q,
        spare: Option<Spare<Q, T, S, H, C>>,
        fill: impl FnOnce() -> Result<T, E>,
    ) -> Result<Buffer<'_, Q, T, B, S, H, C>, GetError<E>> {
        let no_memory = |AllocationFailed| GetError::NoMemory;
        let shards = self.shards().map_or_else(|| self.make_shards(), Ok).map_err(no_memory)?;
        // SAFETY: there are shards.
        let wanted = &unsafe { self.wanted(key) };
        // SAFETY: the shards belong to this cache.
        let find_ready = || unsafe { self.find_ready(shards, wanted) };
        let spare = spare.map_or_else(|| Spare::allocate(key.clone()), Ok).map_err(no_memory)?;
        let mut passed_on = None;
        loop {
            let Some(place) = passed_on.take().or_else(|| self.reserve()) else {
                // Another thread may have made the buffer meanwhile, and an existing buffer needs
                // no place.
                if let Some(found) = find_ready() {
                    return Ok(found);
                }
                if !self.make_room(shards, wanted, &mut passed_on) {
                    return find_ready().ok_or(GetError::Full);
                }
                continue;
            };
            let inserted = if S::Initialise::UNDER_LOCK {
                return self.insert_filled(shards, wanted, spare, place, fill);
            } else {
                self.insert(shards, wanted, spare.0, || Ok(()))
            };
            match inserted {
                Ok(None) => {
                    let new = self.keep(shards, spare, place);
                    return Self::fill(new, fill);
                }
                Ok(Some(there)) => {
                    // A thread that waits for another thread's filling must not keep its place.
                    drop(place);
                    if there.hit() {
                        return Ok(there);
                    }
                    // Another thread was filling the buffer, and has failed.
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn insert_filled<E>(
        &self,
        shards: NonNull<ShardsOf<Q, S, H, C>>,
        wanted: &Wanted<'_, Q>,
        spare: Spare<Q, T, S, H, C>,
        place: Place<'_, Q, T, B, S, H, C>,
        fill: impl FnOnce() -> Result<T, E>,
    ) -> Result<Buffer<'_, Q, T, B, S, H, C>, GetError<E>> {
        let entry = spare.0;
        let there = self.insert(shards, wanted, entry, || {
            let value = fill().map_err(GetError::Fill)?;
            // SAFETY: the buffer is not published, and has no value; it is published next.
            unsafe { entry.as_ref().set_value(value) };
            Ok(())
        })?;
        Ok(match there {
            None => self.keep(shards, spare, place),
            Some(there) => {
                // A buffer that was filled under the lock cannot fail later.
                let ready = there.hit();
                debug_assert!(ready);
                there
            }
        })
    }

    /// Inserts a buffer, unless the cache has a buffer of the same key: then returns that buffer.
    /// Calls `prepare` for the new buffer under the lock. If `prepare` fails or unwinds, nothing is
    /// inserted.
    fn insert<E>(
        &self,
        shards: NonNull<ShardsOf<Q, S, H, C>>,
        wanted: &Wanted<'_, Q>,
        entry: NonNull<EntryOf<Q, T, S, H, C>>,
        prepare: impl FnOnce() -> Result<(), E>,
    ) -> Result<Option<Buffer<'_, Q, T, B, S, H, C>>, E> {
        // SAFETY: published shards live as long as the cache.
        let Part { shard, all } = unsafe { self.part(shards, wanted) };
        let there = shard.locked(|| {
            // SAFETY: the shard is that of the key, and its lock is held. Nothing is removed
            // meanwhile, so nothing is freed.
            let there = during::<H, _>(Region::LookUp, || unsafe {
                S::Index::find(all, shard, wanted, EntryOf::<Q, T, S, H, C>::get)
            });
            if there.is_none() {
                prepare()?;
                // SAFETY: as above; one of the new buffer's two references belongs to the cache.
                unsafe {
                    shard.push(entry);
                    S::Index::insert(all, shard, wanted, entry);
                }
            }
            Ok(there)
        })?;
        // SAFETY: `get` took a reference.
        Ok(there.map(|there| unsafe { Buffer::new(self, there) }))
    }

    /// Makes the handle of a newly inserted buffer, and keeps its memory and its place.
    fn keep<'c>(
        &'c self,
        shards: NonNull<ShardsOf<Q, S, H, C>>,
        spare: Spare<Q, T, S, H, C>,
        place: Place<'_, Q, T, B, S, H, C>,
    ) -> Buffer<'c, Q, T, B, S, H, C> {
        let entry = spare.0;
        mem::forget((spare, place));
        // SAFETY: this is the other reference of the new buffer.
        let new = unsafe { Buffer::new(self, entry) };
        // SAFETY: published shards live as long as the cache.
        S::Index::grow(unsafe { shards.as_ref() }, self.living.load(Ordering::Relaxed));
        new
    }

    fn fill<'c, E>(
        new: Buffer<'c, Q, T, B, S, H, C>,
        fill: impl FnOnce() -> Result<T, E>,
    ) -> Result<Buffer<'c, Q, T, B, S, H, C>, GetError<E>> {
        let filling = Filling(&new);
        let value = fill().map_err(GetError::Fill)?;
        mem::forget(filling);
        // SAFETY: the handle has a reference. This thread inserted the buffer, and has not filled
        // it.
        unsafe { new.entry().fill(value) };
        Ok(new)
    }

    /// Reclaims the buffers above the limit and one more, at most [`ROOM`] per call, from the shard
    /// of the wanted key on. So threads that miss at the same time do not all use the same shard.
    /// Returns true if a place may be free now, and stores the place in `place` if it is certainly
    /// free.
    fn make_room<'c>(
        &'c self,
        shards: NonNull<ShardsOf<Q, S, H, C>>,
        wanted: &Wanted<'_, Q>,
        place: &mut Option<Place<'c, Q, T, B, S, H, C>>,
    ) -> bool {
        // Relaxed: both are only counts.
        let living = self.living.load(Ordering::Relaxed);
        let above = living.saturating_sub(self.limit.load(Ordering::Relaxed));
        // SAFETY: published shards live as long as the cache.
        let number = unsafe { shards.as_ref() }.number();
        let mut hand = (S::Index::shard(wanted, number) + number - 1) % number;
        // Places above the limit are not passed on.
        let place = if above == 0 { Some(place) } else { None };
        self.reclaim_some((above + 1).min(ROOM) as usize, &mut hand, place) > 0
            || living != self.living.load(Ordering::Relaxed)
    }
}
