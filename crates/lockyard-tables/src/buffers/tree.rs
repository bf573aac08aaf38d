//! A treap: a binary search tree by key, and a heap by the hash of the key. So its shape depends on
//! its contents and not on their history. Its depth is logarithmic, as that of a tree built in
//! random order.
//!
//! Everything here runs under the shard's lock, so all orderings are relaxed. Source: R. Seidel and
//! C. Aragon, *Randomized search trees*, Algorithmica 16, 1996. Insertion splits and removal joins,
//! as there in section 3, instead of rotations.

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

/// A place in which a subtree hangs.
type Place<'t, H> = &'t U64<H>;

/// Returns the root of the subtree that hangs in `place`.
///
/// # Safety
///
/// The place is of a tree with buffers of this type, whose shard's lock the caller holds as long as
/// the returned root is used.
#[inline(always)]
unsafe fn root<'t, T: Send, K: LaneLock<H>, H: Host, C: Context>(
    place: Place<'t, H>,
) -> Option<&'t Entry<T, K, H, C>> {
    // SAFETY: what is in the tree stays there while the lock is held.
    unsafe { from_word::<Entry<T, K, H, C>>(place.load(Ordering::Relaxed)).as_ref() }
}

/// Returns the place, from the root on, in which `key` is, or would be below all nodes whose
/// priority is `least` or more.
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

/// Returns the buffer of `key`.
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

/// Puts a buffer into the tree at the place of its priority. The subtree that was there is split by
/// the buffer's key.
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
    // The places in which the next lesser node, and the next greater one, will hang.
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
