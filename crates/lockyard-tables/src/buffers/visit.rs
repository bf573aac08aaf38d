//! Visiting all buffers of a cache, one shard after another.
//!
//! Each buffer of a shard gets a reference under the shard's lock, and is visited after the lock is
//! released. The visitor may therefore use the cache, and removals meanwhile do no harm.

use super::buffer::Buffer;
use super::cache::{BufferCache, LockOf, ShardsOf};
use super::key::{CacheKey, Hashes};
use super::shard::Shard;
use super::switches::Switches;
use crate::memory::{AllocationFailed, from_host, to_host};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};
use lockyard::Context;
use lockyard::platform::{Host, HostWithSlots};

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    BufferCache<Q, T, B, S, H, C>
{
    /// Calls `each` with every buffer that is in the cache during the whole call, once. Buffers
    /// that enter or leave meanwhile may be visited or not, and no key is visited twice. A buffer
    /// that is being filled is left out. Within a shard, buffers come in the order of its list: the
    /// order in which they were filled, or with [`MoveToFront`](super::MoveToFront) the order of
    /// their last use. A visit does not count as a use.
    ///
    /// `each` may use the cache: clone the [`Buffer`] to keep it, or [remove](Buffer::remove) it.
    /// Until all buffers of a shard have been visited they are referenced. A reclaim treats them as
    /// used, and a miss at the limit may fail with [`GetError::Full`](super::GetError::Full).
    ///
    /// Cost: for each shard that is not empty, an allocation of 18 bytes per buffer, and the
    /// shard's lock while all its buffers get a reference.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory. The shards before have then been visited.
    pub fn for_each<'c>(
        &'c self,
        mut each: impl FnMut(&Buffer<'c, Q, T, B, S, H, C>),
    ) -> Result<(), AllocationFailed> {
        let Some(shards) = self.shards() else { return Ok(()) };
        // SAFETY: published shards live as long as the cache.
        let number = unsafe { shards.as_ref() }.number();
        for index in 0..number {
            // SAFETY: as above; below the number.
            let shard = unsafe { ShardsOf::<Q, S, H, C>::at(shards, index) };
            if shard.buffers() == 0 {
                continue;
            }
            self.references(shard)?.as_slice().iter().for_each(&mut each);
        }
        Ok(())
    }

    /// Returns a reference to each filled buffer of a shard.
    fn references<'c>(
        &'c self,
        shard: &Shard<LockOf<Q, S, H>, H, C>,
    ) -> Result<List<Buffer<'c, Q, T, B, S, H, C>, H>, AllocationFailed> {
        // Buffers may enter the shard before the lock is taken.
        let buffers = shard.buffers() as usize;
        let mut room = buffers + buffers / 8 + 1;
        loop {
            let mut list = List::allocate(room)?;
            let needed = shard.locked(|| {
                let buffers = shard.buffers() as usize;
                if buffers > list.room {
                    return buffers;
                }
                // SAFETY: under the lock; the shard's buffers are of this type.
                let mut at = unsafe { shard.oldest::<Q, T>() };
                while let Some(entry) = at {
                    // SAFETY: the buffer is in the list, so the cache has a reference to it.
                    if unsafe { entry.as_ref().is_filled() } {
                        // SAFETY: as above.
                        unsafe { entry.as_ref() }.get_another();
                        // SAFETY: the reference belongs to the handle, and the buffer is ready.
                        list.push(unsafe { Buffer::new(self, entry) });
                    }
                    // SAFETY: the lock is held, and the buffer is in the list.
                    at = unsafe { shard.newer(entry) };
                }
                0
            });
            if needed == 0 {
                return Ok(list);
            }
            // The room doubles each time, so that the loop ends however many buffers come and go.
            room = needed.max(2 * room);
        }
    }
}

/// A list of at most `room` elements, in memory of the host.
struct List<T, H: Host> {
    memory: NonNull<T>,
    room: usize,
    len: usize,
    host: PhantomData<fn() -> H>,
}

impl<T, H: Host> List<T, H> {
    /// `room` is not 0, and `T` has a size.
    fn allocate(room: usize) -> Result<Self, AllocationFailed> {
        let layout = Layout::array::<T>(room).map_err(|_| AllocationFailed)?;
        let memory = from_host::<H>(layout, None).ok_or(AllocationFailed)?.cast();
        Ok(List { memory, room, len: 0, host: PhantomData })
    }

    /// # Panics
    ///
    /// Panics if there is no room.
    fn push(&mut self, element: T) {
        assert!(self.len < self.room, "the list has room for as many");
        // SAFETY: inside the memory, and not written yet.
        unsafe { self.memory.add(self.len).write(element) };
        self.len += 1;
    }

    fn as_slice(&self) -> &[T] {
        // SAFETY: this many elements were written.
        unsafe { NonNull::slice_from_raw_parts(self.memory, self.len).as_ref() }
    }
}

impl<T, H: Host> Drop for List<T, H> {
    /// Drops the elements, and then frees the memory, even if a destructor panics.
    fn drop(&mut self) {
        struct Memory<T, H: Host>(NonNull<T>, usize, PhantomData<fn() -> H>);
        impl<T, H: Host> Drop for Memory<T, H> {
            fn drop(&mut self) {
                if let Ok(layout) = Layout::array::<T>(self.1) {
                    // SAFETY: the memory came from this host with this layout, and its elements
                    // were dropped.
                    unsafe { to_host::<H>(self.0.cast(), layout) };
                }
            }
        }
        let memory = Memory::<T, H>(self.memory, self.room, PhantomData);
        let elements = ptr::slice_from_raw_parts_mut(memory.0.as_ptr(), self.len);
        // SAFETY: this many elements were written. They are dropped once, here.
        unsafe { elements.drop_in_place() };
    }
}
