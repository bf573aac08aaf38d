//! The MCS lock: a queue in which each waiter, and the holder, has a separate node. For comparison.
//!
//! ```text
//!   tail (upper half of the lane): the last in the queue      free  <=>  0
//!
//!   holder's node --next--> waiter's node --next--> waiter's node <-- tail
//!                           spins on `ready`        spins on `ready`
//! ```
//!
//! A holder of the queued lock ([`Queued`](super::Queued)) has already given its node back. A
//! holder of this lock keeps its node until the release. That has a price:
//!
//! - A thread may hold or wait for at most [`NEST_LEVELS`](crate::platform::NEST_LEVELS) of these
//!   locks, and a thread without a slot may use none. One more ends the program
//!   ([`Host::fatal`](crate::platform::Host::fatal)). A `try_lock` fails instead.
//! - The thread's nodes may be in use because it released CLH locks ([`Clh`](super::Clh)) and left
//!   the nodes to its successors. `lock` then waits until one successor has finished with its node.
//!   That successor needs only a CPU to do so.
//! - A signal handler that interrupts a wait for a CLH lock must not wait in this way. The
//!   successor that has its node may be waiting for a lock that the handler holds.
//! - If no thread waits, a release is a compare-exchange.
//!
//! Source: J. Mellor-Crummey and M. Scott, *Algorithms for Scalable Synchronization on
//! Shared-Memory Multiprocessors*, ACM TOCS 9(1), 1991, section 2.4. This version uses names of
//! nodes instead of addresses.

use super::algorithm::{Algorithm, FairLock, LaneLock};
use super::held_node::{self, HeldNode};
use super::queue::{self, Name};
use crate::lane::{FourBytes, Lane};
use crate::platform::{Event, HostWithSlots, Int, Ordering, Word};

/// The MCS lock. See the [module documentation](self).
///
/// # Limits
///
/// A thread may hold or wait for at most [`NEST_LEVELS`](crate::platform::NEST_LEVELS) MCS and CLH
/// locks together. A thread without a slot may use none. A thread has no slot if
/// [`Host::SLOTS`](crate::platform::Host::SLOTS) other threads have one, or while its thread-local
/// destructors run after it gave its slot back. Beyond these limits `lock` ends the program with a
/// message ([`Host::fatal`](crate::platform::Host::fatal)), and `try_lock` fails.
#[derive(Debug)]
pub struct Mcs;

impl Algorithm for Mcs {
    type Token = u16;
    type Width = FourBytes;

    #[inline(always)]
    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() != 0
    }
}

impl<H: HostWithSlots> HeldNode<H> for Mcs {
    const NO_NODE: &'static str =
        "mcs lock: the calling thread has no slot, or already holds four of these locks";

    #[inline]
    fn take() -> Option<Name> {
        queue::take::<H>()
    }

    #[inline]
    fn prepare(me: Name) {
        let node = me.node::<H>();
        // Relaxed: the change of the tail, and the store to the predecessor's `next`, publish these
        // stores.
        node.next.store(0, Ordering::Relaxed);
        node.ready.store(0, Ordering::Relaxed);
    }

    #[inline]
    fn give_back(me: Name) {
        queue::give_back::<H>(me);
    }

    #[cold]
    #[inline(never)]
    fn wait(me: Name, predecessor: Name) {
        H::count(Event::Slowpath);
        // Release: pairs with the acquire in the predecessor's `unlock`. The predecessor then
        // writes to `ready`.
        predecessor.node::<H>().next.store(me.to_bits() as u32, Ordering::Release);
        // Acquire: pairs with the release store in `unlock`.
        H::wait_until(&me.node::<H>().ready, Ordering::Acquire, |ready| ready != 0);
    }
}

// SAFETY: a thread whose swap finds the queue empty has the lock. Any other thread has the lock
// when its predecessor, the holder, stores to that thread's `ready`, once. Only the holder clears
// the tail, and only while the tail is its own name. Comments at each operation justify its
// ordering. Every change of the word is a read-modify-write.
unsafe impl<H: HostWithSlots> LaneLock<H> for Mcs {
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
        let node = me.node::<H>();
        // Acquire: pairs with the release store of the successor, which prepared its node before
        // that store.
        let mut next = node.next.load(Ordering::Acquire);
        if next == 0 {
            if queue::leave_if_last(lane, me) {
                return queue::give_back::<H>(me);
            }
            // A thread has joined, and is about to store its name. Acquire: as above.
            next = H::wait_until(&node.next, Ordering::Acquire, |next| next != 0);
        }
        if let Some(successor) = Name::from_bits(u64::from(next)) {
            // Release: pairs with the acquire of the successor's wait.
            successor.node::<H>().ready.store(1, Ordering::Release);
        }
        queue::give_back::<H>(me);
    }
}

// SAFETY: `unlock_fair` is `LaneLock::unlock`.
unsafe impl<H: HostWithSlots> FairLock<H> for Mcs {}
