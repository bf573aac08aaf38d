//! The buffer cache: a concurrent index of reference-counted buffers. An unused buffer stays until
//! its room is wanted.
//!
//! A buffer is found by its [`Key`], and made by the first caller that wants it.
//! [`BufferCache::get_or_fill`] calls the caller's function for the contents, once, however many
//! callers want the buffer at the same time. It returns a [`Buffer`], which is a reference. A
//! buffer with a reference is neither freed nor reclaimed. When the last one is dropped, the buffer
//! stays in the cache. [`BufferCache::reclaim`], or a limit that is reached, takes out buffers that
//! have not been used for long.
//!
//! # A hit
//!
//! A hit takes a reference, and does nothing else. With the default switches it takes no lock. It
//! writes the buffer's lockref, and, for the first time since reclaim came by, a bit of the buffer.
//!
//! # Switches
//!
//! Each is chosen on its own, as a type, by [`With`]. The defaults are in bold.
//!
//! - **When memory is allocated**: **[`OnMiss`]**, or on [`EveryCall`], before it is known to be
//!   needed.
//! - **Where the contents are made**: **[`Outside`]** all locks, where only callers that want the
//!   buffer wait; or [`UnderLock`] of the chain or tree, where all callers that come there wait.
//! - **What a hit notes**: **[`ReferencedBit`]**, unless it is set; or [`MoveToFront`] of a list,
//!   under its lock.
//! - **How buffers are found**: **[`WideHash`]**, which grows with use, and whose look-ups take no
//!   lock; [`Hash256`], 256 chains each behind a lock; or [`TreePerGroup`], trees each behind a
//!   lock.
//!
//! The others are there to compare with: earlier caches of this kind had them. [`Before`] is all of
//! them together.
//!
//! # What each operation costs
//!
//! - **Look-up, hit**: the fence of [entering](lockyard::reclaim) (or the shard's lock), a line of
//!   the index, a line or two for each buffer that is walked over, a compare-exchange of the
//!   lockref.
//! - **Dropping the buffer**: a compare-exchange of the same.
//! - **Miss**: an allocation, a read-modify-write of the number of buffers, the shard's lock; the
//!   filling.
//! - **Removal**: the shard's lock.
//! - **Reclaim**: a shard's lock for each 16 buffers that are looked at, a locked instruction for
//!   each that is taken.
//! - **Growth**: an allocation now and then, by a thread that inserts; nobody waits for it.
//!
//! # Ordering
//!
//! A caller that gets a buffer sees all that its filling did. It also sees all that was done
//! through references that have been dropped since. (Both are acquire and release by the lockref.)
//! Its holders synchronise what they do at the same time themselves: `T` is [`Sync`].
//!
//! # Memory
//!
//! A buffer takes 64 bytes and its value, without what the allocator adds. [`WideHash`] takes 8 to
//! 16 bytes more for the chains, which stay when buffers go. [`BufferCache::bytes`] returns what a
//! cache takes. `cargo run --release -p lockyard-tables --example buffers` measures it with a
//! million buffers, and shows that memory is steady under churn.
//!
//! # Faults
//!
//! - **No memory for the cache or a buffer**: [`GetError::NoMemory`]; the cache is as it was.
//!   Look-ups, removals and reclaim need none.
//! - **No memory for more chains**: the chains stay as they are, and become longer; the next
//!   insertion tries again.
//! - **The limit is reached**: a buffer that nobody uses is reclaimed; if there is none,
//!   [`GetError::Full`].
//! - **The caller's function fails, or panics**: the caller gets the error, or the panic; the
//!   buffer is not in the cache. Callers that waited for it start over, and the first of them fills
//!   it with a function of its own.
//! - **A value's destructor panics**: it unwinds from where the last reference was dropped, or from
//!   reclaim; memory is freed all the same.
//! - **A handle is forgotten**: the buffer counts as referenced for ever; it can be removed from
//!   the cache, and otherwise is freed with it.
//! - **2^30 references to a buffer**: the count saturates: the buffer is never reclaimed, and leaks
//!   if it is removed.
//!
//! # Source
//!
//! The experiments are those of the buffer cache of XFS (D. Chinner, *xfs: metadata scalability*,
//! linux-xfs mailing list, 2010). There a hash of 256 chains became a tree for each allocation
//! group, and an allocation on every call became one on a miss. Written from the description, not
//! from an implementation. The sources of the algorithms stand in `chains.rs`, `tree.rs` and
//! `reclaim.rs`.

mod buffer;
mod cache;
mod chains;
mod configuration;
mod entry;
mod index;
mod key;
mod miss;
mod reclaim;
mod sealed;
mod shard;
mod switches;
mod tree;
mod wanted;

pub use buffer::Buffer;
pub use cache::BufferCache;
pub use configuration::{Configuration, Groups, GroupsError};
pub use index::{FixedHash, Hash256, Index, TreePerGroup, WideHash};
pub use key::Key;
pub use miss::GetError;
pub use switches::{
    Allocate, Before, EveryCall, Initialise, MoveToFront, OnMiss, Outside, Promote, ReferencedBit,
    Standard, Switches, UnderLock, With,
};

use cache::{EntryOf, Part};
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::platform::{HostWithSlots, Region, during};
use wanted::Wanted;

impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context> BufferCache<T, S, H, C> {
    /// Returns the buffer of `key`, if it is in the cache; waits while it is being filled.
    ///
    /// Takes no lock with [`WideHash`] and [`ReferencedBit`]. Acquire.
    #[inline]
    pub fn look_up(&self, key: Key) -> Option<Buffer<'_, T, S, H, C>> {
        self.find_ready(&Wanted::new(key))
    }

    #[inline(always)]
    fn find_ready(&self, wanted: &Wanted) -> Option<Buffer<'_, T, S, H, C>> {
        loop {
            let found = self.find(wanted)?;
            if found.hit() {
                return Some(found);
            }
            // It was found before it was filled, and the filling failed. It is out of the cache,
            // where there may be another.
        }
    }

    /// Returns the buffer of a key, filled or not.
    #[inline(always)]
    fn find(&self, wanted: &Wanted) -> Option<Buffer<'_, T, S, H, C>> {
        let shards = self.shards()?;
        // SAFETY: published shards are there as long as the cache.
        let Part { shard, all } = unsafe { self.part(shards, wanted) };
        let look = || {
            // SAFETY: under the lock nothing is taken out, so nothing is freed. Without it the
            // guard keeps all buffers that can be reached from being freed: see `chains.rs`.
            unsafe { S::Index::find(all, shard, wanted, EntryOf::<T, S, H, C>::get) }
        };
        let found = if S::Index::LOCKS {
            shard.locked(|| {
                during::<H, _>(Region::LookUp, || {
                    let found = look()?;
                    if S::Promote::MOVES {
                        // SAFETY: under the lock, and it is in the list.
                        unsafe { shard.move_to_front(found) };
                    }
                    Some(found)
                })
            })
        } else {
            during::<H, _>(Region::LookUp, || {
                let _guard = self.domain.enter();
                look()
            })
        }?;
        // SAFETY: `get` took a reference.
        Some(unsafe { Buffer::new(self, found) })
    }

    /// Takes the buffer of `key` out of the cache. The next caller that wants it fills it anew.
    /// Existing references stay valid. Waits while it is being filled.
    ///
    /// Cost: the shard's lock.
    pub fn remove(&self, key: Key) -> Option<Buffer<'_, T, S, H, C>> {
        let shards = self.shards()?;
        let wanted = Wanted::new(key);
        // SAFETY: published shards are there as long as the cache.
        let Part { shard, all } = unsafe { self.part(shards, &wanted) };
        let taken = shard.locked(|| {
            // SAFETY: under the lock nothing else is taken out; the found buffer is in the index
            // and in the list.
            unsafe {
                let found: NonNull<EntryOf<T, S, H, C>> =
                    S::Index::find(all, shard, &wanted, |_| true)?;
                Self::take_out(Part { shard, all }, &wanted, found);
                Some(found)
            }
        })?;
        // SAFETY: the cache's reference, which `take` has given up.
        let taken = unsafe { Buffer::new(self, taken) };
        taken.ready().then_some(taken)
    }
}
