//! What the locks that park have in common: the policy that says whether and when, and how who releases a lock finds a waiter
//! that is parked.
//!
//! A waiter or a holder whose CPU does something else (more threads than CPUs; a virtual CPU that its hypervisor does not
//! run) holds up everyone who spins for it. The remedy is in two halves. A waiter that has spun for a threshold *announces*
//! itself and parks: its CPU is free for the one it waits for. And a release that sees an announced waiter *kicks* it: the
//! next one, and those that wait with a time. [`PvTicket`](super::PvTicket) and [`PvQueued`](super::PvQueued) are the two locks of this crate with it.
//!
//! # The hooks
//!
//! They are the host's: [`Host::park`](crate::platform::Host::park) and
//! [`Host::unpark`](crate::platform::Host::unpark) (a futex on Linux, a mutex and a condition
//! variable elsewhere, a hypercall that halts, and one that wakes, in a guest kernel:
//! `examples/hypercall_host.rs`), [`Host::yield_now`](crate::platform::Host::yield_now),
//! [`Host::now`](crate::platform::Host::now) and
//! [`Host::execution`](crate::platform::Host::execution): an interruption does not park. A waiter
//! waits on a word of its own, in its slot's queue node, never on the lock; so a host may know from
//! the word's address whom to wake. (Waiters for a [reclamation domain's](crate::reclaim) barrier, or
//! for a buffer to be filled, share a word elsewhere.)
//!
//! # The table
//!
//! A lock of four bytes has no room for the name of who is parked. It stands in a table of the host's
//! ([`Host::announcements`](crate::platform::Host::announcements)), by address and turn:
//!
//! ```text
//!    63                                        16 15              0
//!   +--------------------------------------------+-----------------+
//!   | 48 bits of a hash of (address, turn)       | name of a node  |     0: free
//!   +--------------------------------------------+-----------------+
//! ```
//!
//! Only the waiter writes and clears its word. Two announcements with the same 48 bits cost a wake-up for no reason, for which
//! every waiter is prepared. The table is bounded: who finds no free word in the line for its lock and turn does not park, but
//! yields, and looks at the lock between.
//!
//! Source: T. Friebel and S. Biemueller, *How to Deal with Lock Holder Preemption*, Xen Summit, 2008 (the remedy in a guest,
//! with a hypervisor's help); J. Fitzhardinge's and K. Raghavendra's descriptions of paravirtualized ticket spinlocks
//! (linux-kernel mailing list, 2008 to 2013); W. Long's of paravirtualized queued spinlocks (the same, 2015). Written from the
//! descriptions, not from an implementation.

use super::queue::Name;
use crate::platform::{
    Announcement, Event, Execution, HostWithSlots, Ordering, Region, Word, during, spread,
};
use core::fmt::Debug;
use core::time::Duration;

/// When a waiter parks, and how long it may be passed.
///
/// A host of whose wake-ups the price differs much from a futex' has a policy of its own: who parks should have spun for
/// about as long as parking and being woken takes, then it waits at most twice as long as if it had known.
pub trait Hooks: Debug + 'static {
    /// Whether waiters park at all. Without, a lock is the plain one of its kind, instruction for instruction.
    const PARK: bool = true;

    /// Polls of a waiter before it parks.
    const SPINS: u32 = 50;

    /// Polls of a newcomer to a lock that may be stolen, before it joins the queue. With few, threads that would only take
    /// the line from each other park, and those that remain go on undisturbed.
    const NEWCOMER_SPINS: u32 = 10;

    /// How often the first in the queue is passed at most; 1 to 1000.
    const MOST_PASSES: u32 = 1000;

    /// For how long after it has joined the queue a waiter, once it is the first in it, is passed at most, where the host has
    /// a clock. It says so itself, when it runs: until a CPU has been found for it the passes alone bound how often it is passed.
    const LONGEST_PASSED: Duration = Duration::from_millis(1);
}

/// Waiters park.
#[derive(Debug)]
pub struct Parks;
impl Hooks for Parks {}

/// Waiters spin: compiled without the hooks.
#[derive(Debug)]
pub struct Spins;
impl Hooks for Spins {
    const PARK: bool = false;
}

/// In [`QueueNode::ready`](crate::platform::QueueNode) of a waiter that others must kick: it is parked, or about to be. All
/// other values of the word, whatever lock uses the node, are less.
pub(super) const PARKED: u32 = 3;
/// What a kick makes of it.
pub(super) const KICKED: u32 = 1;

/// Whether the running code may park.
#[inline]
pub(super) fn may_park<H: HostWithSlots>() -> bool {
    H::execution() == Execution::Thread
}

/// The bits by which an announcement is found.
#[inline]
fn tag(lock: usize, turn: u32) -> u64 {
    spread(lock, turn) & !0xffff
}

/// A waiter that can be found.
pub(super) struct Announced<H: HostWithSlots>(&'static Announcement<H::Atomics>);

/// Announces that `me` waits for `turn` in the lock at the address `lock`; `None` if there is no room. It orders nothing.
pub(super) fn announce<H: HostWithSlots>(lock: usize, turn: u32, me: Name) -> Option<Announced<H>> {
    announce_from::<H>(0, lock, turn, me)
}

/// The same, for a waiter beside the queue. It takes no word of the line's first half, so that waiters
/// with long times do not keep those from parking that are next.
pub(super) fn announce_beside<H: HostWithSlots>(lock: usize, me: Name) -> Option<Announced<H>> {
    announce_from::<H>(H::announcements(lock, 0).len() / 2, lock, 0, me)
}

fn announce_from<H: HostWithSlots>(
    first: usize,
    lock: usize,
    turn: u32,
    me: Name,
) -> Option<Announced<H>> {
    let word = tag(lock, turn) | me.to_bits();
    let words = H::announcements(lock, turn);
    // Relaxed: who is to find it is the caller's business.
    let free = |entry: &&Announcement<H::Atomics>| {
        entry.0.load(Ordering::Relaxed) == 0
            && entry.0.compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    words.iter().skip(first).find(free).map(Announced)
}

impl<H: HostWithSlots> Announced<H> {
    /// Takes it back.
    pub(super) fn withdraw(self) {
        // Relaxed: who still finds it wakes somebody for no reason.
        self.0.0.store(0, Ordering::Relaxed);
    }
}

/// Kicks who has announced to wait for `turn` in the lock at the address `lock`, which may have been freed.
pub(super) fn kick_announced<H: HostWithSlots>(lock: usize, turn: u32) {
    let tag = tag(lock, turn);
    for entry in H::announcements(lock, turn) {
        let word = entry.0.load(Ordering::Relaxed);
        if word & !0xffff == tag
            && let Some(name) = Name::from_bits(word & 0xffff)
        {
            kick::<H>(name);
        }
    }
}

/// Kicks the waiter `name`, if it is parked or about to be.
pub(super) fn kick<H: HostWithSlots>(name: Name) {
    let ready = &name.node::<H>().ready;
    // Relaxed: what the waiter must see is in the lock's word. It may be another wait by now, which then returns for no reason.
    if ready.compare_exchange(PARKED, KICKED, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        H::count(Event::Kick);
        H::unpark(ready, 1);
    }
}

/// Makes `me` one that others must kick: before it can be found, and again before it parks again. An exchange, so that it comes
/// after a kick of its former park. It orders nothing.
pub(super) fn prepare<H: HostWithSlots>(me: Name) {
    me.node::<H>().ready.swap(PARKED, Ordering::Relaxed);
}

/// Parks `me`, until somebody makes something else of its [`PARKED`].
pub(super) fn park<H: HostWithSlots>(me: Name, timeout: Option<Duration>) {
    H::count(Event::Wait);
    during::<H, _>(Region::Idle, || H::park(&me.node::<H>().ready, PARKED, timeout));
}
