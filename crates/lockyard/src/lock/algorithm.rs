//! The traits of a lock algorithm: one for all algorithms, and others for optional abilities.

use crate::lane::{Lane, Width};
use crate::platform::{Host, Instant, Int};

/// The part of a lock algorithm that is the same on every host: the holder's token, and the meaning
/// of the lane's bits.
pub trait Algorithm: Sized + 'static {
    /// The value that the holder gives back: a ticket, or nothing.
    type Token: Copy + Send + Sync + core::fmt::Debug + 'static;
    /// The width of the word, for a lock in a separate word.
    type Width: Width;

    /// Returns true if a lane with this value is held, or is about to be handed over.
    fn is_held<B: Int>(bits: B) -> bool;
}

/// A lock algorithm on a lane, on host `H`. The lane is free when all its bits are 0, and other
/// values may also mean free.
///
/// An algorithm that gives each waiter a queue node is implemented only for [hosts with
/// slots](crate::platform::HostWithSlots). On other hosts it would behave differently, so it does
/// not compile.
///
/// # Safety
///
/// The following must be true for any number of threads that use the lane only through this
/// algorithm.
///
/// - **Exclusion.** A thread is inside from the return of [`lock`](Self::lock), or of
///   [`try_lock`](Self::try_lock) with `Some`, until it calls [`unlock`](Self::unlock) with that
///   token. At most one thread is inside.
/// - **Ordering.** That return has acquire ordering and `unlock` has release ordering. Each
///   acquisition synchronises with the previous release.
/// - **The rest of the word.** No operation changes the bits outside the lane.
/// - **Staying held.** Once [`is_held`](Algorithm::is_held) is true of the lane, only `unlock`
///   makes it false.
/// - **Release sequences.** Each change of the word is a read-modify-write, so that a release
///   sequence in the rest of the word continues.
pub unsafe trait LaneLock<H: Host>: Algorithm {
    /// Takes the lock, waiting until it is free.
    ///
    /// # Safety
    ///
    /// All bits of the lane must have started as 0, and since then only this algorithm, on this
    /// host, may have changed them. (With other bits the lane could name a queue node where another
    /// thread waits.) `lane` must keep the contract of each operation of [`Lane`].
    unsafe fn lock<L: Lane>(lane: L) -> Self::Token;

    /// Takes the lock if it is free, without waiting. An algorithm that needs a queue node also
    /// fails if none is free. On failure the lane is unchanged.
    ///
    /// # Safety
    ///
    /// The same as for [`lock`](Self::lock).
    unsafe fn try_lock<L: Lane>(lane: L) -> Option<Self::Token>;

    /// Takes the lock if it is free, by the first step of [`lock`](Self::lock). Unlike
    /// [`try_lock`](Self::try_lock), it may take the line from the holder to find that out. It is
    /// for callers that then wait by a method of their own.
    ///
    /// # Safety
    ///
    /// The same as for [`lock`](Self::lock).
    #[inline(always)]
    unsafe fn try_lock_first<L: Lane>(lane: L) -> Option<Self::Token> {
        // SAFETY: the caller's promise.
        unsafe { Self::try_lock(lane) }
    }

    /// Releases the lock. After the releasing store it does not touch the memory of the lane.
    ///
    /// # Safety
    ///
    /// The caller must hold the lock, and `token` must be the value that the acquisition returned.
    unsafe fn unlock<L: Lane>(lane: L, token: Self::Token);
}

/// An algorithm that can release a lock directly to the next waiter, so that no other thread can
/// steal it. Such a lock implements `lock_api`'s `RawMutexFair`.
///
/// Locks that serve in order are fair at every release. [`TestAndSet`] keeps no record of its
/// waiters, so it cannot be fair.
///
/// # Safety
///
/// The same as for [`LaneLock`].
///
/// [`TestAndSet`]: super::TestAndSet
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

/// An algorithm whose waiters can give up at a deadline. Such a lock implements `lock_api`'s
/// `RawMutexTimed`.
///
/// A waiter can give up only if it leaves nothing behind, as with [`TestAndSet`]. A ticket cannot
/// be given back, because later tickets count on its turn. A place in the queue of [`Queued`],
/// [`Mcs`] or [`Clh`] can be given back only with the predecessor's help (Scott and Scherer,
/// *Scalable Queue-Based Spin Locks with Timeout*, PPoPP 2001). Four bytes have no room for that
/// protocol. To time out on such a lock, poll [`LaneLock::try_lock`].
///
/// [`PvQueued`] lets newcomers steal. A timed waiter remains a newcomer, so any number of threads
/// may pass it.
///
/// | lock | a timed waiter |
/// | --- | --- |
/// | [`PvQueued`] | spins for a while, then parks until a release or its deadline ([`pv_timed`]) |
/// | [`PvQueued`] with [`pv::Spins`] | spins, and yields after 64 polls: it uses its CPU |
/// | [`TestAndSet`] | the same |
/// | [`Adaptive`] | waits as all others do, and leaves the queue at its deadline |
///
/// # Safety
///
/// The same as for [`LaneLock`].
///
/// [`TestAndSet`]: super::TestAndSet
/// [`Adaptive`]: super::Adaptive
/// [`Queued`]: super::Queued
/// [`Mcs`]: super::Mcs
/// [`Clh`]: super::Clh
/// [`PvQueued`]: super::PvQueued
/// [`pv_timed`]: super::pv_timed
/// [`pv::Spins`]: super::pv::Spins
pub unsafe trait TimedLock<H: Host>: LaneLock<H> {
    /// Takes the lock, waiting until `until` at most. Returns `None` only after that time. In that
    /// case nothing remains in the lane that would delay another acquisition.
    ///
    /// On a host without a clock, time starts at zero and a microsecond is at most 64 polls.
    ///
    /// # Safety
    ///
    /// The same as for [`LaneLock::lock`].
    unsafe fn lock_until<L: Lane>(lane: L, until: Instant<H>) -> Option<Self::Token>;
}
