//! The ticket lock whose waiters park: first come, first served, also when those who wait or hold do not run.
//!
//! ```text
//!    31                 17 16  15                  1 0
//!   +---------------------+---+---------------------+---+
//!   | next                | 0 | owner               | S |     free  <=>  next == owner
//!   +---------------------+---+---------------------+---+
//!     ^ lock: fetch-and-add      ^ unlock: fetch-and-add, by the holder   ^ slow: somebody may have announced
//!       of a step; the old         alone, whose result says S               that it parks; set by a waiter's or
//!       value is my ticket
//!
//!   (n, n, 0)  --lock--> (n+1, n, 0)                        uncontended
//!   (m, n, s)  --a waiter that parks, fetch-or--> (m, n, 1)     after it has announced itself, before it looks again
//!   (m, n, 0)  --unlock--> (m, n+1, 0)
//!   (m, n, 1)  --unlock--> (m, n+1, 1)                      and ticket n+1 is kicked, if it has announced itself
//!   (n+1, n, 1)  --the holder, compare-exchange--> (n+1, n, 0)  when it has waited and nobody waits behind it
//! ```
//!
//! A counter has 15 bits, in steps of 2: the lowest bit of the owner's half is the flag. What is added to a half never touches
//! the flag, and the flag's setting never touches a counter.
//!
//! # Why no wake-up is lost
//!
//! A waiter announces (address, ticket), sets the flag by a read-modify-write, puts a fence, reads `owner` again, and parks on
//! *its own* word. Who releases learns from its read-modify-write whether the flag was set; if it was, it puts a fence and
//! looks for the announcement of the next ticket. Of the two fences one comes first: either who releases finds the
//! announcement, or the waiter finds that it is its turn. If the flag was set after the release, its setting is later in the
//! word's order than the release, and so is what the waiter reads after it. The same two fences serve the waiter that returned
//! from its park for no reason and parks again.
//!
//! After the releasing read-modify-write the word is not touched: whoever holds the lock next may free it. Therefore a release
//! does not clear the flag. A holder that had to wait does, by a compare-exchange from a word in which nobody waits behind it;
//! and the last one of a crowd is a holder that had to wait, so the flag does not outlive a crowd.
//!
//! Each hand-over to a parked waiter costs a wake-up: that is the price of strict order. [`PvQueued`](super::PvQueued) lets
//! others pass meanwhile.
//!
//! A waiter without a slot, an interruption
//! ([`Host::execution`](crate::platform::Host::execution)), and one that finds the table full do
//! not park: they yield.
//!
//! Source: J. Fitzhardinge and K. Raghavendra, *Paravirtualized ticket spinlocks*, linux-kernel mailing list, 2013, with the
//! measurements of the published table `pv-ticketlock-dbench`; that the release must not clear the flag, K. Raghavendra,
//! *x86/spinlocks/paravirt: Fix memory corruption on unlock*, 2015; the problem, T. Friebel and S. Biemueller, *How to Deal
//! with Lock Holder Preemption*, Xen Summit, 2008. Written from the descriptions, not from an implementation.

use super::pv::{self, Hooks, Parks};
use super::{Algorithm, LaneLock, Ticket, queue};
use crate::invariance::Invariant;
use crate::lane::{FourBytes, Lane, lower, upper};
use crate::platform::{Atomics, Event, HostWithSlots, Int, Ordering};

/// The ticket lock whose waiters park. See the [module documentation](self).
///
/// Uncontended: one locked add; one locked add. In a lane of 32 bits only. At most 2^14 threads may hold or wait at once; one
/// more ends the program, as of [`Ticket`]. With [`Spins`](pv::Spins) it is [`Ticket`] itself.
#[derive(Debug)]
pub struct PvTicket<P: Hooks = Parks>(Invariant<P>);

/// Somebody may have announced that it parks.
const SLOW: u64 = 1;
/// From one ticket to the next.
const STEP: u64 = 2;
/// A half of the lane.
const HALF: u64 = 0xffff;
/// The last ticket before the first.
const LAST: u64 = HALF - SLOW;
/// More than this many tickets between owner and the last waiter: a counter of 15 bits is about to overrun.
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
fn owner<B: Int>(bits: B) -> u64 {
    lower(bits).to_u64() & !SLOW
}

#[inline(always)]
fn after(ticket: u64) -> u64 {
    (ticket + STEP) & HALF
}

/// Fails to compile where the counters do not fit.
const fn assert_width<L: Lane>() {
    assert!(<L::Bits as Int>::BITS == 32, "a ticket lock whose waiters park needs 32 bits");
}

#[cold]
#[inline(never)]
fn wait_for_turn<P: Hooks, H: HostWithSlots, L: Lane>(lane: L, before: L::Bits) {
    let ticket = next(before);
    // The distance after the increment.
    if (ticket.wrapping_sub(owner(before)) & HALF) / STEP + 1 > MAX_DISTANCE {
        H::fatal("pv-ticket lock: more than 2^14 threads hold or wait for one lock");
    }
    H::count(Event::Slowpath);
    let mine = |bits: u64| bits & LAST == ticket;
    // Acquire: pairs with the release of the `unlock` that hands the lock to this ticket.
    let spun = lane.wait_within::<H>(Ordering::Acquire, P::SPINS, mine);
    let seen = spun.unwrap_or_else(|| park_until_turn::<H, L>(lane, ticket));
    if lower(seen).to_u64() & SLOW != 0 && next(seen) == after(ticket) {
        // Relaxed: it publishes nothing. It fails if somebody has come, who will do it.
        let quiet = bits::<L>(seen.to_u64() & !SLOW);
        let _ = lane.compare_exchange(seen, quiet, Ordering::Relaxed);
    }
}

/// Parks until it is the turn of `ticket`; returns the lane in which it was.
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
            // Relaxed: the fence orders it.
            lane.fetch_or(bits::<L>(SLOW), Ordering::Relaxed);
            let seen = loop {
                // Pairs with the fence in `kick_next`: either that one finds the announcement and the word on which this
                // waiter parks, or this one finds that it is its turn.
                H::Atomics::fence(Ordering::SeqCst);
                // Acquire: pairs with the release of the `unlock` that hands the lock to this ticket.
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

/// The lock at the address `lock`, which may have been freed, was handed to `ticket`, and somebody may be parked.
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

// SAFETY: as for `Ticket`, with counters of 15 bits: each ticket is out once while at most 2^14
// are, which the distance check ensures; only the holder moves `owner` on, and what else is done to
// the lane leaves both counters as they are: setting the flag, and clearing it by a
// compare-exchange. All changes are read-modify-writes. After the addition in `unlock` only the
// address of the word is used. With `Hooks::PARK` false everything is `Ticket`'s.
unsafe impl<H: HostWithSlots, P: Hooks> LaneLock<H> for PvTicket<P> {
    #[inline(always)]
    unsafe fn lock<L: Lane>(lane: L) -> u16 {
        if !P::PARK {
            // SAFETY: the caller's promise; with this policy all other changes are `Ticket`'s too.
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
            // SAFETY: the caller's promise; the token is `Ticket`'s.
            return unsafe { <Ticket as LaneLock<H>>::unlock(lane, token) };
        }
        let ticket = u64::from(token);
        let lock = core::ptr::from_ref(lane.word()).addr();
        // From the last ticket to the first, without a carry into `next`.
        let step = if ticket == LAST { STEP.wrapping_sub(1 << 16) } else { STEP };
        // Release: pairs with the acquire of the next owner, in `lock`, `try_lock` or its wait.
        let before = lane.fetch_add(bits::<L>(step), Ordering::Release);
        if before.to_u64() & SLOW != 0 {
            kick_next::<H>(lock, after(ticket));
        }
    }
}
