//! Code that the parking locks share: the parking policy, and the table where a releasing thread
//! finds a parked waiter.
//!
//! A thread may be preempted while it waits for a lock or holds one. Either there are more threads
//! than CPUs, or a hypervisor does not run the thread's virtual CPU. Such a thread holds up every
//! thread that spins for it. The remedy has two halves:
//!
//! - A waiter that has spun for a threshold *announces* itself and parks. Its CPU is free for the
//!   thread that it waits for.
//! - A release that sees an announced waiter *kicks* it: the next waiter, and any timed waiters.
//!
//! Two locks of this crate work this way: [`PvTicket`](super::PvTicket) and
//! [`PvQueued`](super::PvQueued).
//!
//! # The hooks
//!
//! The host provides the hooks:
//!
//! - [`Host::park`](crate::platform::Host::park) and
//!   [`Host::unpark`](crate::platform::Host::unpark): a futex on Linux, a mutex and a condition
//!   variable elsewhere. A guest kernel uses two hypercalls, one that halts and one that wakes
//!   (`examples/hypercall_host.rs`).
//! - [`Host::yield_now`](crate::platform::Host::yield_now) and
//!   [`Host::now`](crate::platform::Host::now).
//! - [`Host::execution`](crate::platform::Host::execution): interruption code must not park.
//!
//! A waiter waits on a word in its slot's queue node, never on the lock. So a host can find the
//! thread to wake from the word's address. (Waiters for the barrier of a [reclamation
//! domain](crate::reclaim), or for a buffer to be filled, share a word elsewhere.)
//!
//! # The table
//!
//! A lock of four bytes has no room for the name of a parked waiter. The host has a table of these
//! names ([`Host::announcements`](crate::platform::Host::announcements)), indexed by address and
//! turn:
//!
//! ```text
//!    63                                        16 15              0
//!   +--------------------------------------------+-----------------+
//!   | 48 bits of a hash of (address, turn)       | name of a node  |     0: free
//!   +--------------------------------------------+-----------------+
//! ```
//!
//! Only the waiter writes and clears its word in the table. If two announcements have the same 48
//! bits, a release causes a spurious wake-up, which every waiter tolerates. The table is bounded. A
//! waiter that finds no free word in the line for its lock and turn does not park. It yields, and
//! polls the lock in between.
//!
//! Sources:
//!
//! - The remedy in a guest, with a hypervisor's help: T. Friebel and S. Biemueller, *How to Deal
//!   with Lock Holder Preemption*, Xen Summit, 2008.
//! - Paravirtualized ticket spinlocks: the descriptions of J. Fitzhardinge and K. Raghavendra
//!   (linux-kernel mailing list, 2008 to 2013).
//! - Paravirtualized queued spinlocks: the description of W. Long (the same list, 2015).
//!
//! This code was written from the descriptions, not from an implementation.

use super::queue::Name;
use crate::platform::{
    Announcement, Event, Execution, HostWithSlots, Ordering, Region, Word, during, spread,
};
use core::fmt::Debug;
use core::time::Duration;

/// The policy of a lock that parks: when a waiter parks, and how long newcomers may pass it.
///
/// A host whose wake-ups cost much more or less than a futex's needs a different policy. A waiter
/// should spin for about as long as one park and wake-up take. Then it waits at most twice as long
/// as with perfect foresight.
pub trait Hooks: Debug + 'static {
    /// True if waiters park. If false, the lock compiles to the plain lock of its kind, instruction
    /// for instruction.
    const PARK: bool = true;

    /// Number of polls of a waiter before it parks.
    const SPINS: u32 = 50;

    /// Number of polls of a newcomer before it joins the queue, for a lock that newcomers may
    /// steal. With a small value, most threads park instead of competing for the line, and the
    /// others continue undisturbed.
    const NEWCOMER_SPINS: u32 = 10;

    /// Maximum number of times that newcomers may pass the first in the queue; 1 to 1000.
    const MOST_PASSES: u32 = 1000;

    /// Time after which newcomers may no longer pass the first in the queue, counted from its
    /// joining, on hosts with a clock. The waiter closes the lock itself, when it runs. Until it
    /// gets a CPU, only [`MOST_PASSES`](Self::MOST_PASSES) limits how often it is passed.
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

/// The value of [`QueueNode::ready`](crate::platform::QueueNode) for a waiter that must be kicked:
/// it is parked, or about to park. No other lock that uses the
/// node stores this value in the word.
pub(super) const PARKED: u32 = 3;
/// The value with which a kick replaces `PARKED`.
pub(super) const KICKED: u32 = 1;

/// Returns true if the running code may park.
#[inline]
pub(crate) fn may_park<H: HostWithSlots>() -> bool {
    H::execution() == Execution::Thread
}

/// Returns the upper 48 bits of an announcement. A release finds the announcement by these bits.
#[inline]
fn tag(lock: usize, turn: u32) -> u64 {
    spread(lock, turn) & !0xffff
}

/// An announcement. While it exists, a release can find the waiter.
pub(super) struct Announced<H: HostWithSlots>(&'static Announcement<H::Atomics>);

/// Announces that `me` waits for `turn` in the lock at address `lock`. Returns `None` if there is
/// no room. Relaxed: the call orders nothing.
pub(super) fn announce<H: HostWithSlots>(lock: usize, turn: u32, me: Name) -> Option<Announced<H>> {
    announce_from::<H>(0, lock, turn, me)
}

/// The same as [`announce`], for a waiter outside the queue. It uses only the second half of the
/// line. Waiters with distant deadlines thus leave room for the next in the queue to park.
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
    // Relaxed: the caller ensures that a release finds the announcement.
    let free = |entry: &&Announcement<H::Atomics>| {
        entry.0.load(Ordering::Relaxed) == 0
            && entry.0.compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    words.iter().skip(first).find(free).map(Announced)
}

impl<H: HostWithSlots> Announced<H> {
    /// Withdraws the announcement.
    pub(super) fn withdraw(self) {
        // Relaxed: a release that still finds the announcement causes a spurious wake-up.
        self.0.0.store(0, Ordering::Relaxed);
    }
}

/// Kicks the waiters that have announced `turn` in the lock at address `lock`. The lock may have
/// been freed.
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
    // Relaxed: the waiter finds all that it must see in the lock's word. If the node already serves
    // another wait, that wait gets a spurious wake-up.
    if ready.compare_exchange(PARKED, KICKED, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        H::count(Event::Kick);
        H::unpark(ready, 1);
    }
}

/// Marks `me` as a waiter that others must kick, before others can find it, and again before it
/// parks again. The function uses an exchange, so that the mark comes after a kick of the previous
/// park. Relaxed: it orders nothing.
pub(super) fn prepare<H: HostWithSlots>(me: Name) {
    me.node::<H>().ready.swap(PARKED, Ordering::Relaxed);
}

/// Parks `me`, until another thread replaces `PARKED` in its node.
pub(super) fn park<H: HostWithSlots>(me: Name, timeout: Option<Duration>) {
    H::count(Event::Wait);
    during::<H, _>(Region::Idle, || H::park(&me.node::<H>().ready, PARKED, timeout));
}
