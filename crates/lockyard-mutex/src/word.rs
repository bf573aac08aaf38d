//! A lock in a word of four bytes, of any of the kinds.

use crate::choice::Lock;
use crate::host::Process;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use lockyard::lock::adaptive::Patience;
use lockyard::lock::{Adaptive, LaneLock, PvQueued, Queued, TestAndSet, Ticket, TokenInLane};
use lockyard::platform::{Host, Instant};
use lockyard::{Held, RawSpinLock};

pub(crate) type Until = Instant<Process>;
type Raw<K> = RawSpinLock<K, Process>;

/// Patience of a thread that has waited for a condition. The format of the lock word is the same
/// for every patience.
///
/// Most programs notify with the mutex locked. If the notified thread preempts the holder, a spin
/// is in vain. And a nap that ends before the CPU's next tick must set the CPU's timer, which on a
/// virtual machine costs more than going to sleep and waking up. (With one CPU, and two threads
/// that alternate: with the default patience a tenth of glibc's turns per second, with this
/// patience as many as glibc.)
#[derive(Debug)]
struct Notified;
impl Patience for Notified {
    const POLLS: u32 = 2;
    const NAP: Option<Duration> = Some(Duration::from_millis(5));
}

/// Kind of the lock in a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Adaptive,
    TestAndSet,
    Queued,
    Ticket,
    PvQueued,
}

impl Kind {
    /// Returns the kind of mutexes.
    pub(crate) fn of_mutexes(lock: Lock) -> Kind {
        match lock {
            Lock::Mutex => Kind::Adaptive,
            Lock::Queued => Kind::Queued,
            Lock::Ticket => Kind::Ticket,
            Lock::PvQueued => Kind::PvQueued,
        }
    }

    /// Returns the kind of spinlocks.
    pub(crate) fn of_spinlocks(lock: Lock) -> Kind {
        if lock == Lock::Mutex { Kind::TestAndSet } else { Kind::of_mutexes(lock) }
    }
}

/// Returns the lock in a word.
#[inline(always)]
fn raw<K: LaneLock<Process>>(word: &AtomicU32) -> &Raw<K> {
    const { assert!(size_of::<Raw<K>>() == 4 && align_of::<Raw<K>>() == 4) }
    // SAFETY: the lock is transparent over a word of four bytes. All bits of the word started as 0,
    // or as a mark that the kind does not touch (`spin.rs`). One kind uses the word: the process's
    // choice does not change, and marks do not either.
    unsafe { &*core::ptr::from_ref(word).cast() }
}

#[inline(always)]
fn acquire<K: LaneLock<Process> + TokenInLane>(word: &AtomicU32) -> u32 {
    let _in_the_lane = raw::<K>(word).acquire().into_token();
    0
}

#[inline(always)]
fn try_acquire<K: LaneLock<Process> + TokenInLane>(word: &AtomicU32) -> Option<u32> {
    raw::<K>(word).try_acquire().map(Held::into_token).map(|_in_the_lane| 0)
}

/// Releases the lock.
///
/// # Safety
///
/// The caller must hold the lock.
#[inline(always)]
unsafe fn release<K: LaneLock<Process> + TokenInLane>(word: &AtomicU32) {
    // SAFETY: the caller's promise.
    unsafe { raw::<K>(word).release(raw::<K>(word).held_by_caller()) };
}

/// Tries to acquire a mutex of the default kind.
#[inline(always)]
pub(crate) fn try_acquire_mutex(word: &AtomicU32) -> bool {
    try_acquire::<Adaptive>(word).is_some()
}

/// Tries to acquire a mutex of the default kind, before a wait.
#[inline(always)]
pub(crate) fn try_acquire_mutex_first(word: &AtomicU32) -> bool {
    raw::<Adaptive>(word).try_acquire_first().map(Held::into_token).is_some()
}

/// Releases a mutex of the default kind.
///
/// # Safety
///
/// The caller must hold the lock.
#[inline(always)]
pub(crate) unsafe fn release_mutex(word: &AtomicU32) {
    // SAFETY: the caller's promise.
    unsafe { release::<Adaptive>(word) };
}

impl Kind {
    /// Acquires the lock. Returns a token for [`release`](Self::release).
    #[inline]
    pub(crate) fn acquire(self, word: &AtomicU32) -> u32 {
        match self {
            Kind::Adaptive => acquire::<Adaptive>(word),
            Kind::TestAndSet => acquire::<TestAndSet>(word),
            Kind::Queued => acquire::<Queued>(word),
            Kind::Ticket => acquire::<Ticket>(word),
            Kind::PvQueued => raw::<PvQueued>(word).acquire().into_token(),
        }
    }

    /// Acquires the lock after a wait for a condition. Threads that spin give the CPU back once
    /// first, because they may have preempted the holder: see [`Notified`].
    pub(crate) fn acquire_notified(self, word: &AtomicU32) -> u32 {
        if self == Kind::Adaptive {
            return acquire::<Adaptive<Notified>>(word);
        }
        if let Some(token) = self.try_acquire(word) {
            return token;
        }
        Process::yield_now();
        self.acquire(word)
    }

    /// Acquires the lock if it is free.
    #[inline]
    pub(crate) fn try_acquire(self, word: &AtomicU32) -> Option<u32> {
        match self {
            Kind::Adaptive => try_acquire::<Adaptive>(word),
            Kind::TestAndSet => try_acquire::<TestAndSet>(word),
            Kind::Queued => try_acquire::<Queued>(word),
            Kind::Ticket => try_acquire::<Ticket>(word),
            Kind::PvQueued => raw::<PvQueued>(word).try_acquire().map(Held::into_token),
        }
    }

    /// Acquires the lock, waiting until a time at most. A waiter cannot leave the queue of a queued
    /// or a ticket lock. With these locks, it stays outside the queue, tries, and yields.
    pub(crate) fn acquire_until(self, word: &AtomicU32, until: Until) -> Option<u32> {
        /// Number of polls between two clock reads.
        const POLLS: u32 = 64;
        match self {
            Kind::Adaptive => raw::<Adaptive>(word).acquire_until(until).map(|_token| 0),
            Kind::TestAndSet => raw::<TestAndSet>(word).acquire_until(until).map(|_token| 0),
            Kind::PvQueued => raw::<PvQueued>(word).acquire_until(until).map(Held::into_token),
            Kind::Queued | Kind::Ticket => loop {
                for _ in 0..POLLS {
                    if let Some(token) = self.try_acquire(word) {
                        return Some(token);
                    }
                    Process::relax();
                }
                if Until::now() >= until {
                    return None;
                }
                Process::yield_now();
            },
        }
    }

    /// Returns true if the lock is held.
    pub(crate) fn is_held(self, word: &AtomicU32) -> bool {
        match self {
            Kind::Adaptive => raw::<Adaptive>(word).is_held(),
            Kind::TestAndSet => raw::<TestAndSet>(word).is_held(),
            Kind::Queued => raw::<Queued>(word).is_held(),
            Kind::Ticket => raw::<Ticket>(word).is_held(),
            Kind::PvQueued => raw::<PvQueued>(word).is_held(),
        }
    }

    /// Releases the lock.
    ///
    /// # Safety
    ///
    /// The caller must hold the lock, and `token` is from its acquisition.
    #[inline]
    pub(crate) unsafe fn release(self, word: &AtomicU32, token: u32) {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Kind::Adaptive => release::<Adaptive>(word),
                Kind::TestAndSet => release::<TestAndSet>(word),
                Kind::Queued => release::<Queued>(word),
                Kind::Ticket => release::<Ticket>(word),
                Kind::PvQueued => raw::<PvQueued>(word).release(Held::from_token(token)),
            }
        }
    }

    /// Performs at once the wake-up that the holder owes to a waiter, so that the holder can forget
    /// its token. The token is then 0.
    #[inline]
    pub(crate) fn settle(self, word: &AtomicU32, token: u32) {
        if token != 0 && self == Kind::PvQueued {
            PvQueued::<lockyard::lock::pv::Parks>::settle::<Process>(word.as_ptr().addr(), token);
        }
    }

    /// Removes waiters that do not exist in this process, and preserves whether the lock is held.
    ///
    /// # Safety
    ///
    /// No thread of this process may wait for the lock, or change the word meanwhile.
    pub(crate) unsafe fn forget_waiters(self, word: &AtomicU32) {
        // Relaxed, both: the caller orders them.
        let bits = word.load(Ordering::Relaxed);
        let kept = match self {
            // The lowest bit means that the lock is held. A queued lock that is about to be handed
            // to a waiter of the parent becomes free here.
            Kind::Adaptive | Kind::Queued | Kind::PvQueued => bits & 1,
            Kind::TestAndSet => bits,
            Kind::Ticket => {
                let (next, owner) = (bits >> 16, bits & 0xffff);
                let next = if next == owner { next } else { owner.wrapping_add(1) & 0xffff };
                next << 16 | owner
            }
        };
        word.store(kept, Ordering::Relaxed);
    }
}
