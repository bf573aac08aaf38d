//! Queues whose holder keeps its node until the release: what [`Mcs`](super::Mcs) and
//! [`Clh`](super::Clh) share.

use super::algorithm::Algorithm;
use super::queue::{self, Name};
use crate::lane::Lane;
use crate::platform::{HostWithSlots, Ordering};

/// What differs between the two on the way to the lock.
pub(super) trait HeldNode<H: HostWithSlots>: Algorithm {
    /// Said of a thread that wants a node and never gets one.
    const NO_NODE: &'static str;

    /// Takes a node of the running thread; `None` if it has no slot, or none is free.
    fn take() -> Option<Name>;
    /// Makes a node of the running thread ready to be queued.
    fn prepare(me: Name);
    /// Gives back a node that nobody has joined behind.
    fn give_back(me: Name);
    /// Waits for the lock behind `predecessor`.
    fn wait(me: Name, predecessor: Name);
}

/// All nodes are in use: waits for one that a successor has not done with yet.
#[cold]
fn wait_for_node<K: HeldNode<H>, H: HostWithSlots>() -> Name {
    while queue::wait_for_left::<H>() {
        if let Some(me) = K::take() {
            return me;
        }
    }
    H::fatal(K::NO_NODE);
}

/// Takes the lock, and returns the name of the holder's node as a token.
#[inline]
pub(super) fn lock<K: HeldNode<H>, H: HostWithSlots, L: Lane>(lane: L) -> u16 {
    const { queue::assert_names_fit::<H, L>() }
    let me = K::take().unwrap_or_else(|| wait_for_node::<K, H>());
    K::prepare(me);
    if let Some(predecessor) = queue::join(lane, me) {
        K::wait(me, predecessor);
    }
    me.to_bits() as u16
}

/// Takes the lock if it is free and a node is; returns what [`lock`] does.
#[inline]
pub(super) fn try_lock<K: HeldNode<H>, H: HostWithSlots, L: Lane>(lane: L) -> Option<u16> {
    const { queue::assert_names_fit::<H, L>() }
    if K::is_held(lane.load(Ordering::Relaxed)) {
        return None;
    }
    let me = K::take()?;
    K::prepare(me);
    if queue::join_if_free(lane, me) {
        return Some(me.to_bits() as u16);
    }
    K::give_back(me);
    None
}
