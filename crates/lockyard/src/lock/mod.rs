//! The lock algorithms, each over a [`Lane`].
//!
//! An algorithm says how a lane is taken and released, and nothing else: what surrounds it (guards,
//! contexts, the word itself) is [`RawSpinLock`](crate::RawSpinLock)'s and
//! [`LockRef`](crate::LockRef)'s. A new algorithm is one file here and one line in the table:
//!
//! | algorithm | order | uncontended lock, unlock | cost of a hand-over among *n* waiters |
//! | --- | --- | --- | --- |
//! | [`Ticket`] | FIFO | one locked add; one plain store | *n* transfers: each release makes every waiter read the line again |
//! | [`TicketAsmLoop`] | FIFO | the same | the same |
//! | [`Queued`] | FIFO, but for two newcomers | one locked compare-exchange; one plain store | a fixed number, whoever waits |
//! | [`Queued<CmpxchgGrab>`](Queued) | the same | the same | the same, with a locked operation more |
//! | [`Mcs`] | FIFO | one locked exchange; one locked compare-exchange | a fixed number |
//! | [`Clh`] | FIFO | one locked exchange; one locked compare-exchange | a fixed number |
//! | [`PvTicket`] | FIFO | one locked add; one locked add | a fixed number for who parks, and a wake-up |
//! | [`PvQueued`] | FIFO, but for a bounded number of newcomers | one locked compare-exchange; one locked add | a fixed number; a wake-up, while which others may pass |
//! | [`TestAndSet`] | none | one locked `bts`; one plain store | *n* reads and up to *n* exclusive transfers |

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
use crate::platform::{Host, HostWithSlots, Instant, Int, Ordering};
use core::time::Duration;

/// A lock algorithm as it is on every host: what its holder keeps, and how its lane reads.
pub trait Algorithm: Sized + 'static {
    /// What the holder must give back: a ticket, or nothing.
    type Token: Copy + Send + Sync + core::fmt::Debug + 'static;
    /// The width of the word of a lock of its own.
    type Width: Width;

    /// Whether someone holds a lock whose lane has this value, or is about to be handed it.
    fn is_held<B: Int>(bits: B) -> bool;
}

/// A lock algorithm over a lane, on host `H`. The lane is free when all its bits are 0, and may be
/// free with other values too.
///
/// An algorithm whose waiters have a queue node each is one on [hosts with slots](HostWithSlots)
/// only, so that the compiler says where it would do something else.
///
/// # Safety
///
/// For any number of threads that use the lane only through this algorithm: between a return of
/// [`lock`](Self::lock), or a `Some` of [`try_lock`](Self::try_lock), and the
/// [`unlock`](Self::unlock) that is given its token, no other thread is between these two; the
/// return has acquire and the `unlock` has release ordering, and each synchronises with the other.
/// No operation changes the rest of the word that the lane is in, or changes a lane for which
/// [`is_held`](Algorithm::is_held) is true in a way that makes it false, except `unlock`. All
/// changes of the word are read-modify-writes (so that a release sequence in the rest of the word
/// goes on).
pub unsafe trait LaneLock<H: Host>: Algorithm {
    /// Takes the lock; waits as long as it takes.
    ///
    /// # Safety
    ///
    /// All bits of the lane were 0 at first, and since then only this algorithm, on this host, has changed
    /// them: other bits may name a queue node on which another thread waits. `lane` keeps to what [`Lane`]
    /// says of each of its operations.
    unsafe fn lock<L: Lane>(lane: L) -> Self::Token;

    /// Takes the lock if it is free (and if the algorithm has a queue node for it, where it needs one). It does not wait.
    /// When it fails the lane is as it was.
    ///
    /// # Safety
    ///
    /// As of [`lock`](Self::lock).
    unsafe fn try_lock<L: Lane>(lane: L) -> Option<Self::Token>;

    /// Releases the lock. After the releasing store the memory of the lane is not touched.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and `token` is what the acquisition returned.
    unsafe fn unlock<L: Lane>(lane: L, token: Self::Token);
}

/// An algorithm that can release a lock without leaving room to steal it: if somebody waits, he is next. What implements it
/// has `lock_api`'s `RawMutexFair`.
///
/// Locks that serve in order are so at each release. Of [`TestAndSet`] nobody knows who waits.
///
/// # Safety
///
/// As of [`LaneLock`].
pub unsafe trait FairLock<H: Host>: LaneLock<H> {
    /// Releases the lock; if somebody waits in order, nobody takes it before him.
    ///
    /// # Safety
    ///
    /// As of [`LaneLock::unlock`].
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

/// An algorithm whose waiters can give up after a time. What implements it has `lock_api`'s `RawMutexTimed`.
///
/// A waiter can give up only if it leaves nothing behind. [`TestAndSet`]'s has left nothing. A ticket cannot be given back:
/// those after it count on its turn; nor can a place in the queue of [`Queued`], [`Mcs`] or [`Clh`], without a predecessor that
/// helps (Scott and Scherer, *Scalable Queue-Based Spin Locks with Timeout*, PPoPP 2001), for which four bytes have no room.
/// Those who want such a lock with a time poll [`LaneLock::try_lock`]. [`PvQueued`] lets newcomers steal, so a waiter with a
/// time stays a newcomer: it may be passed any number of times.
///
/// | lock | what a waiter with a time does |
/// | --- | --- |
/// | [`PvQueued`] | spins for a while, then parks until a release or its time ([`pv_timed`]) |
/// | [`PvQueued`] that spins ([`pv::Spins`]) | spins, and yields after 64 polls: it uses its CPU until its time |
/// | [`TestAndSet`] | the same |
///
/// # Safety
///
/// As of [`LaneLock`].
pub unsafe trait TimedLock<H: Host>: LaneLock<H> {
    /// Takes the lock, unless it is not free for it until `until`. Returns `None` only after that time, and leaves nothing
    /// in the lane that another acquisition would have to wait for. Without a clock, time begins at zero, and a microsecond is at most 64 polls.
    ///
    /// # Safety
    ///
    /// As of [`LaneLock::lock`].
    unsafe fn lock_until<L: Lane>(lane: L, until: Instant<H>) -> Option<Self::Token>;
}

/// The time of a waiter, and what is left of it, asked after each slice of polls.
struct Deadline<H: Host> {
    until: Instant<H>,
    slices: u64,
}

impl<H: Host> Deadline<H> {
    /// Polls between two questions.
    const POLLS: u32 = 64;

    fn new(until: Instant<H>) -> Self {
        Deadline { until, slices: 0 }
    }

    /// Whether it is over; a slice of polls was made since the last question.
    fn is_over(&mut self) -> bool {
        self.slices += 1;
        let now = Instant::now();
        let now = if now.is_zero() { now + Duration::from_micros(self.slices) } else { now };
        now >= self.until
    }

    /// The time that is left; `None` if the host has no clock, or it is over.
    fn left(&self) -> Option<Duration> {
        let now = Instant::now();
        let left = self.until.saturating_duration_since(now);
        (!now.is_zero() && !left.is_zero()).then_some(left)
    }

    /// Takes `lane` by `try_lock`, in slices of polls of which one finds it `free`, and yields between them.
    fn poll<L: Lane, T>(
        mut self,
        lane: L,
        free: fn(u64) -> bool,
        try_lock: impl Fn() -> Option<T>,
    ) -> Option<T> {
        loop {
            if let Some(token) = try_lock() {
                return Some(token);
            }
            if self.is_over() {
                return None;
            }
            // Relaxed: a hint.
            if lane.wait_within::<H>(Ordering::Relaxed, Self::POLLS, free).is_none() {
                H::yield_now();
            }
        }
    }
}
