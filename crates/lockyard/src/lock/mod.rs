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
pub mod mcs;
pub mod pv;
pub mod pv_queued;
pub mod pv_ticket;
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
pub use ticket::{Ticket, TicketAsmLoop};

use crate::lane::Lane;
use crate::platform::{Host, Int};

/// A lock algorithm over a lane. The lane is free when all its bits are 0, and may be free with
/// other values too.
///
/// # Safety
///
/// For any number of threads that use the lane only through this algorithm: between a return of
/// [`lock`](Self::lock), or a `Some` of [`try_lock`](Self::try_lock), and the
/// [`unlock`](Self::unlock) that is given its token, no other thread is between these two; the
/// return has acquire and the `unlock` has release ordering, and each synchronises with the other.
/// No operation changes the rest of the word that the lane is in, or changes a lane for which
/// [`is_held`](Self::is_held) is true in a way that makes it false, except `unlock`. All changes of
/// the word are read-modify-writes (so that a release sequence in the rest of the word goes on).
pub unsafe trait LaneLock: Sized + 'static {
    /// What the holder must give back: a ticket, or nothing.
    type Token: Copy + Send + Sync + core::fmt::Debug + 'static;

    /// Whether someone holds a lock whose lane has this value, or is about to be handed it.
    fn is_held<B: Int>(bits: B) -> bool;

    /// Takes the lock; waits as long as it takes.
    ///
    /// # Safety
    ///
    /// All bits of the lane were 0 at first, and since then only this algorithm, on this host, has changed
    /// them: other bits may name a queue node on which another thread waits. `lane` keeps to what [`Lane`]
    /// says of each of its operations.
    unsafe fn lock<H: Host, L: Lane>(lane: L) -> Self::Token;

    /// Takes the lock if it is free (and if the algorithm has a queue node for it, where it needs one). It does not wait.
    /// When it fails the lane is as it was.
    ///
    /// # Safety
    ///
    /// As of [`lock`](Self::lock).
    unsafe fn try_lock<H: Host, L: Lane>(lane: L) -> Option<Self::Token>;

    /// Releases the lock. After the releasing store the memory of the lane is not touched.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and `token` is what the acquisition returned.
    unsafe fn unlock<H: Host, L: Lane>(lane: L, token: Self::Token);
}
