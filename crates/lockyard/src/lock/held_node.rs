//! Queues whose holder keeps its node until the release. [`Mcs`](super::Mcs) and
//! [`Clh`](super::Clh) share this code.

use super::algorithm::Algorithm;
use super::queue::{self, Name};
use crate::lane::Lane;
use crate::platform::{HostWithSlots, Ordering};

/// The steps to the lock that differ between MCS and CLH.
pub(super) trait HeldNode<H: HostWithSlots>: Algorithm {
    /// The fatal message for a thread that needs a node and can never get one.
    const NO_NODE: &'static str;

    /// Takes a node of the running thread; `None` if it has no slot, or none is free.
    fn take() -> Option<Name>;
    /// Makes a node of the running thread ready to be queued.
    fn prepare(me: Name);
    /// Gives back a node that no other thread has joined behind.
    fn give_back(me: Name);
    /// Waits for the lock behind `predecessor`.
    fn wait(me: Name, predecessor: Name);
}

/// Waits for a node when all are in use: a successor has not finished yet with one of them.
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

/// Takes the lock if it is free and a node is free. Returns the same token as [`lock`].
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
