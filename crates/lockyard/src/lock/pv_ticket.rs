//! The ticket lock whose waiters park: first come, first served, even if a waiter or the holder is
//! preempted.
//!
//! ```text
//!    31                 17 16  15                  1 0
//!   +---------------------+---+---------------------+---+
//!   | next                | 0 | owner               | S |     free  <=>  next == owner
//!   +---------------------+---+---------------------+---+
//!
//!   next    lock: fetch-and-add of a step; the old value is my ticket
//!   owner   unlock: fetch-and-add, by the holder alone; the result says S
//!   S       slow: a waiter may have announced that it parks; a parking waiter sets it
//!
//!   (n, n, 0)  --lock--> (n+1, n, 0)
//!        uncontended
//!   (m, n, s)  --a waiter that parks, fetch-or--> (m, n, 1)
//!        after it has announced itself, before it looks again
//!   (m, n, 0)  --unlock--> (m, n+1, 0)
//!   (m, n, 1)  --unlock--> (m, n+1, 1)
//!        ticket n+1 is kicked, if it has announced itself
//!   (n+1, n, 1)  --the holder, compare-exchange--> (n+1, n, 0)
//!        when it has waited and no thread waits behind it
//! ```
//!
//! A counter has 15 bits, and counts in steps of 2, because the lowest bit of the owner's half is
//! the flag S. An addition to a half never changes the flag, and setting the flag never changes a
//! counter.
//!
//! # Why no wake-up is lost
//!
//! A waiter takes these steps:
//!
//! 1. It announces (address, ticket).
//! 2. It sets the flag by a read-modify-write.
//! 3. It executes a fence.
//! 4. It reads `owner` again. If it does not have its turn, it parks on *its own* word.
//!
//! The releasing thread learns from its read-modify-write whether the flag was set. If so, it
//! executes a fence, and looks for the announcement of the next ticket.
//!
//! One of the two fences comes first. So either the releasing thread finds the announcement, or the
//! waiter finds that it has its turn. The other case is that the flag was set after the release.
//! Then the setting comes later than the release in the word's modification order, and so does the
//! value that the waiter reads next. The same two fences protect a waiter that wakes up spuriously
//! and parks again.
//!
//! After its read-modify-write a release does not touch the word, because the next holder may free
//! it. So a release cannot clear the flag. Instead, a holder that had to wait clears it, by a
//! compare-exchange that succeeds only if no thread waits behind it. The last waiter of a contended
//! phase does this, so the flag does not outlive the contention.
//!
//! Each hand-over to a parked waiter costs a wake-up. That is the price of strict order.
//! [`PvQueued`](super::PvQueued) lets other threads pass meanwhile.
//!
//! Three kinds of waiters yield instead of parking: a waiter without a slot, interruption code
//! ([`Host::execution`](crate::platform::Host::execution)), and one that finds the table full.
//!
//! Sources:
//!
//! - The lock: J. Fitzhardinge and K. Raghavendra, *Paravirtualized ticket spinlocks*, linux-kernel
//!   mailing list, 2013, with the measurements of the published table `pv-ticketlock-dbench`.
//! - The rule that the release must not clear the flag: K. Raghavendra, *x86/spinlocks/paravirt:
//!   Fix memory corruption on unlock*, 2015.
//! - The problem: T. Friebel and S. Biemueller, *How to Deal with Lock Holder Preemption*, Xen
//!   Summit, 2008.
//!
//! This code was written from the descriptions, not from an implementation.

use super::algorithm::{Algorithm, FairLock, LaneLock};
use super::pv::{self, Hooks, Parks};
use super::{Ticket, queue};
use crate::invariance::Invariant;
use crate::lane::{FourBytes, Lane, lower, upper};
use crate::platform::{Atomics, Event, HostWithSlots, Int, Ordering};

/// The ticket lock whose waiters park. See the [module documentation](self).
///
/// Uncontended: two locked adds, one to lock and one to unlock. It needs a lane of 32 bits. At most
/// 2^14 threads may hold or wait at once; one more ends the program, as with [`Ticket`]. With
/// [`Spins`](pv::Spins) the lock is [`Ticket`] itself.
#[derive(Debug)]
pub struct PvTicket<P: Hooks = Parks>(Invariant<P>);

/// The flag S: a waiter may have announced itself in order to park.
const SLOW: u64 = 1;
/// Difference between consecutive tickets.
const STEP: u64 = 2;
/// Mask of one half of the lane.
const HALF: u64 = 0xffff;
/// The last ticket before tickets wrap to 0.
const LAST: u64 = HALF - SLOW;
/// Largest allowed distance from the owner to the last ticket. Beyond it a counter of 15 bits is
/// about to overflow.
const MAX_DISTANCE: u64 = 1 << 14;

#[inline(always)]
fn bits<L: Lane>(bits: u64) -> L::Bits {
    L::Bits::truncate(bits)
}

#[inline(always)]
fn next<B: Int>(bits: B) -> u64 {
    upper(bits).to_u64()
}

#[inline(always)]
pub(super) fn owner<B: Int>(bits: B) -> u64 {
    lower(bits).to_u64() & !SLOW
}

#[inline(always)]
fn after(ticket: u64) -> u64 {
    (ticket + STEP) & HALF
}

/// Fails to compile if the counters do not fit.
const fn assert_width<L: Lane>() {
    assert!(<L::Bits as Int>::BITS == 32, "a ticket lock whose waiters park needs 32 bits");
}

#[cold]
#[inline(never)]
fn wait_for_turn<P: Hooks, H: HostWithSlots, L: Lane>(lane: L, before: L::Bits) {
    let ticket = next(before);
    // Distance from `owner` to `next` after this thread's increment of `next`.
    if (ticket.wrapping_sub(owner(before)) & HALF) / STEP + 1 > MAX_DISTANCE {
        H::fatal("pv-ticket lock: more than 2^14 threads hold or wait for one lock");
    }
    H::count(Event::Slowpath);
    let mine = |bits: u64| bits & LAST == ticket;
    // Acquire: pairs with the release of the `unlock` that hands the lock to this ticket.
    let spun = lane.wait_within::<H>(Ordering::Acquire, P::SPINS, mine);
    let seen = spun.unwrap_or_else(|| park_until_turn::<H, L>(lane, ticket));
    if lower(seen).to_u64() & SLOW != 0 && next(seen) == after(ticket) {
        // Relaxed: it publishes nothing. It fails if another thread has joined, and that thread
        // then clears the flag.
        let quiet = bits::<L>(seen.to_u64() & !SLOW);
        let _ = lane.compare_exchange(seen, quiet, Ordering::Relaxed);
    }
}

/// Parks until it is the turn of `ticket`. Returns the lane at that moment.
fn park_until_turn<H: HostWithSlots, L: Lane>(lane: L, ticket: u64) -> L::Bits {
    let mine = |bits: u64| bits & LAST == ticket;
    let lock = core::ptr::from_ref(lane.word()).addr();
    let me = if pv::may_park::<H>() { queue::take::<H>() } else { None };
    if me.is_none() && pv::may_park::<H>() {
        H::count(Event::NoNode);
    }
    let announced = me.and_then(|me| {
        pv::prepare::<H>(me);
        pv::announce::<H>(lock, ticket as u32, me)
    });
    let seen = match (me, announced) {
        (Some(me), Some(announced)) => {
            // Relaxed: the fence below orders it.
            lane.fetch_or(bits::<L>(SLOW), Ordering::Relaxed);
            let seen = loop {
                // Pairs with the fence in `kick_next`. Either that thread finds the announcement
                // and this waiter's word, or this waiter finds that it has its turn.
                H::Atomics::fence(Ordering::SeqCst);
                // Acquire: pairs with the release of the `unlock` that hands the lock over.
                let seen = lane.load(Ordering::Acquire);
                if mine(seen.to_u64()) {
                    break seen;
                }
                pv::park::<H>(me, None);
                pv::prepare::<H>(me);
            };
            announced.withdraw();
            seen
        }
        // Acquire: as above.
        _ => lane.wait_yielding::<H>(Ordering::Acquire, mine),
    };
    if let Some(me) = me {
        queue::give_back::<H>(me);
    }
    seen
}

/// Kicks the waiter with `ticket`, if it is parked. That waiter already owns the lock at address
/// `lock`, and may have freed it.
#[cold]
#[inline(never)]
fn kick_next<H: HostWithSlots>(lock: usize, ticket: u64) {
    // Pairs with the fence in `park_until_turn`.
    H::Atomics::fence(Ordering::SeqCst);
    pv::kick_announced::<H>(lock, ticket as u32);
}

impl<P: Hooks> Algorithm for PvTicket<P> {
    type Token = u16;
    type Width = FourBytes;

    #[inline(always)]
    fn is_held<B: Int>(bits: B) -> bool {
        if P::PARK { next(bits) != owner(bits) } else { <Ticket>::is_held(bits) }
    }
}

// SAFETY: as for `Ticket`, with counters of 15 bits. At most 2^14 tickets are in use, as the
// distance check ensures, so no two of them are equal. Only the holder advances `owner`. Two other
// changes of the lane keep both counters: setting the flag, and clearing it by a compare-exchange.
// All changes are read-modify-writes. After its addition, `unlock` uses only the address of the
// word. With `Hooks::PARK` false all code is that of `Ticket`.
unsafe impl<H: HostWithSlots, P: Hooks> LaneLock<H> for PvTicket<P> {
    #[inline(always)]
    unsafe fn lock<L: Lane>(lane: L) -> u16 {
        if !P::PARK {
            // SAFETY: the caller's promise; with this policy `Ticket` also makes all other changes.
            return unsafe { <Ticket as LaneLock<H>>::lock(lane) };
        }
        const { assert_width::<L>() }
        // Acquire: pairs with the release of `unlock`, when the lock was free.
        let before = lane.fetch_add(bits::<L>(STEP << 16), Ordering::Acquire);
        if next(before) != owner(before) {
            wait_for_turn::<P, H, L>(lane, before);
        }
        next(before) as u16
    }

    #[inline(always)]
    unsafe fn try_lock<L: Lane>(lane: L) -> Option<u16> {
        if !P::PARK {
            // SAFETY: as in `lock`.
            return unsafe { <Ticket as LaneLock<H>>::try_lock(lane) };
        }
        const { assert_width::<L>() }
        let seen = lane.load(Ordering::Relaxed);
        if next(seen) != owner(seen) {
            return None;
        }
        let taken = after(next(seen)) << 16 | lower(seen).to_u64();
        // Acquire: pairs with the release of `unlock`.
        let taken = lane.compare_exchange(seen, bits::<L>(taken), Ordering::Acquire);
        taken.ok().map(|_| next(seen) as u16)
    }

    #[inline(always)]
    unsafe fn unlock<L: Lane>(lane: L, token: u16) {
        if !P::PARK {
            // SAFETY: the caller's promise. The token is one of `Ticket`.
            return unsafe { <Ticket as LaneLock<H>>::unlock(lane, token) };
        }
        let ticket = u64::from(token);
        let lock = core::ptr::from_ref(lane.word()).addr();
        // Step from the last ticket to the first, without a carry into `next`.
        let step = if ticket == LAST { STEP.wrapping_sub(1 << 16) } else { STEP };
        // Release: pairs with the acquire of the next owner, in `lock`, `try_lock` or its wait.
        let before = lane.fetch_add(bits::<L>(step), Ordering::Release);
        if before.to_u64() & SLOW != 0 {
            kick_next::<H>(lock, after(ticket));
        }
    }
}

// SAFETY: `unlock_fair` is `LaneLock::unlock`.
unsafe impl<H: HostWithSlots, P: Hooks> FairLock<H> for PvTicket<P> {}
