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
//! In the original algorithm, a releasing thread leaves its node in the queue and takes over its
//! predecessor's node. So each lock needs a node from its creation on. Here a lock is four bytes
//! that start as zero, so nodes stay with their slots. A successor announces itself, and reports
//! when it has finished with its predecessor's node. The last thread in the queue clears its name
//! from the word.
//!
//! This scheme makes the release more expensive:
//!
//! - It reads the holder's node first.
//! - It exchanges the node's state, where the original only stores. (The successor's announcement
//!   is also an exchange, and the model checker does not order a store against an exchange.)
//! - If no successor has announced itself, it first tries a compare-exchange of the word. Later
//!   would be too late: the successor may already have freed the lock.
//!
//! A thread may hold or wait for at most [`NEST_LEVELS`](crate::platform::NEST_LEVELS) of these
//! locks, and a thread without a slot may use none. Beyond that `lock` ends the program
//! ([`Host::fatal`](crate::platform::Host::fatal)). If a thread has released four locks and no
//! successor has noticed yet, its next `lock` waits until one notices. A `try_lock` without a node
//! fails in both cases.
//!
//! Signal handlers must not use these locks. A handler leaves nodes to its successors, and the
//! interrupted code could mistake such a node for a free one.
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
/// locks together. A thread without a slot may use none. A thread has no slot if
/// [`Host::SLOTS`](crate::platform::Host::SLOTS) other threads have one, or while its thread-local
/// destructors run after it gave its slot back. Beyond these limits `lock` ends the program with a
/// message ([`Host::fatal`](crate::platform::Host::fatal)), and `try_lock` fails. Signal handlers
/// must not use it.
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
        "clh lock: the calling thread has no slot, or already holds four of these locks";

    #[inline]
    fn take() -> Option<Name> {
        queue::keep::<H>()
    }

    #[inline]
    fn prepare(me: Name) {
        // Relaxed: the change of the tail publishes this store. `parked` is already 0, because
        // `keep` returns only nodes with that value.
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
        // Both are acquire: they pair with the release of the predecessor's exchange in `unlock`.
        if ready.swap(ANNOUNCED, Ordering::Acquire) != RELEASED {
            H::wait_until(ready, Ordering::Acquire, |state| state == RELEASED);
        }
        queue::done_with::<H>(predecessor);
    }
}

// SAFETY: a thread whose swap finds the queue empty has the lock. Any other thread has the lock
// when its predecessor's node says that the lock was released. Only the holder clears the tail, and
// only while the tail is its own name. A node is reused only after its one successor has finished
// with it. Comments at each operation justify its ordering. Every change of the word is a
// read-modify-write.
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
        // Relaxed: a hint. If a successor has joined but not announced itself yet, the
        // compare-exchange fails.
        if ready.load(Ordering::Relaxed) == HELD && queue::leave_if_last(lane, me) {
            return queue::give_back_kept::<H>(me);
        }
        // The mark is set only here: a node that is given back above must not count later as left
        // to a successor. Relaxed: the successor overwrites it only after it has seen the release
        // below.
        me.node::<H>().parked.store(LEFT, Ordering::Relaxed);
        // The successor gives the node back. Release: pairs with the acquires in `wait`.
        ready.swap(RELEASED, Ordering::Release);
    }
}

// SAFETY: `unlock_fair` is `LaneLock::unlock`.
unsafe impl<H: HostWithSlots> FairLock<H> for Clh {}
