//! The CLH lock: a queue in which each waiter spins on its predecessor's node. For comparison.
//!
//! ```text
//!   tail (upper half of the lane): the last in the queue      free  <=>  0
//!
//!   holder's node <--spins-- waiter's node <--spins-- waiter's node <-- tail
//!
//!   a node's `ready`:  HELD --successor, swap--> ANNOUNCED --holder's release, swap--> RELEASED
//!                      HELD --holder's release, swap--> RELEASED
//! ```
//!
//! In the original, a releasing thread leaves its node in the queue and takes over its
//! predecessor's. So each lock owns one node from its creation on. Here a lock is four bytes that
//! begin as zeros, so nodes stay with their slots. A successor announces itself, and reports when
//! it has finished with its predecessor's node. The last in the queue takes its name out of the
//! word.
//!
//! The price is in the release:
//!
//! - It reads the holder's node first.
//! - It exchanges the node's state, where the original stores. (The successor's announcement is an
//!   exchange too, and the model checker does not order a store against an exchange.)
//! - If no successor has announced itself, it first tries a compare-exchange of the word. It cannot
//!   do so later: by then the successor may have freed the lock.
//!
//! A thread may hold or wait for at most [`NEST_LEVELS`](crate::platform::NEST_LEVELS) of these
//! locks, and a thread without a slot may use none. Beyond that `lock` ends the program
//! ([`Host::fatal`](crate::platform::Host::fatal)). A thread with four releases that no successor
//! has noticed yet waits, in its next `lock`, until one is noticed. A `try_lock` without a node
//! fails in both cases.
//!
//! Signal handlers must not use these locks: the interrupted code could take a node for free that
//! the handler has left to its successor.
//!
//! Source: T. Craig, *Building FIFO and Priority-Queuing Spin Locks from Atomic Swap*, University
//! of Washington TR 93-02-02, 1993; P. Magnusson, A. Landin and E. Hagersten, *Queue Locks on Cache
//! Coherent Multiprocessors*, IPPS 1994.

use super::algorithm::{Algorithm, FairLock, LaneLock};
use super::held_node::{self, HeldNode};
use super::queue::{self, Name};
use crate::lane::{FourBytes, Lane};
use crate::platform::queue_node::LEFT;
use crate::platform::{Event, HostWithSlots, Int, Ordering, Word};

/// The CLH lock. See the [module documentation](self).
///
/// # Limits
///
/// A thread may hold or wait for at most [`NEST_LEVELS`](crate::platform::NEST_LEVELS) MCS and CLH
/// locks together. A thread without a slot may use none: one of more than
/// [`Host::SLOTS`](crate::platform::Host::SLOTS), or one whose thread-local destructors run after
/// it gave its slot back. Beyond these limits `lock` ends the program with a message
/// ([`Host::fatal`](crate::platform::Host::fatal)), and `try_lock` fails. Signal handlers must not
/// use it.
#[derive(Debug)]
pub struct Clh;

const HELD: u32 = 0;
const ANNOUNCED: u32 = 1;
const RELEASED: u32 = 2;

impl Algorithm for Clh {
    type Token = u16;
    type Width = FourBytes;

    #[inline(always)]
    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() != 0
    }
}

impl<H: HostWithSlots> HeldNode<H> for Clh {
    const NO_NODE: &'static str =
        "clh lock: a thread that has no slot, or already holds four of these locks, asks for one";

    #[inline]
    fn take() -> Option<Name> {
        queue::keep::<H>()
    }

    #[inline]
    fn prepare(me: Name) {
        // Relaxed: the change of the tail publishes it. `parked` is 0: `keep` hands out no
        // other node.
        me.node::<H>().ready.store(HELD, Ordering::Relaxed);
    }

    #[inline]
    fn give_back(me: Name) {
        queue::give_back_kept::<H>(me);
    }

    #[cold]
    #[inline(never)]
    fn wait(_me: Name, predecessor: Name) {
        H::count(Event::Slowpath);
        let ready = &predecessor.node::<H>().ready;
        // Acquire, both: pairs with the release of the predecessor's exchange in `unlock`.
        if ready.swap(ANNOUNCED, Ordering::Acquire) != RELEASED {
            H::wait_until(ready, Ordering::Acquire, |state| state == RELEASED);
        }
        queue::done_with::<H>(predecessor);
    }
}

// SAFETY: a thread that finds the queue empty, by its swap, has the lock. Any other has it when its
// predecessor's node says that it was released. The tail is cleared only from the holder's own
// name. A node is used again only when its one successor has finished with it. Each operation
// argues its ordering, and changes the word by a read-modify-write.
unsafe impl<H: HostWithSlots> LaneLock<H> for Clh {
    #[inline]
    unsafe fn lock<L: Lane>(lane: L) -> u16 {
        held_node::lock::<Self, H, L>(lane)
    }

    #[inline]
    unsafe fn try_lock<L: Lane>(lane: L) -> Option<u16> {
        held_node::try_lock::<Self, H, L>(lane)
    }

    #[inline]
    unsafe fn unlock<L: Lane>(lane: L, token: u16) {
        let Some(me) = Name::from_bits(u64::from(token)) else { return };
        let ready = &me.node::<H>().ready;
        // Relaxed: a hint. The compare-exchange notices a successor that has not announced itself
        // yet.
        if ready.load(Ordering::Relaxed) == HELD && queue::leave_if_last(lane, me) {
            return queue::give_back_kept::<H>(me);
        }
        // Set only here: a node that is given back above must not count as left later. Relaxed: the
        // successor overwrites it only after it has seen the release below.
        me.node::<H>().parked.store(LEFT, Ordering::Relaxed);
        // The successor gives the node back. Release: pairs with the acquires in `wait`.
        ready.swap(RELEASED, Ordering::Release);
    }
}

// SAFETY: the release is `LaneLock`'s.
unsafe impl<H: HostWithSlots> FairLock<H> for Clh {}
