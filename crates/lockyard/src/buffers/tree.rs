//! A treap: a binary search tree by key, and a heap by the hash of the key, so that its shape depends on what is in it and not on how it came
//! there, and its depth is logarithmic as that of a tree that was built in random order.
//!
//! Everything here runs under the shard's lock, so all orderings are relaxed. Source: R. Seidel and C. Aragon, *Randomized search trees*,
//! Algorithmica 16, 1996; insertion by splitting and removal by joining instead of by rotations, as there in section 3.

use super::entry::Entry;
use super::index::Wanted;
use super::key::Key;
use super::shard::Shard;
use crate::context::Context;
use crate::lock::LaneLock;
use crate::memory::{from_word, to_word};
use crate::platform::{Host, Ordering, U64, Word};
use core::cmp;
use core::ptr::NonNull;

/// A place in which a subtree hangs.
type Place<'t, H> = &'t U64<H>;

/// The root of the subtree that hangs in `place`.
///
/// # Safety
///
/// The place is of a tree with buffers of this type, whose shard's lock the caller holds as long as what is returned is used.
#[inline(always)]
unsafe fn root<'t, T: Send, K: LaneLock<H>, H: Host, C: Context>(
    place: Place<'t, H>,
) -> Option<&'t Entry<T, K, H, C>> {
    // SAFETY: what is in the tree stays there while the lock is held.
    unsafe { from_word::<Entry<T, K, H, C>>(place.load(Ordering::Relaxed)).as_ref() }
}

/// The place, from the root on, in which `key` is, or would be below all whose priority is `least` or more.
///
/// # Safety
///
/// As [`root`].
#[inline(always)]
unsafe fn descend<'t, T: Send + 't, K: LaneLock<H>, H: Host, C: Context>(
    shard: &'t Shard<K, H, C>,
    key: Key,
    least: u64,
) -> Place<'t, H> {
    let mut place = &shard.root.next;
    // SAFETY: the caller's promise.
    while let Some(node) = unsafe { root::<T, K, H, C>(place) } {
        let at = node.key();
        place = match key.cmp(&at) {
            cmp::Ordering::Equal => break,
            _ if at.hash() < least => break,
            cmp::Ordering::Less => &node.links.next,
            cmp::Ordering::Greater => &node.links.order,
        };
    }
    place
}

/// The buffer of `key`.
///
/// # Safety
///
/// The caller holds the shard's lock; the tree's buffers are of this type.
#[inline(always)]
pub(super) unsafe fn find<T: Send, K: LaneLock<H>, H: Host, C: Context>(
    shard: &Shard<K, H, C>,
    key: Key,
) -> Option<NonNull<Entry<T, K, H, C>>> {
    // SAFETY: the caller's promise.
    let place = unsafe { descend::<T, K, H, C>(shard, key, 0) };
    NonNull::new(from_word(place.load(Ordering::Relaxed)))
}

/// Puts a buffer into the tree: where its priority comes, with the subtree that was there split by its key.
///
/// # Safety
///
/// As [`find`], and the key is not in the tree.
pub(super) unsafe fn insert<T: Send, K: LaneLock<H>, H: Host, C: Context>(
    shard: &Shard<K, H, C>,
    wanted: &Wanted,
    entry: NonNull<Entry<T, K, H, C>>,
) {
    // SAFETY: the caller's promise.
    let place = unsafe { descend::<T, K, H, C>(shard, wanted.key, wanted.hash) };
    // SAFETY: the buffer is the caller's.
    let links = &unsafe { entry.as_ref() }.links;
    // Where the next that is lesser, and the next that is greater, will hang.
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

/// Takes a buffer out of the tree: its two subtrees are joined in its place.
///
/// # Safety
///
/// As [`find`], and the buffer is in the tree.
pub(super) unsafe fn remove<T: Send, K: LaneLock<H>, H: Host, C: Context>(
    shard: &Shard<K, H, C>,
    key: Key,
    entry: NonNull<Entry<T, K, H, C>>,
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
