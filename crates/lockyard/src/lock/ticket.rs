//! The ticket lock: first come, first served, in two counters.
//!
//! ```text
//!   upper half          lower half
//! +-------------------+-------------------+
//! | next              | owner             |     free  <=>  next == owner
//! +-------------------+-------------------+
//!     ^ lock: fetch-and-add; the old value is my ticket
//!                          ^ unlock: owner = ticket + 1, by the holder alone
//!
//!   (n, n)  --lock-->  (n+1, n)  held by ticket n, no thread waits
//!   (n+1, n)  --lock-->  (n+2, n)  held by ticket n, ticket n+1 waits
//!   (m, n)  --unlock-->  (m, n+1)  handed to ticket n+1, or free if m == n+1
//! ```
//!
//! A ticket lock is free whenever `next == owner`, not only at zero. The result of the
//! fetch-and-add says whether the lock was free, so an uncontended acquisition touches the line
//! once. The hand-over is expensive: every waiter spins on `owner`, so each release takes the line
//! from all waiters, and each waiter reads it again.
//!
//! Source: Mellor-Crummey and Scott, *Algorithms for Scalable Synchronization on Shared-Memory
//! Multiprocessors*, ACM TOCS 9(1), 1991, section 2.2; after Reed and Kanodia, *Synchronization
//! with Eventcounts and Sequencers*, CACM 22(2), 1979.

use super::algorithm::{Algorithm, FairLock, LaneLock};
use crate::invariance::Invariant;
use crate::lane::{FourBytes, Lane, TwoBytes, Width, lower, upper};
use crate::platform::{Event, Host, Int, Ordering};

/// The ticket lock, with waiting loop `P`. As a separate lock it is a word of width `W`. See the
/// [module documentation](crate::lock).
///
/// In a lane of 32 bits (16-bit counters), at most 2^15 threads may hold or wait at once. One more
/// ends the program, as an overflowing `Arc` does.
///
/// A lane of 16 bits (8-bit counters) is for hosts with at most 255 slots, which is checked at
/// compile time. The host promises that no more threads contend ([`Host`], *Safety*). A 256th
/// contender ends the program; a 257th would enter while the holder is inside.
#[derive(Debug)]
pub struct Ticket<P: Poll = PlainLoop, W: Width = FourBytes>(Invariant<(P, W)>);

/// The ticket lock with its waiting loop in assembly on x86-64. It shows that the plain loop is not
/// slower.
pub type TicketAsmLoop = Ticket<AsmLoop>;

/// The ticket lock in 2 bytes.
pub type Ticket8 = Ticket<PlainLoop, TwoBytes>;

/// The waiting loop of a ticket lock: [`PlainLoop`] or [`AsmLoop`]. Sealed.
pub trait Poll: sealed::Sealed + 'static {
    /// Waits until the lower half of the lane is `ticket`. Acquire.
    fn wait<H: Host, L: Lane>(lane: L, ticket: <L::Bits as Int>::Half);
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::PlainLoop {}
    impl Sealed for super::AsmLoop {}
}

/// Waits in plain code.
#[derive(Debug)]
pub struct PlainLoop;
impl Poll for PlainLoop {
    fn wait<H: Host, L: Lane>(lane: L, ticket: <L::Bits as Int>::Half) {
        // Acquire: pairs with the release store of `owner` that hands the lock to this ticket.
        lane.wait_until::<H>(Ordering::Acquire, |bits| lower(bits) == ticket);
    }
}

/// Waits in assembly, on platforms that have such a loop.
#[derive(Debug)]
pub struct AsmLoop;
impl Poll for AsmLoop {
    fn wait<H: Host, L: Lane>(lane: L, ticket: <L::Bits as Int>::Half) {
        // The acquire pairs with the same release as in `PlainLoop`.
        lane.wait_lower_assembly::<H>(ticket);
    }
}

/// Fails to compile if the counters are too narrow for the host, or wider than a ticket.
const fn assert_width<H: Host, L: Lane>() {
    let counter_bits = <L::Bits as Int>::Half::BITS;
    assert!(
        counter_bits >= 16 || H::SLOTS <= 255,
        "a ticket lock with 8-bit counters needs a host with at most 255 slots"
    );
    assert!(counter_bits <= 16, "a ticket lock has counters of 8 or 16 bits");
}

/// Largest allowed distance from the owner to the last ticket, in 16-bit counters. Beyond it a
/// counter is about to overflow. An 8-bit counter overflows when a full distance looks like 0.
const MAX_DISTANCE: u64 = 1 << 15;

#[cold]
#[inline(never)]
fn wait_for_turn<H: Host, L: Lane, P: Poll>(lane: L, before: L::Bits) -> u16 {
    let (ticket, owner) = (upper(before), lower(before));
    let counter_mask = <L::Bits as Int>::Half::truncate(u64::MAX).to_u64();
    let distance = ticket.to_u64().wrapping_sub(owner.to_u64()) & counter_mask;
    // Distance from `owner` to `next` after this thread's increment of `next`.
    if distance + 1 > MAX_DISTANCE {
        H::fatal("ticket lock: more than 2^15 threads hold or wait for one lock");
    }
    // Now `next` equals `owner`, and the lock looks free until the program has ended. The host
    // promises that no other thread comes in between.
    if distance == counter_mask {
        H::fatal(
            "ticket lock with 8-bit counters: more than 255 threads hold or wait for one lock",
        );
    }
    H::count(Event::Slowpath);
    P::wait::<H, L>(lane, ticket);
    ticket.to_u64() as u16
}

impl<P: Poll, W: Width> Algorithm for Ticket<P, W> {
    type Token = u16;
    type Width = W;

    #[inline(always)]
    fn is_held<B: Int>(bits: B) -> bool {
        upper(bits) != lower(bits)
    }
}

// SAFETY: `next` gives out each ticket once while fewer than 2^16 (2^8) are in use. The distance
// check ensures that; with 8 bits, the host does. Only the thread whose ticket equals `owner` is
// past `lock`, and only that thread advances `owner`. `try_lock` changes `next` only from a value
// at which the lock was free. Comments at each operation justify its ordering. Each operation
// changes the lane by a read-modify-write, or by a store of a part, which counts as one.
unsafe impl<H: Host, P: Poll, W: Width> LaneLock<H> for Ticket<P, W> {
    #[inline(always)]
    unsafe fn lock<L: Lane>(lane: L) -> u16 {
        const { assert_width::<H, L>() }
        // Acquire: pairs with the release store of `owner` in `unlock`, when the lock was free.
        let before = lane.fetch_increment_upper(Ordering::Acquire);
        let ticket = upper(before);
        if ticket != lower(before) {
            return wait_for_turn::<H, L, P>(lane, before);
        }
        ticket.to_u64() as u16
    }

    #[inline(always)]
    unsafe fn try_lock<L: Lane>(lane: L) -> Option<u16> {
        const { assert_width::<H, L>() }
        let seen = lane.load(Ordering::Relaxed);
        let ticket = upper(seen);
        if ticket != lower(seen) {
            return None;
        }
        let next = (ticket.to_u64() + 1) << <L::Bits as Int>::Half::BITS;
        let taken = L::Bits::truncate(next | lower(seen).to_u64());
        // Acquire: pairs with the release store of `owner` in `unlock`.
        match lane.compare_exchange(seen, taken, Ordering::Acquire) {
            Ok(_) => Some(ticket.to_u64() as u16),
            Err(_) => None,
        }
    }

    #[inline(always)]
    unsafe fn unlock<L: Lane>(lane: L, ticket: u16) {
        let old = <L::Bits as Int>::Half::truncate(u64::from(ticket));
        let new = <L::Bits as Int>::Half::truncate(u64::from(ticket.wrapping_add(1)));
        // Release: pairs with the acquire of the next owner, in `lock`, `try_lock` or its wait.
        // Only the holder writes `owner`, so this is a store of a part.
        lane.store_lower(old, new, Ordering::Release);
    }
}

// SAFETY: `unlock_fair` is `LaneLock::unlock`.
unsafe impl<H: Host, P: Poll, W: Width> FairLock<H> for Ticket<P, W> {}
