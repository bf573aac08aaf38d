//! The lock algorithms, each over a [`Lane`].
//!
//! An algorithm says how a lane is taken and released, and nothing else. What surrounds it (guards,
//! contexts, the word itself) belongs to [`RawSpinLock`](crate::RawSpinLock) and
//! [`LockRef`](crate::LockRef). A new algorithm is one file here and one line in the table:
//!
//! | algorithm | order | uncontended lock, unlock | transfers in a hand-over, *n* waiters |
//! | --- | --- | --- | --- |
//! | [`Ticket`] | FIFO | add; store | *n*: every waiter reads the line again |
//! | [`TicketAsmLoop`] | FIFO | the same | the same |
//! | [`Queued`] | FIFO, except two newcomers | compare-exchange; store | fixed |
//! | [`Queued<CmpxchgGrab>`](Queued) | the same | the same | fixed, and a locked operation more |
//! | [`Mcs`] | FIFO | exchange; compare-exchange | fixed |
//! | [`Clh`] | FIFO | exchange; compare-exchange | fixed |
//! | [`PvTicket`] | FIFO | add; add | fixed to a parked waiter, and a wake-up |
//! | [`PvQueued`] | FIFO, bounded stealing | compare-exchange; add | fixed, and a wake-up |
//! | [`TestAndSet`] | none | `bts`; store | *n* reads and up to *n* exclusive transfers |
//!
//! Each of these operations is a locked one, except the store.

pub mod clh;
mod held_node;
pub mod mcs;
pub mod pv;
pub mod pv_queued;
pub mod pv_ticket;
pub mod pv_timed;
pub(crate) mod queue;
pub mod queued;
mod test_and_set;
mod ticket;

pub use clh::Clh;
pub use mcs::Mcs;
pub use pv_queued::PvQueued;
pub use pv_ticket::PvTicket;
pub use queued::{CmpxchgGrab, Queued, StoreGrab};
pub use test_and_set::TestAndSet;
pub use ticket::{AsmLoop, PlainLoop, Poll, Ticket, Ticket8, TicketAsmLoop};

use crate::lane::{Lane, Width};
use crate::platform::{Event, Host, HostWithSlots, Instant, Int, Ordering};
use core::time::Duration;

/// The part of a lock algorithm that is the same on every host: what its holder keeps, and how its
/// lane reads.
pub trait Algorithm: Sized + 'static {
    /// The value that the holder gives back: a ticket, or nothing.
    type Token: Copy + Send + Sync + core::fmt::Debug + 'static;
    /// The width of the word of a lock of its own.
    type Width: Width;

    /// Returns true if a lane with this value is held, or is about to be handed over.
    fn is_held<B: Int>(bits: B) -> bool;
}

/// A lock algorithm over a lane, on host `H`. The lane is free when all its bits are 0, and may be
/// free with other values too.
///
/// An algorithm that gives each waiter a queue node is implemented for [hosts with
/// slots](HostWithSlots) only. Elsewhere it would behave differently, so there it does not compile.
///
/// # Safety
///
/// The following holds for any number of threads that use the lane only through this algorithm.
///
/// - **Exclusion.** A thread is inside from the return of [`lock`](Self::lock), or a `Some` of
///   [`try_lock`](Self::try_lock), until it calls [`unlock`](Self::unlock) with that token. At most
///   one thread is inside.
/// - **Ordering.** That return has acquire ordering and `unlock` has release ordering. Each
///   synchronises with the other.
/// - **The rest of the word.** No operation changes the bits outside the lane.
/// - **Staying held.** While [`is_held`](Algorithm::is_held) is true of the lane, only `unlock`
///   makes it false.
/// - **Release sequences.** Each change of the word is a read-modify-write, so that a release
///   sequence in the rest of the word continues.
pub unsafe trait LaneLock<H: Host>: Algorithm {
    /// Takes the lock, waiting until it is free.
    ///
    /// # Safety
    ///
    /// All bits of the lane were 0 at first, and since then only this algorithm, on this host, has
    /// changed them. (Other bits may name a queue node on which another thread waits.) `lane` keeps
    /// the contract of each operation of [`Lane`].
    unsafe fn lock<L: Lane>(lane: L) -> Self::Token;

    /// Takes the lock if it is free, without waiting. An algorithm that needs a queue node also
    /// fails without one. A failure leaves the lane as it was.
    ///
    /// # Safety
    ///
    /// The same as for [`lock`](Self::lock).
    unsafe fn try_lock<L: Lane>(lane: L) -> Option<Self::Token>;

    /// Releases the lock. After the releasing store it does not touch the memory of the lane.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and `token` is what the acquisition returned.
    unsafe fn unlock<L: Lane>(lane: L, token: Self::Token);
}

/// An algorithm that can release a lock without leaving room to steal it: the next waiter gets it.
/// It brings `lock_api`'s `RawMutexFair`.
///
/// Locks that serve in order are fair at every release. [`TestAndSet`] keeps no record of its
/// waiters, so it cannot be.
///
/// # Safety
///
/// The same as for [`LaneLock`].
pub unsafe trait FairLock<H: Host>: LaneLock<H> {
    /// Releases the lock. If a waiter is queued, no other thread takes the lock before it.
    ///
    /// # Safety
    ///
    /// The same as for [`LaneLock::unlock`].
    #[inline(always)]
    unsafe fn unlock_fair<L: Lane>(lane: L, token: Self::Token) {
        // SAFETY: the caller's promise.
        unsafe { Self::unlock(lane, token) }
    }
}

// SAFETY: the release is `LaneLock`'s.
unsafe impl<H: Host, P: Poll, W: Width> FairLock<H> for Ticket<P, W> {}
// SAFETY: the same.
unsafe impl<H: HostWithSlots, G: queued::Grab> FairLock<H> for Queued<G> {}
// SAFETY: the same.
unsafe impl<H: HostWithSlots> FairLock<H> for Mcs {}
// SAFETY: the same.
unsafe impl<H: HostWithSlots> FairLock<H> for Clh {}
// SAFETY: the same.
unsafe impl<H: HostWithSlots, P: pv::Hooks> FairLock<H> for PvTicket<P> {}

/// An algorithm whose waiters can give up at a deadline. It brings `lock_api`'s `RawMutexTimed`.
///
/// A waiter can give up only if it leaves nothing behind, as with [`TestAndSet`]. A ticket cannot
/// be given back, because later tickets count on its turn. Nor can a place in the queue of
/// [`Queued`], [`Mcs`] or [`Clh`], unless the predecessor helps (Scott and Scherer, *Scalable
/// Queue-Based Spin Locks with Timeout*, PPoPP 2001). Four bytes have no room for that. To time out
/// on such a lock, poll [`LaneLock::try_lock`].
///
/// [`PvQueued`] lets newcomers steal. A timed waiter remains a newcomer, so it may be passed any
/// number of times.
///
/// | lock | a timed waiter |
/// | --- | --- |
/// | [`PvQueued`] | spins for a while, then parks until a release or its deadline ([`pv_timed`]) |
/// | [`PvQueued`] with [`pv::Spins`] | spins, and yields after 64 polls: it uses its CPU |
/// | [`TestAndSet`] | the same |
///
/// # Safety
///
/// The same as for [`LaneLock`].
pub unsafe trait TimedLock<H: Host>: LaneLock<H> {
    /// Takes the lock, waiting until `until` at most. Returns `None` only after that time, and
    /// leaves nothing in the lane for which another acquisition would have to wait.
    ///
    /// On a host without a clock, time begins at zero and a microsecond is at most 64 polls.
    ///
    /// # Safety
    ///
    /// The same as for [`LaneLock::lock`].
    unsafe fn lock_until<L: Lane>(lane: L, until: Instant<H>) -> Option<Self::Token>;
}

/// The deadline of a timed waiter, checked after each slice of polls.
struct Deadline<H: Host> {
    until: Instant<H>,
    slices: u64,
}

impl<H: Host> Deadline<H> {
    /// Polls in a slice.
    const POLLS: u32 = 64;

    fn new(until: Instant<H>) -> Self {
        Deadline { until, slices: 0 }
    }

    /// Counts one slice of polls, and returns true if the deadline has passed.
    fn end_slice(&mut self) -> bool {
        self.slices += 1;
        let now = Instant::now();
        let now = if now.is_zero() { now + Duration::from_micros(self.slices) } else { now };
        now >= self.until
    }

    /// The time that is left. `None` if the deadline has passed, or the host has no clock.
    fn left(&self) -> Option<Duration> {
        let now = Instant::now();
        let left = self.until.saturating_duration_since(now);
        (!now.is_zero() && !left.is_zero()).then_some(left)
    }

    /// Takes `lane` by `try_lock` once a poll finds it `free`. Polls in slices, and yields between
    /// them.
    fn poll<L: Lane, T>(
        mut self,
        lane: L,
        free: fn(u64) -> bool,
        try_lock: impl Fn() -> Option<T>,
    ) -> Option<T> {
        let mut token = try_lock();
        if token.is_none() {
            H::count(Event::Slowpath);
        }
        while token.is_none() && !self.end_slice() {
            // Relaxed: a hint.
            if lane.wait_within::<H>(Ordering::Relaxed, Self::POLLS, free).is_none() {
                H::yield_now();
            }
            token = try_lock();
        }
        token
    }
}
