//! Indices, which find buffers. Each index is a type.
//!
//! | index | look-ups | with *n* buffers a look-up walks over |
//! | --- | --- | --- |
//! | [`Hash256`] | under the chain's lock | *n* / 512 buffers if it finds one, *n* / 256 if not |
//! | [`TreePerGroup`] | under the group's lock | about 1.4 log2 of the group's buffers |
//! | [`WideHash`] | without a lock | one or two, up to 2^(22 + `BITS`) buffers |

use super::chains::{self, Fixed, Growing};
use super::configuration::Configuration;
use super::entry::Entry;
use super::key::{CacheKey, Key};
use super::sealed::Sealed;
use super::shard::{Shard, Shards};
use super::tree;
use super::wanted::Wanted;
use crate::memory::Invariant;
use core::ptr::NonNull;
use lockyard::lock::{LaneLock, Queued};
use lockyard::platform::{Host, Ordering, Word};
use lockyard::{Context, FourBytes};

type Found<Q, T, K, H, C> = Option<NonNull<Entry<Q, T, K, H, C>>>;

/// An index of buffers: [`WideHash`]; for [blocks](Key) also [`Hash256`] and [`TreePerGroup`].
/// Sealed.
pub trait Index<H: Host, Q: CacheKey = Key>: Sealed + 'static {
    /// Name of the index in tables.
    const NAME: &'static str;
    /// True if a look-up takes the shard's lock. If false, buffers are freed by
    /// [reclamation](lockyard::reclaim).
    const LOCKS: bool;
    /// Algorithm of the shards' locks, and of the buffers' lockrefs.
    type Lock: LaneLock<H, Width = FourBytes>;

    #[doc(hidden)]
    fn shards(configuration: &Configuration) -> usize;

    /// Returns the shard of `wanted`, one of `shards`.
    #[doc(hidden)]
    fn shard(wanted: &Wanted<'_, Q>, shards: usize) -> usize;

    /// Returns the buffer of the wanted key for which `accept` returns true.
    ///
    /// # Safety
    ///
    /// `shard` must be the shard of the key; its buffers must be of this type, and none of them may
    /// be freed during the call. If [`LOCKS`](Self::LOCKS) is true, the caller must hold the
    /// shard's lock.
    #[doc(hidden)]
    unsafe fn find<T: Send, C: Context>(
        shards: &Shards<Self::Lock, H, C>,
        shard: &Shard<Self::Lock, H, C>,
        wanted: &Wanted<'_, Q>,
        accept: impl FnMut(&Entry<Q, T, Self::Lock, H, C>) -> bool,
    ) -> Found<Q, T, Self::Lock, H, C>;

    /// Returns the hash by which a buffer was inserted, as far as this index uses it.
    #[doc(hidden)]
    fn hash<T: Send, C: Context>(entry: &Entry<Q, T, Self::Lock, H, C>) -> u64;

    /// Inserts a buffer into the index.
    ///
    /// # Safety
    ///
    /// The same as for [`find`](Self::find), and the caller must hold the shard's lock. The buffer
    /// must have the wanted key, and must be in no index. This index must have no buffer of that
    /// key.
    #[doc(hidden)]
    unsafe fn insert<T: Send, C: Context>(
        shards: &Shards<Self::Lock, H, C>,
        shard: &Shard<Self::Lock, H, C>,
        wanted: &Wanted<'_, Q>,
        entry: NonNull<Entry<Q, T, Self::Lock, H, C>>,
    );

    /// Removes a buffer from the index.
    ///
    /// # Safety
    ///
    /// The same as for [`find`](Self::find), and the caller must hold the shard's lock. The buffer
    /// must have the wanted key, and must be in this index.
    #[doc(hidden)]
    unsafe fn remove<T: Send, C: Context>(
        shards: &Shards<Self::Lock, H, C>,
        shard: &Shard<Self::Lock, H, C>,
        wanted: &Wanted<'_, Q>,
        entry: NonNull<Entry<Q, T, Self::Lock, H, C>>,
    );

    /// Grows the index for `buffers` buffers, if necessary. Takes no lock. If there is no memory,
    /// the index stays unchanged.
    #[doc(hidden)]
    fn grow<C: Context>(shards: &Shards<Self::Lock, H, C>, buffers: u64) {
        let _ = (shards, buffers);
    }

    /// Bytes that growth has allocated.
    #[doc(hidden)]
    fn bytes<C: Context>(shards: &Shards<Self::Lock, H, C>) -> usize {
        let _ = shards;
        0
    }

    /// Frees the memory that growth has allocated.
    ///
    /// # Safety
    ///
    /// No thread may use the index any more.
    #[doc(hidden)]
    unsafe fn free<C: Context>(shards: &mut Shards<Self::Lock, H, C>) {
        let _ = shards;
    }
}

/// A fixed number of chains of blocks, 2^`BITS`, each with its own lock. A new buffer goes to the
/// front.
#[derive(Debug)]
pub struct FixedHash<const BITS: u32, K = Queued>(Invariant<K>);

/// Always 256 chains, as in old file systems, where 200 buffers shared a chain.
pub type Hash256<K = Queued> = FixedHash<8, K>;

/// A search tree for each [group](super::Key::group), each with its own lock. It is a treap, and
/// the keys' hashes are its priorities: R. Seidel and C. Aragon, *Randomized search trees*,
/// Algorithmica 16, 1996.
#[derive(Debug)]
pub struct TreePerGroup<K = Queued>(Invariant<K>);

/// A hash that grows with use and is read without a lock. The default.
///
/// There are 2^`BITS` locks, each with a chain. As buffers are added, chains are divided. A
/// division moves no buffer and makes no look-up wait. The scheme comes from split-ordered lists:
/// O. Shalev and N. Shavit, *Split-ordered lists: lock-free extensible hash tables*, Journal of the
/// ACM 53(3), 2006. Unlike the original, this index makes changes under a lock.
#[derive(Debug)]
pub struct WideHash<const BITS: u32 = 8, K = Queued>(Invariant<K>);

impl<const BITS: u32, K> Sealed for FixedHash<BITS, K> {}
impl<const BITS: u32, K> Sealed for WideHash<BITS, K> {}
impl<K> Sealed for TreePerGroup<K> {}

/// Writes the operations of an `impl Index` for chains that grow as `$growth` says.
macro_rules! by_chains {
    ($key:ty, $growth:ty) => {
        #[inline(always)]
        unsafe fn find<T: Send, C: Context>(
            shards: &Shards<K, H, C>,
            shard: &Shard<K, H, C>,
            wanted: &Wanted<'_, $key>,
            accept: impl FnMut(&Entry<$key, T, K, H, C>) -> bool,
        ) -> Found<$key, T, K, H, C> {
            // SAFETY: the caller's promise.
            unsafe { chains::find::<$growth, $key, T, K, H, C>(shards, shard, wanted, accept) }
        }
        unsafe fn insert<T: Send, C: Context>(
            shards: &Shards<K, H, C>,
            shard: &Shard<K, H, C>,
            wanted: &Wanted<'_, $key>,
            entry: NonNull<Entry<$key, T, K, H, C>>,
        ) {
            // SAFETY: the caller's promise.
            unsafe { chains::insert::<$growth, $key, T, K, H, C>(shards, shard, wanted, entry) }
        }
        unsafe fn remove<T: Send, C: Context>(
            shards: &Shards<K, H, C>,
            shard: &Shard<K, H, C>,
            wanted: &Wanted<'_, $key>,
            entry: NonNull<Entry<$key, T, K, H, C>>,
        ) {
            // SAFETY: the caller's promise.
            unsafe { chains::remove::<$growth, $key, T, K, H, C>(shards, shard, wanted, entry) }
        }
    };
}

impl<const BITS: u32, K: LaneLock<H, Width = FourBytes>, H: Host> Index<H> for FixedHash<BITS, K> {
    const NAME: &'static str = if BITS == 8 { "hash-256" } else { "hash-fixed" };
    const LOCKS: bool = true;
    type Lock = K;

    fn shards(_: &Configuration) -> usize {
        const { assert!(BITS <= 16, "a hash of fixed size has at most 2^16 chains") };
        1 << BITS
    }
    #[inline(always)]
    fn shard(wanted: &Wanted<'_, Key>, shards: usize) -> usize {
        wanted.hash as usize & (shards - 1)
    }
    fn hash<T: Send, C: Context>(entry: &Entry<Key, T, K, H, C>) -> u64 {
        entry.key().hash()
    }
    by_chains!(Key, Fixed);
}

impl<const BITS: u32, K: LaneLock<H, Width = FourBytes>, H: Host, Q: CacheKey> Index<H, Q>
    for WideHash<BITS, K>
{
    const NAME: &'static str = "wide-hash";
    const LOCKS: bool = false;
    type Lock = K;

    fn shards(_: &Configuration) -> usize {
        const { assert!(BITS <= 16, "a hash that grows begins with at most 2^16 chains") };
        1 << BITS
    }
    #[inline(always)]
    fn shard(wanted: &Wanted<'_, Q>, _: usize) -> usize {
        // The first `BITS` bits, which may be none.
        (wanted.hash >> 1 >> (63 - BITS)) as usize
    }
    fn hash<T: Send, C: Context>(entry: &Entry<Q, T, K, H, C>) -> u64 {
        // Relaxed: written before the buffer was inserted. The last bit, which is always 1 here,
        // selects nothing.
        entry.links.order.load(Ordering::Relaxed)
    }
    by_chains!(Q, Growing<BITS>);
    #[inline]
    fn grow<C: Context>(shards: &Shards<K, H, C>, buffers: u64) {
        chains::grow::<BITS, K, H, C>(shards, buffers);
    }
    fn bytes<C: Context>(shards: &Shards<K, H, C>) -> usize {
        chains::segment_bytes::<BITS, K, H, C>(shards)
    }
    unsafe fn free<C: Context>(shards: &mut Shards<K, H, C>) {
        // SAFETY: the caller's promise.
        unsafe { chains::free_segments::<BITS, K, H, C>(shards) }
    }
}

impl<K: LaneLock<H, Width = FourBytes>, H: Host> Index<H> for TreePerGroup<K> {
    const NAME: &'static str = "tree-per-group";
    const LOCKS: bool = true;
    type Lock = K;

    fn shards(configuration: &Configuration) -> usize {
        configuration.groups.get() as usize
    }
    fn hash<T: Send, C: Context>(entry: &Entry<Key, T, K, H, C>) -> u64 {
        entry.key().hash()
    }
    #[inline(always)]
    fn shard(wanted: &Wanted<'_, Key>, shards: usize) -> usize {
        wanted.key.group as usize % shards
    }
    #[inline(always)]
    unsafe fn find<T: Send, C: Context>(
        _: &Shards<K, H, C>,
        shard: &Shard<K, H, C>,
        wanted: &Wanted<'_, Key>,
        mut accept: impl FnMut(&Entry<Key, T, K, H, C>) -> bool,
    ) -> Found<Key, T, K, H, C> {
        // SAFETY: the caller's promise.
        let found = unsafe { tree::find::<T, K, H, C>(shard, *wanted.key) }?;
        // SAFETY: it is in the tree.
        accept(unsafe { found.as_ref() }).then_some(found)
    }
    unsafe fn insert<T: Send, C: Context>(
        _: &Shards<K, H, C>,
        shard: &Shard<K, H, C>,
        wanted: &Wanted<'_, Key>,
        entry: NonNull<Entry<Key, T, K, H, C>>,
    ) {
        // SAFETY: the caller's promise.
        unsafe { tree::insert(shard, wanted, entry) }
    }
    unsafe fn remove<T: Send, C: Context>(
        _: &Shards<K, H, C>,
        shard: &Shard<K, H, C>,
        wanted: &Wanted<'_, Key>,
        entry: NonNull<Entry<Key, T, K, H, C>>,
    ) {
        // SAFETY: the caller's promise.
        unsafe { tree::remove(shard, *wanted.key, entry) }
    }
}
