//! A treap: a binary search tree by key, and a heap by the hash of the key. Its shape depends on
//! its contents, not on their history. Its depth is logarithmic, like that of a tree built in
//! random order.
//!
//! Everything here runs under the shard's lock, so all orderings are relaxed. Source: R. Seidel and
//! C. Aragon, *Randomized search trees*, Algorithmica 16, 1996. As in its section 3, insertion
//! splits and removal joins, without rotations.

use super::entry::Entry;
use super::key::Key;
use super::shard::Shard;
use super::wanted::Wanted;
use crate::memory::{from_word, to_word};
use core::cmp;
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::lock::LaneLock;
use lockyard::platform::{Host, Ordering, U64, Word};

/// A word that holds the root of a subtree.
type Place<'t, H> = &'t U64<H>;

/// Returns the root of the subtree in `place`.
///
/// # Safety
///
/// The place must belong to a tree with buffers of this type. The caller must hold that shard's
/// lock while the returned root is used.
#[inline(always)]
unsafe fn root<'t, T: Send, K: LaneLock<H>, H: Host, C: Context>(
    place: Place<'t, H>,
) -> Option<&'t Entry<Key, T, K, H, C>> {
    // SAFETY: buffers in the tree stay there while the lock is held.
    unsafe { from_word::<Entry<Key, T, K, H, C>>(place.load(Ordering::Relaxed)).as_ref() }
}

/// Searches for `key` from the root and returns its place. Stops early at the first node whose
/// priority is less than `least`.
///
/// # Safety
///
/// The same as for [`root`].
#[inline(always)]
unsafe fn descend<'t, T: Send + 't, K: LaneLock<H>, H: Host, C: Context>(
    shard: &'t Shard<K, H, C>,
    key: Key,
    least: u64,
) -> Place<'t, H> {
    let mut place = &shard.root.next;
    // SAFETY: the caller's promise.
    while let Some(node) = unsafe { root::<T, K, H, C>(place) } {
        let at = *node.key();
        place = match key.cmp(&at) {
            cmp::Ordering::Equal => break,
            _ if at.hash() < least => break,
            cmp::Ordering::Less => &node.links.next,
            cmp::Ordering::Greater => &node.links.order,
        };
    }
    place
}

/// Returns the buffer of `key`.
///
/// # Safety
///
/// The caller must hold the shard's lock; the tree's buffers must be of this type.
#[inline(always)]
pub(super) unsafe fn find<T: Send, K: LaneLock<H>, H: Host, C: Context>(
    shard: &Shard<K, H, C>,
    key: Key,
) -> Option<NonNull<Entry<Key, T, K, H, C>>> {
    // SAFETY: the caller's promise.
    let place = unsafe { descend::<T, K, H, C>(shard, key, 0) };
    NonNull::new(from_word(place.load(Ordering::Relaxed)))
}

/// Inserts a buffer at the level of its priority. The subtree that was there is split by the
/// buffer's key.
///
/// # Safety
///
/// The same as for [`find`], and the key must not be in the tree.
pub(super) unsafe fn insert<T: Send, K: LaneLock<H>, H: Host, C: Context>(
    shard: &Shard<K, H, C>,
    wanted: &Wanted<'_, Key>,
    entry: NonNull<Entry<Key, T, K, H, C>>,
) {
    // SAFETY: the caller's promise.
    let place = unsafe { descend::<T, K, H, C>(shard, *wanted.key, wanted.hash) };
    // SAFETY: the buffer belongs to the caller.
    let links = &unsafe { entry.as_ref() }.links;
    // The places for the next smaller node and for the next greater node.
    let (mut lesser, mut greater) = (&links.next, &links.order);
    let mut at = place;
    // SAFETY: as above.
    while let Some(node) = unsafe { root::<T, K, H, C>(at) } {
        let address = to_word(node);
        if node.key() < wanted.key {
            lesser.store(address, Ordering::Relaxed);
            lesser = &node.links.order;
            at = lesser;
        } else {
            greater.store(address, Ordering::Relaxed);
            greater = &node.links.next;
            at = greater;
        }
    }
    lesser.store(0, Ordering::Relaxed);
    greater.store(0, Ordering::Relaxed);
    place.store(to_word(entry.as_ptr()), Ordering::Relaxed);
}

/// Removes a buffer from the tree: its two subtrees are joined in its place.
///
/// # Safety
///
/// The same as for [`find`], and the buffer must be in the tree.
pub(super) unsafe fn remove<T: Send, K: LaneLock<H>, H: Host, C: Context>(
    shard: &Shard<K, H, C>,
    key: Key,
    entry: NonNull<Entry<Key, T, K, H, C>>,
) {
    // SAFETY: the caller's promise.
    let mut place = unsafe { descend::<T, K, H, C>(shard, key, 0) };
    debug_assert!(place.load(Ordering::Relaxed) == to_word(entry.as_ptr()));
    // SAFETY: as above.
    let links = &unsafe { entry.as_ref() }.links;
    // SAFETY: as above.
    let mut lesser = unsafe { root::<T, K, H, C>(&links.next) };
    // SAFETY: as above.
    let mut greater = unsafe { root::<T, K, H, C>(&links.order) };
    loop {
        match (lesser, greater) {
            (Some(l), Some(g)) if l.key().hash() >= g.key().hash() => {
                place.store(to_word(l), Ordering::Relaxed);
                place = &l.links.order;
                // SAFETY: as above.
                lesser = unsafe { root(place) };
            }
            (Some(_), Some(g)) => {
                place.store(to_word(g), Ordering::Relaxed);
                place = &g.links.next;
                // SAFETY: as above.
                greater = unsafe { root(place) };
            }
            (one, other) => {
                let rest = one.or(other).map_or(0, |node| to_word(node));
                place.store(rest, Ordering::Relaxed);
                break;
            }
        }
    }
}
