//! The queue of sleepers of a mutex or a reader-writer lock: linked nodes. The lock word names the
//! newest node.
//!
//! A lock word has room for one name. It names the *newest* sleeper, so that a thread joins by one
//! compare-exchange. A release needs the *oldest* sleeper, and finds it by the links:
//!
//! ```text
//!    word ---> newest --older--> ... --older--> oldest --older--> no thread
//!                 |   <--newer--     <--newer--   ^
//!                 +------------- hint ------------+
//! ```
//!
//! - `older` is written by the thread that joins, before others can see its node. Later only the
//!   thread with the queue lock writes it.
//! - `newer` and `hint` are written by the thread that has the *queue lock*, a bit of the lock's
//!   word. The search for the oldest sleeper fills in `newer` on its way, and leaves a hint in the
//!   newest node. The next search ends at the first node with a hint. So each node is passed once,
//!   however long the queue is.
//!
//! A search begins at the newest node and takes the first hint that it finds. So a hint further
//! down the queue may be out of date: no search comes that far. A thread that removes the newest
//! node therefore copies that node's hint to the next older node.
//!
//! When another thread removes a node, the node's `older` names the node itself until the remover
//! has called the owner. So an owner that wants to leave knows that it must wait for that call.
//!
//! The caller of every function here must hold the queue lock. The exceptions are [`prepare`], and
//! two functions for a node that is not in the queue: [`former_use`] and [`restore`]. All accesses
//! are relaxed. The word orders them: a joining thread publishes its node with release, the queue
//! lock is taken with acquire and given back with release, and all changes of the word are
//! read-modify-writes.
//!
//! Source: the idea of a lazily linked queue with a cached end comes from WebKit's `WordLock` (F.
//! Pizlo, *Locking in WebKit*, 2016). This code was written from the description.

use super::queue::Name;
use crate::platform::{Host, Ordering, Word};

/// The half of `QueueNode::parked` that holds the hint.
const HINT: u32 = 16;
const NAME: u32 = 0xffff;

fn name(bits: u32) -> Option<Name> {
    Name::from_bits(u64::from(bits & NAME))
}

fn bits(name: Option<Name>) -> u32 {
    name.map_or(0, |name| name.to_bits() as u32)
}

/// Prepares the node of a thread that is about to join behind `older`.
pub(crate) fn prepare<H: Host>(me: Name, older: Option<Name>) {
    let node = me.node::<H>();
    node.next.store(bits(older), Ordering::Relaxed);
    node.parked.store(0, Ordering::Relaxed);
}

/// Returns the value that the node's former user left in the word that this queue uses for its
/// links. The CLH lock reads there that a successor has finished with the node.
pub(crate) fn former_use<H: Host>(me: Name) -> u32 {
    me.node::<H>().parked.load(Ordering::Relaxed)
}

/// Restores a node that has left the queue to its [`former_use`].
pub(crate) fn restore<H: Host>(me: Name, former_use: u32) {
    let node = me.node::<H>();
    node.next.store(0, Ordering::Relaxed);
    node.parked.store(former_use, Ordering::Relaxed);
}

fn older<H: Host>(of: Name) -> Option<Name> {
    name(of.node::<H>().next.load(Ordering::Relaxed)).filter(|&older| older != of)
}

/// Marks a node that a thread other than its owner is removing.
pub(crate) fn mark_removed<H: Host>(name: Name) {
    set_older::<H>(name, Some(name));
}

/// Returns true if another thread removes `me`, or has removed it.
pub(crate) fn is_removed<H: Host>(me: Name) -> bool {
    name(me.node::<H>().next.load(Ordering::Relaxed)) == Some(me)
}

fn set_older<H: Host>(of: Name, older: Option<Name>) {
    of.node::<H>().next.store(bits(older), Ordering::Relaxed);
}

/// Returns the sleeper that joined after `of`. `of` must not be the newest sleeper, and a search
/// for the oldest sleeper must have passed it.
pub(crate) fn newer<H: Host>(of: Name) -> Option<Name> {
    name(of.node::<H>().parked.load(Ordering::Relaxed))
}

fn set_newer<H: Host>(of: Name, newer: Option<Name>) {
    let word = &of.node::<H>().parked;
    word.store(word.load(Ordering::Relaxed) & !NAME | bits(newer), Ordering::Relaxed);
}

fn hint<H: Host>(of: Name) -> Option<Name> {
    name(of.node::<H>().parked.load(Ordering::Relaxed) >> HINT)
}

fn set_hint<H: Host>(of: Name, oldest: Name) {
    let word = &of.node::<H>().parked;
    let hint = bits(Some(oldest)) << HINT;
    word.store(word.load(Ordering::Relaxed) & NAME | hint, Ordering::Relaxed);
}

/// Finds the oldest sleeper of the queue that ends with `newest`. Cost: one step for each sleeper
/// that has joined since the last call.
pub(crate) fn oldest<H: Host>(newest: Name) -> Name {
    let mut at = newest;
    let oldest = loop {
        if let Some(oldest) = hint::<H>(at) {
            break oldest;
        }
        let Some(older) = older::<H>(at) else { break at };
        set_newer::<H>(older, Some(at));
        at = older;
    };
    set_hint::<H>(newest, oldest);
    oldest
}

/// Removes `me`, which must be in the queue and must not be `newest`.
pub(crate) fn remove<H: Host>(newest: Name, me: Name) {
    // Fills in `newer` of `me`, and the newest node's hint.
    oldest::<H>(newest);
    let (older, newer) = (older::<H>(me), newer::<H>(me));
    let Some(newer) = newer else {
        H::fatal("a lock's queue: a sleeper that is not the newest has none behind it");
    };
    set_older::<H>(newer, older);
    match older {
        Some(older) => set_newer::<H>(older, Some(newer)),
        None => set_hint::<H>(newest, newer),
    }
}

/// Prepares the removal of `newest`. The removal is complete when the lock word names the result
/// instead.
pub(crate) fn before_newest<H: Host>(newest: Name) -> Option<Name> {
    let oldest = oldest::<H>(newest);
    let older = older::<H>(newest)?;
    set_hint::<H>(older, oldest);
    Some(older)
}

/// Puts `me`, which must not be in the queue, before the oldest sleeper of the queue that ends with
/// `newest`.
pub(crate) fn put_first<H: Host>(newest: Name, me: Name) {
    let second = oldest::<H>(newest);
    prepare::<H>(me, None);
    set_newer::<H>(me, Some(second));
    set_older::<H>(second, Some(me));
    set_hint::<H>(newest, me);
}

/// Makes `first` the oldest sleeper of the queue that ends with `newest`. Older sleepers leave the
/// queue.
pub(crate) fn drop_before<H: Host>(newest: Name, first: Name) {
    set_older::<H>(first, None);
    set_hint::<H>(newest, first);
}
