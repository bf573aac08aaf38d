//! The buffer cache: a concurrent index of reference-counted buffers. An unused buffer stays in the
//! cache until its memory is needed.
//!
//! A buffer is found by its key, of any type. A [`BlockCache`] has the keys of blocks ([`Key`]),
//! and a public hash, as in the experiments. The first caller that asks for a buffer creates it.
//! [`BufferCache::get_or_fill`] calls the given function for the contents, only once, even if many
//! callers ask for the buffer at the same time. It returns a [`Buffer`], which is a reference. A
//! buffer with a reference is neither freed nor reclaimed. When its last reference is dropped, the
//! buffer stays in the cache. [`BufferCache::reclaim`], or a miss at the limit, removes buffers
//! that have not been used for long.
//!
//! # A hit
//!
//! A hit only takes a reference. With the default switches it takes no lock. It writes the buffer's
//! lockref. The first hit since the last reclaim pass also sets a bit of the buffer.
//!
//! # Switches
//!
//! Each switch is a type, chosen independently by [`With`]. The defaults are in bold.
//!
//! - **When memory is allocated**: **[`OnMiss`]**, or on [`EveryCall`], before the caller knows
//!   that it needs memory.
//! - **Where the contents are made**: **[`Outside`]** all locks, so only callers that want the
//!   buffer wait. Or [`UnderLock`] of the chain or tree, so all its callers wait.
//! - **What a hit writes**: **[`ReferencedBit`]**, a bit unless it is already set; or
//!   [`MoveToFront`], which moves the buffer to the front of a list, under the list's lock.
//! - **How buffers are found**: **[`WideHash`]**, which grows with use and is read without a lock.
//!   Or [`Hash256`], 256 chains, each with a lock. Or [`TreePerGroup`], trees, each with a lock.
//!
//! The other choices are there for comparison: earlier caches of this kind had them. [`Before`]
//! selects all of them.
//!
//! # What each operation costs
//!
//! - **Look-up, hit**: the fence of [entering](lockyard::reclaim) (or the shard's lock), a line of
//!   the index, one or two lines for each buffer on the way, a compare-exchange of the lockref.
//! - **Dropping the buffer**: a compare-exchange of the lockref.
//! - **Miss**: an allocation, a read-modify-write of the number of buffers, the shard's lock; the
//!   filling. At the limit, instead of the number of buffers, the lock of a shard from which a
//!   buffer is evicted: the same shard, if it has an unused buffer. After a doubling, an insertion
//!   divides up to six chains under the shard's lock.
//! - **Removal**: the shard's lock.
//! - **Visiting all buffers**: an allocation and a lock for each shard, a compare-exchange for each
//!   buffer, and another when its reference is dropped.
//! - **Reclaim**: a shard's lock for every 16 buffers examined, a locked instruction for each
//!   buffer taken.
//! - **Growth**: an occasional allocation by a thread that inserts; no thread waits for it.
//!
//! # Ordering
//!
//! A caller that gets a buffer sees everything that the filling wrote. It also sees everything done
//! through references that have since been dropped. (The lockref's acquire and release order both.)
//! Threads that hold the buffer at the same time must synchronise among themselves: `T` is
//! [`Sync`].
//!
//! # Memory
//!
//! A buffer takes 48 bytes, its key (of a block 16), its value, and the allocator's overhead.
//! [`WideHash`] adds 16 to 32 bytes for the chains, which stay when buffers leave.
//! [`BufferCache::bytes`] returns the memory of a cache.
//! `cargo study buffers` measures it with a million buffers, and shows that memory is steady under
//! churn.
//!
//! # Faults
//!
//! - **No memory for the cache or a buffer**: [`GetError::NoMemory`]; the cache is unchanged.
//!   Look-ups, removals and reclaim need no memory.
//! - **No memory for more chains**: the existing chains become longer; the next insertion tries
//!   again.
//! - **The limit is reached**: an unused buffer is reclaimed. If there is none, [`GetError::Full`].
//! - **The caller's function fails, or panics**: the caller gets the error, or the panic; the
//!   buffer is not in the cache. Callers that waited for the buffer start over. The first of them
//!   fills it with its own function.
//! - **A value's destructor panics**: the panic leaves the drop of the last reference, or reclaim.
//!   The memory is still freed.
//! - **A handle is forgotten**: the buffer counts as referenced for ever. It can be removed from
//!   the cache. Otherwise it is freed with the cache.
//! - **2^30 references to a buffer**: the count saturates. The buffer is never reclaimed, and leaks
//!   if it is removed.
//!
//! # Source
//!
//! The experiments are those made with the buffer cache of XFS (D. Chinner, *xfs: metadata
//! scalability*, linux-xfs mailing list, 2010). There a hash of 256 chains became a tree for each
//! allocation group, and an allocation on every call became one on a miss. This code was written
//! from that description, not from an implementation. `chains.rs`, `tree.rs` and `reclaim.rs` name
//! the sources of their algorithms.

#![expect(clippy::type_complexity, reason = "a table has a parameter for each choice")]

mod buffer;
mod cache;
mod chains;
mod configuration;
mod entry;
mod index;
mod key;
mod miss;
mod place;
mod reclaim;
mod sealed;
mod shard;
mod switches;
mod tree;
mod visit;
mod wanted;

pub use buffer::Buffer;
pub use cache::BufferCache;
pub use configuration::{Configuration, Groups, GroupsError};
pub use index::{FixedHash, Hash256, Index, TreePerGroup, WideHash};
pub use key::{BlockHash, CacheKey, Key};
pub use miss::GetError;
pub use switches::{
    Allocate, Before, EveryCall, Initialise, MoveToFront, OnMiss, Outside, Promote, ReferencedBit,
    Standard, Switches, UnderLock, With,
};

/// A cache of [blocks](Key) with values `T`, as in the experiments.
pub type BlockCache<T, S, H, C = lockyard::NoContext> = BufferCache<Key, T, BlockHash, S, H, C>;
/// A reference to a buffer of a [`BlockCache`].
pub type Block<'c, T, S, H, C = lockyard::NoContext> = Buffer<'c, Key, T, BlockHash, S, H, C>;

use cache::{EntryOf, Part, ShardsOf};
use core::borrow::Borrow;
use core::ptr::NonNull;
use key::Hashes;
use lockyard::Context;
use lockyard::platform::{HostWithSlots, Region, during};
use wanted::Wanted;

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    BufferCache<Q, T, B, S, H, C>
{
    /// Returns the buffer of `key`, if it is in the cache; waits while it is being filled.
    ///
    /// Takes no lock with [`WideHash`] and [`ReferencedBit`]. Acquire.
    #[inline]
    pub fn look_up(&self, key: impl Borrow<Q>) -> Option<Buffer<'_, Q, T, B, S, H, C>> {
        let shards = self.shards()?;
        // SAFETY: there are shards, which are the cache's.
        unsafe { self.find_ready(shards, &self.wanted(key.borrow())) }
    }

    /// # Safety
    ///
    /// The shards must belong to this cache.
    #[inline(always)]
    unsafe fn find_ready(
        &self,
        shards: NonNull<ShardsOf<Q, S, H, C>>,
        wanted: &Wanted<'_, Q>,
    ) -> Option<Buffer<'_, Q, T, B, S, H, C>> {
        loop {
            // SAFETY: the caller's promise.
            let found = unsafe { self.find(shards, wanted) }?;
            if found.hit() {
                return Some(found);
            }
            // The buffer was found before it was filled, and the filling failed. It has left the
            // cache, which may have a new buffer of the key.
        }
    }

    /// Returns the buffer of a key, filled or not.
    ///
    /// # Safety
    ///
    /// The shards must belong to this cache.
    #[inline(always)]
    unsafe fn find(
        &self,
        shards: NonNull<ShardsOf<Q, S, H, C>>,
        wanted: &Wanted<'_, Q>,
    ) -> Option<Buffer<'_, Q, T, B, S, H, C>> {
        // SAFETY: published shards live as long as the cache.
        let Part { shard, all } = unsafe { self.part(shards, wanted) };
        let accept = EntryOf::<Q, T, S, H, C>::get;
        let found = if S::Index::LOCKS {
            shard.locked(|| {
                during::<H, _>(Region::LookUp, || {
                    // SAFETY: the lock is held. Under it nothing is removed, so nothing is freed.
                    let found = unsafe { S::Index::find(all, shard, wanted, accept) }?;
                    if S::Promote::MOVES {
                        // SAFETY: the lock is held, and the buffer is in the list.
                        unsafe { shard.move_to_front(found) };
                    }
                    Some(found)
                })
            })
        } else {
            // This code does not use `during`: a closure of this size is not inlined. Its call
            // would put a dozen words on the stack, and the fence of entering would wait for these
            // stores.
            let before = H::begin_activity(Region::LookUp.into());
            let guard = self.domain.enter();
            // SAFETY: the guard keeps every reachable buffer from being freed: see `chains.rs`.
            let found = unsafe { S::Index::find(all, shard, wanted, accept) };
            drop(guard);
            H::resume_activity(before);
            found
        }?;
        // SAFETY: `get` took a reference.
        Some(unsafe { Buffer::new(self, found) })
    }

    /// Removes the buffer of `key` from the cache and returns it. The next caller that asks for the
    /// key fills a new buffer. Existing references stay valid. Waits while the buffer is being
    /// filled.
    ///
    /// Cost: the shard's lock.
    pub fn remove(&self, key: impl Borrow<Q>) -> Option<Buffer<'_, Q, T, B, S, H, C>> {
        let shards = self.shards()?;
        // SAFETY: there are shards.
        let wanted = unsafe { self.wanted(key.borrow()) };
        // SAFETY: published shards live as long as the cache.
        let Part { shard, all } = unsafe { self.part(shards, &wanted) };
        let taken = shard.locked(|| {
            // SAFETY: under the lock nothing else is removed. The found buffer is in the index and
            // in the list.
            unsafe {
                let found: NonNull<EntryOf<Q, T, S, H, C>> =
                    S::Index::find(all, shard, &wanted, |_| true)?;
                Self::take_out(Part { shard, all }, &wanted, found);
                Some(found)
            }
        })?;
        // SAFETY: the handle takes over the cache's reference, which `take` has given up.
        let taken = unsafe { Buffer::new(self, taken) };
        taken.ready().then_some(taken)
    }
}
