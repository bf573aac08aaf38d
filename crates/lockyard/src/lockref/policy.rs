//! The variants of a lockref: its behaviour when its compare-exchange fails, and when its lock is
//! held. They exist for comparison. Use [`Standard`].

/// Number of failed compare-exchanges after which an operation gives up and takes the lock.
///
/// Without a bound, other threads could overtake an operation for ever. The published measurements
/// of lockref were made with this number.
///
/// Taking the lock is also bounded:
///
/// - [`Ticket`](crate::lock::Ticket) and [`TestAndSet`](crate::lock::TestAndSet) make one
///   read-modify-write each time they find the lock free.
/// - [`Queued`](crate::lock::Queued) loses at most this many compare-exchanges again to changes of
///   the count. Then it joins the queue by an exchange of half the lane. From then on no thread
///   changes the count.
///
/// Two things have no bound. With [`Portable`](crate::platform::Portable) and on processors other
/// than x86-64, a loop exchanges a part of a word; the loop is lock-free. And a waiter without a
/// queue node is not in the queue.
pub const MAX_FAILURES: u32 = 100;

/// Number of polls in which an operation waits for the lock to be released, before it queues for
/// the lock.
///
/// Source: M. Guzik, "lockref: speculatively spin waiting for the lock to be released",
/// linux-kernel mailing list, 2024-06-12.
pub const TRYWAIT_POLLS: u32 = 100;

/// The behaviour of a lockref operation whose first attempt fails.
pub trait Policy: 'static {
    /// Pause after each failed compare-exchange. A lockref without this pause is faster under
    /// contention. The failed compare-exchange has just brought the line to this core, exclusively,
    /// so an immediate retry succeeds before another CPU can touch the line.
    ///
    /// Source: M. Guzik, on lockref without `cpu_relax` in the compare-exchange loop, linux-kernel
    /// mailing list, January 2023. The same message is the source of the published table
    /// `lockref-will-it-scale`.
    const PAUSE: bool;
    /// Trywait: when the compare-exchange loop gives up, wait once, by reading, for the lock to be
    /// released, and go back to the loop. Without a trywait, one brief holder in a steady stream of
    /// operations can make all operations take the lock. The operations then keep each other on
    /// that slow path.
    const TRYWAIT: bool;
}

/// No pause after a failure, but a trywait: the default.
#[derive(Debug)]
pub struct Standard;
impl Policy for Standard {
    const PAUSE: bool = false;
    const TRYWAIT: bool = true;
}

/// [`Standard`] with a pause after each failed compare-exchange.
#[derive(Debug)]
pub struct Pause;
impl Policy for Pause {
    const PAUSE: bool = true;
    const TRYWAIT: bool = true;
}

/// [`Standard`] without trywait.
#[derive(Debug)]
pub struct NoTrywait;
impl Policy for NoTrywait {
    const PAUSE: bool = false;
    const TRYWAIT: bool = false;
}

/// A pause after each failure, and no trywait: the behaviour of Linux before both changes.
#[derive(Debug)]
pub struct PauseNoTrywait;
impl Policy for PauseNoTrywait {
    const PAUSE: bool = true;
    const TRYWAIT: bool = false;
}
