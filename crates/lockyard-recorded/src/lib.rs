//! Locks of Rust programs for `lockyard profile`.
//!
//! The locks of Rust's libraries are compiled into a program, so no preloaded library can take the
//! place of their functions. [`Recorded`] wraps such a lock, and reports its acquisitions and
//! releases to the recorder, if the program runs under `lockyard profile`. Otherwise each call
//! costs one additional relaxed load and a branch.
//!
//! ```
//! use lockyard_recorded::Recorded;
//!
//! type Mutex<T> = lock_api::Mutex<Recorded<lockyard::RawMutex>, T>;
//!
//! static TABLE: Mutex<Vec<u32>> = Mutex::new(Vec::new());
//! TABLE.lock().push(1);
//! assert_eq!(TABLE.lock().len(), 1);
//! ```
//!
//! Build with optimisation and lines (`debug = "line-tables-only"`): then the call sites are in the
//! program itself.

mod calls;
mod read_write;

use lock_api::{RawMutex, RawMutexFair, RawMutexTimed};

/// A lock whose acquisitions and releases are recorded under `lockyard profile`.
///
/// It is the lock `R`, with the same size. Recording an acquisition and a release costs tens of
/// nanoseconds; `lockyard profile` prints how many.
#[derive(Debug)]
#[repr(transparent)]
pub struct Recorded<R>(R);

impl<R> Recorded<R> {
    fn address(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    /// Acquires the lock: at once by `attempt`, or else by `wait`, and records which.
    #[inline(always)]
    fn acquire<G>(
        &self,
        shared: bool,
        attempt: impl FnOnce() -> Option<G>,
        wait: impl FnOnce() -> Option<G>,
    ) -> Option<G> {
        let Some(calls) = calls::calls() else { return wait() };
        let (guard, since) = match attempt() {
            Some(guard) => (guard, 0),
            None => {
                let since = calls.ticks();
                (wait()?, since)
            }
        };
        calls.acquired(self.address(), since, shared);
        Some(guard)
    }

    /// Acquires the lock like [`acquire`](Self::acquire), with a `wait` that always succeeds.
    #[inline(always)]
    fn acquire_surely<G>(
        &self,
        shared: bool,
        attempt: impl FnOnce() -> Option<G>,
        wait: impl FnOnce() -> G,
    ) -> G {
        let Some(calls) = calls::calls() else { return wait() };
        let (guard, since) = match attempt() {
            Some(guard) => (guard, 0),
            None => {
                let since = calls.ticks();
                (wait(), since)
            }
        };
        calls.acquired(self.address(), since, shared);
        guard
    }

    /// Records the result of an attempt.
    #[inline(always)]
    fn attempted<G>(&self, shared: bool, guard: Option<G>) -> Option<G> {
        if guard.is_some()
            && let Some(calls) = calls::calls()
        {
            calls.acquired(self.address(), 0, shared);
        }
        guard
    }

    /// Records that the lock is about to be released.
    #[inline(always)]
    fn release(&self) {
        if let Some(calls) = calls::calls() {
            calls.released(self.address());
        }
    }
}

// SAFETY: all operations are forwarded to `R`, which upholds the contract.
unsafe impl<R: RawMutex> RawMutex for Recorded<R> {
    #[allow(clippy::declare_interior_mutable_const, reason = "as in the trait")]
    const INIT: Recorded<R> = Recorded(R::INIT);

    type Guard = R::Guard;

    #[inline]
    fn lock(&self) -> R::Guard {
        self.acquire_surely(false, || self.0.try_lock(), || self.0.lock())
    }

    #[inline]
    fn try_lock(&self) -> Option<R::Guard> {
        self.attempted(false, self.0.try_lock())
    }

    #[inline]
    unsafe fn unlock(&self, guard: R::Guard) {
        self.release();
        // SAFETY: the caller holds the lock.
        unsafe { self.0.unlock(guard) }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: as above.
unsafe impl<R: RawMutexFair> RawMutexFair for Recorded<R> {
    #[inline]
    unsafe fn unlock_fair(&self, guard: R::Guard) {
        self.release();
        // SAFETY: the caller holds the lock.
        unsafe { self.0.unlock_fair(guard) }
    }
}

// SAFETY: as above.
unsafe impl<R: RawMutexTimed> RawMutexTimed for Recorded<R> {
    type Duration = R::Duration;
    type Instant = R::Instant;

    #[inline]
    fn try_lock_for(&self, timeout: R::Duration) -> Option<R::Guard> {
        self.acquire(false, || self.0.try_lock(), || self.0.try_lock_for(timeout))
    }

    #[inline]
    fn try_lock_until(&self, timeout: R::Instant) -> Option<R::Guard> {
        self.acquire(false, || self.0.try_lock(), || self.0.try_lock_until(timeout))
    }
}
