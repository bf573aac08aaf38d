//! The miss: memory for a buffer that is not there, a place within the limit, insertion, and
//! filling.
//!
//! The thread that inserts a buffer fills it. With [`Outside`](super::Outside) the buffer is in the
//! index before it has its value. So others that want it find it and wait for it. Nobody else fills
//! it, and nobody else must wait. If filling fails, by an error or a panic, the buffer is first
//! taken out, and then those that wait are told. Each starts over. It finds what another is filling
//! by then, or fills the buffer itself.

use super::buffer::Buffer;
use super::cache::{BufferCache, EntryOf, Part, ShardsOf};
use super::index::Index;
use super::switches::{Allocate, Initialise, Switches};
use super::wanted::Wanted;
use crate::memory::AllocationFailed;
use core::fmt;
use core::mem;
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::platform::{HostWithSlots, Ordering, Region, Word, during};

/// Maximum number of buffers that a miss reclaims at once, where there are more than the limit.
const ROOM: u64 = 16;

/// The reason why there is no buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GetError<E> {
    /// The host has no memory for the buffer, or for the cache. Nothing was done.
    NoMemory,
    /// There are as many buffers as the cache may have, and all are referenced. Nothing was done.
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

/// Memory for a buffer that nobody knows. It is given back if it is not used.
struct Spare<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context>(
    NonNull<EntryOf<T, S, H, C>>,
);

impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context> Spare<T, S, H, C> {
    fn allocate(key: super::Key) -> Result<Self, AllocationFailed> {
        EntryOf::<T, S, H, C>::allocate(key).map(Spare)
    }
}

impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context> Drop for Spare<T, S, H, C> {
    fn drop(&mut self) {
        // SAFETY: it was not published, and has no value.
        unsafe { EntryOf::<T, S, H, C>::give_back(self.0) };
    }
}

/// A place within the limit. It is given up if it is not kept.
struct Place<'c, T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context>(
    &'c BufferCache<T, S, H, C>,
);

impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context> Drop for Place<'_, T, S, H, C> {
    fn drop(&mut self) {
        self.0.living.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A buffer whose filling has not succeeded yet. Dropping this notes that it has failed.
struct Filling<'b, 'c, T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context>(
    &'b Buffer<'c, T, S, H, C>,
);

impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context> Drop
    for Filling<'_, '_, T, S, H, C>
{
    fn drop(&mut self) {
        // It is taken out first, so that those that are told do not find it again.
        self.0.remove();
        // SAFETY: the handle has a reference; this thread inserted the buffer, and has ended its
        // filling in no other way.
        unsafe { self.0.entry().fail() };
    }
}

impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context> BufferCache<T, S, H, C> {
    /// Returns the buffer of `key`, or a new one with the value that `fill` makes. Of all callers
    /// that want it at the same time one fills it, and all get the same.
    ///
    /// Cost of a hit: that of [`look_up`](Self::look_up), and with [`EveryCall`](super::EveryCall)
    /// an allocation. Of a miss: an allocation, a read-modify-write of the number of buffers, the
    /// shard's lock; at the limit a [`reclaim`](Self::reclaim) of one.
    ///
    /// With [`Outside`](super::Outside) `fill` runs outside all locks. It may use the cache, but
    /// not for the same key, nor for one whose filling waits for this: it would wait for ever. With
    /// [`UnderLock`](super::UnderLock) it must not use the cache at all.
    ///
    /// # Errors
    ///
    /// If there is no memory; if the limit is reached and all buffers are referenced; or if `fill`
    /// fails. Callers that wait for the buffer then start over, each with a function of its own.
    ///
    /// # Panics
    ///
    /// If `fill` does. For the others that is as if it had failed.
    #[inline]
    pub fn get_or_fill<E>(
        &self,
        key: super::Key,
        fill: impl FnOnce() -> Result<T, E>,
    ) -> Result<Buffer<'_, T, S, H, C>, GetError<E>> {
        let wanted = Wanted::new(key);
        // Without memory there may still be a hit.
        let spare = if S::Allocate::EVERY_CALL { Spare::allocate(key).ok() } else { None };
        match self.find_ready(&wanted) {
            Some(found) => Ok(found),
            None => self.make(&wanted, spare, fill),
        }
    }

    #[inline(never)]
    fn make<E>(
        &self,
        wanted: &Wanted,
        spare: Option<Spare<T, S, H, C>>,
        fill: impl FnOnce() -> Result<T, E>,
    ) -> Result<Buffer<'_, T, S, H, C>, GetError<E>> {
        let no_memory = |AllocationFailed| GetError::NoMemory;
        let shards = self.shards().map_or_else(|| self.make_shards(), Ok).map_err(no_memory)?;
        let spare = spare.map_or_else(|| Spare::allocate(wanted.key), Ok).map_err(no_memory)?;
        loop {
            let Some(place) = self.reserve() else {
                // Another may have made it meanwhile, and a buffer that is there needs no place.
                if let Some(found) = self.find_ready(wanted) {
                    return Ok(found);
                }
                if !self.make_room() {
                    return self.find_ready(wanted).ok_or(GetError::Full);
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
                    // A thread that waits for another's filling holds no place meanwhile.
                    drop(place);
                    if there.hit() {
                        return Ok(there);
                    }
                    // Another was filling it, and that has failed.
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn insert_filled<E>(
        &self,
        shards: NonNull<ShardsOf<S, H, C>>,
        wanted: &Wanted,
        spare: Spare<T, S, H, C>,
        place: Place<'_, T, S, H, C>,
        fill: impl FnOnce() -> Result<T, E>,
    ) -> Result<Buffer<'_, T, S, H, C>, GetError<E>> {
        let entry = spare.0;
        let there = self.insert(shards, wanted, entry, || {
            let value = fill().map_err(GetError::Fill)?;
            // SAFETY: it is not published, and has no value; it is published next.
            unsafe { entry.as_ref().set_value(value) };
            Ok(())
        })?;
        Ok(match there {
            None => self.keep(shards, spare, place),
            Some(there) => {
                // A filling under the lock does not fail afterwards.
                let ready = there.hit();
                debug_assert!(ready);
                there
            }
        })
    }

    /// Puts a buffer into the cache, unless there is one of its key, which is returned. `prepare`
    /// is called for it under the lock. If that fails, or unwinds, nothing is put in.
    fn insert<E>(
        &self,
        shards: NonNull<ShardsOf<S, H, C>>,
        wanted: &Wanted,
        entry: NonNull<EntryOf<T, S, H, C>>,
        prepare: impl FnOnce() -> Result<(), E>,
    ) -> Result<Option<Buffer<'_, T, S, H, C>>, E> {
        // SAFETY: published shards are there as long as the cache.
        let Part { shard, all } = unsafe { self.part(shards, wanted) };
        let there = shard.locked(|| {
            // SAFETY: the shard is the key's, and its lock is held: nothing is taken out, so
            // nothing is freed.
            let there = during::<H, _>(Region::LookUp, || unsafe {
                S::Index::find(all, shard, wanted, EntryOf::<T, S, H, C>::get)
            });
            if there.is_none() {
                prepare()?;
                // SAFETY: as above; one of the new buffer's references is the cache's.
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

    /// Makes the handle of a buffer that was just inserted, with its memory and its place.
    fn keep<'c>(
        &'c self,
        shards: NonNull<ShardsOf<S, H, C>>,
        spare: Spare<T, S, H, C>,
        place: Place<'_, T, S, H, C>,
    ) -> Buffer<'c, T, S, H, C> {
        let entry = spare.0;
        mem::forget((spare, place));
        // SAFETY: the other one of the new buffer's references.
        let new = unsafe { Buffer::new(self, entry) };
        // SAFETY: published shards are there as long as the cache.
        S::Index::grow(unsafe { shards.as_ref() }, self.living.load(Ordering::Relaxed));
        new
    }

    fn fill<'c, E>(
        new: Buffer<'c, T, S, H, C>,
        fill: impl FnOnce() -> Result<T, E>,
    ) -> Result<Buffer<'c, T, S, H, C>, GetError<E>> {
        let filling = Filling(&new);
        let value = fill().map_err(GetError::Fill)?;
        mem::forget(filling);
        // SAFETY: the handle has a reference; this thread inserted the buffer, and has not filled
        // it.
        unsafe { new.entry().fill(value) };
        Ok(new)
    }

    /// Takes a place within the limit, if there is one.
    fn reserve(&self) -> Option<Place<'_, T, S, H, C>> {
        // Relaxed, in all: a number.
        let mut living = self.living.load(Ordering::Relaxed);
        while living < self.limit.load(Ordering::Relaxed) {
            match self.living.compare_exchange_weak(
                living,
                living + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(Place(self)),
                Err(actual) => living = actual,
            }
        }
        None
    }

    /// Reclaims what is above the limit and one more, but at most [`ROOM`] at once. Returns true if
    /// there may be room now.
    fn make_room(&self) -> bool {
        // Relaxed, both: numbers.
        let living = self.living.load(Ordering::Relaxed);
        let above = living.saturating_sub(self.limit.load(Ordering::Relaxed));
        self.reclaim_some((above + 1).min(ROOM) as usize) > 0
            || living != self.living.load(Ordering::Relaxed)
    }
}
