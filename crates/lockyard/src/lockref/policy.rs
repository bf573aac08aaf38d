//! The variants of a lockref: what it does when its compare-exchange fails, and when its lock is
//! held. They exist to be compared; [`Standard`] is the one to use.

/// How many compare-exchanges one operation may lose before it gives up and takes the lock.
///
/// Without a bound an operation may be overtaken for ever. The number is the one that the published
/// measurements of lockref were made with.
///
/// Taking the lock has a bound too: [`Ticket`](crate::lock::Ticket) and
/// [`TestAndSet`](crate::lock::TestAndSet) make one read-modify-write each time they find it free, and
/// [`Queued`](crate::lock::Queued) loses at most as many compare-exchanges again to changes of the count, and then joins
/// the queue by an exchange of half the lane, from which on the count stands still. (Where a part of a word is exchanged by
/// a loop, over [`Portable`](crate::platform::Portable) and on processors other than x86-64, that loop is lock-free
/// and has no bound; nor has a waiter without a queue node.)
pub const MAX_FAILURES: u32 = 100;

/// How many polls an operation waits for the lock to be released before it queues for it.
///
/// Source: M. Guzik, "lockref: speculatively spin waiting for the lock to be released",
/// linux-kernel mailing list, 2024-06-12.
pub const TRYWAIT_POLLS: u32 = 100;

/// What a lockref does when it does not succeed at once.
pub trait Policy: 'static {
    /// Pause after each failed compare-exchange. Off is faster under contention: the failed
    /// compare-exchange has just brought the line here, exclusively, so the retry succeeds while
    /// nobody else can touch it. (M. Guzik, on lockref without `cpu_relax` in the compare-exchange
    /// loop, linux-kernel mailing list, January 2023: the source of the published table
    /// `lockref-will-it-scale`.)
    const PAUSE: bool;
    /// When the compare-exchange loop gives up, wait once, by reading, for the lock to be released,
    /// and go back to the loop. Without it one brief holder under a steady stream of operations can
    /// push everyone onto the lock, and they keep each other there.
    const TRYWAIT: bool;
}

/// No pause, trywait: the default.
#[derive(Debug)]
pub struct Standard;
impl Policy for Standard {
    const PAUSE: bool = false;
    const TRYWAIT: bool = true;
}

/// As [`Standard`], with a pause after each failed compare-exchange.
#[derive(Debug)]
pub struct Pause;
impl Policy for Pause {
    const PAUSE: bool = true;
    const TRYWAIT: bool = true;
}

/// As [`Standard`], without trywait.
#[derive(Debug)]
pub struct NoTrywait;
impl Policy for NoTrywait {
    const PAUSE: bool = false;
    const TRYWAIT: bool = false;
}

/// A pause after each failure and no trywait: what Linux had before both changes.
#[derive(Debug)]
pub struct PauseNoTrywait;
impl Policy for PauseNoTrywait {
    const PAUSE: bool = true;
    const TRYWAIT: bool = false;
}
