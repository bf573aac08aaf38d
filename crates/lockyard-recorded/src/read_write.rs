//! Reader-writer locks: each acquisition is recorded with its access.

use super::{Recorded, calls};
use lock_api::{RawRwLock, RawRwLockDowngrade, RawRwLockFair, RawRwLockTimed};

// SAFETY: all operations are forwarded to `R`, which upholds the contract.
unsafe impl<R: RawRwLock> RawRwLock for Recorded<R> {
    #[allow(clippy::declare_interior_mutable_const, reason = "as in the trait")]
    const INIT: Recorded<R> = Recorded(R::INIT);

    type SharedGuard = R::SharedGuard;
    type ExclusiveGuard = R::ExclusiveGuard;

    #[inline]
    fn lock_shared(&self) -> R::SharedGuard {
        self.acquire_surely(true, || self.0.try_lock_shared(), || self.0.lock_shared())
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<R::SharedGuard> {
        self.attempted(true, self.0.try_lock_shared())
    }

    #[inline]
    unsafe fn unlock_shared(&self, guard: R::SharedGuard) {
        self.release();
        // SAFETY: the caller holds the lock.
        unsafe { self.0.unlock_shared(guard) }
    }

    #[inline]
    fn lock_exclusive(&self) -> R::ExclusiveGuard {
        self.acquire_surely(false, || self.0.try_lock_exclusive(), || self.0.lock_exclusive())
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<R::ExclusiveGuard> {
        self.attempted(false, self.0.try_lock_exclusive())
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, guard: R::ExclusiveGuard) {
        self.release();
        // SAFETY: the caller holds the lock.
        unsafe { self.0.unlock_exclusive(guard) }
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }

    #[inline]
    fn is_locked_exclusive(&self) -> bool {
        self.0.is_locked_exclusive()
    }
}

// SAFETY: as above.
unsafe impl<R: RawRwLockFair> RawRwLockFair for Recorded<R> {
    #[inline]
    unsafe fn unlock_shared_fair(&self, guard: R::SharedGuard) {
        self.release();
        // SAFETY: the caller holds the lock.
        unsafe { self.0.unlock_shared_fair(guard) }
    }

    #[inline]
    unsafe fn unlock_exclusive_fair(&self, guard: R::ExclusiveGuard) {
        self.release();
        // SAFETY: the caller holds the lock.
        unsafe { self.0.unlock_exclusive_fair(guard) }
    }
}

// SAFETY: as above.
unsafe impl<R: RawRwLockTimed> RawRwLockTimed for Recorded<R> {
    type Duration = R::Duration;
    type Instant = R::Instant;

    #[inline]
    fn try_lock_shared_for(&self, timeout: R::Duration) -> Option<R::SharedGuard> {
        let attempt = || self.0.try_lock_shared();
        self.acquire(true, attempt, || self.0.try_lock_shared_for(timeout))
    }

    #[inline]
    fn try_lock_shared_until(&self, timeout: R::Instant) -> Option<R::SharedGuard> {
        let attempt = || self.0.try_lock_shared();
        self.acquire(true, attempt, || self.0.try_lock_shared_until(timeout))
    }

    #[inline]
    fn try_lock_exclusive_for(&self, timeout: R::Duration) -> Option<R::ExclusiveGuard> {
        let attempt = || self.0.try_lock_exclusive();
        self.acquire(false, attempt, || self.0.try_lock_exclusive_for(timeout))
    }

    #[inline]
    fn try_lock_exclusive_until(&self, timeout: R::Instant) -> Option<R::ExclusiveGuard> {
        let attempt = || self.0.try_lock_exclusive();
        self.acquire(false, attempt, || self.0.try_lock_exclusive_until(timeout))
    }
}

// SAFETY: as above.
unsafe impl<R: RawRwLockDowngrade> RawRwLockDowngrade for Recorded<R> {
    /// Ends the writer's hold, and begins a reader's.
    #[inline]
    unsafe fn downgrade(&self, guard: R::ExclusiveGuard) -> R::SharedGuard {
        self.release();
        // SAFETY: the caller holds the lock.
        let guard = unsafe { self.0.downgrade(guard) };
        if let Some(calls) = calls::calls() {
            calls.acquired(self.address(), 0, true);
        }
        guard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    type RwLock<T> = lock_api::RwLock<Recorded<lockyard::RawRecursiveRwLock>, T>;

    #[test]
    fn all_ways_to_acquire_and_release_are_those_of_the_lock() {
        let lock = RwLock::new(1);
        {
            let (one, two) = (lock.read(), lock.read());
            assert_eq!(*one + *two, 2);
            assert!(lock.try_write().is_none() && lock.try_read().is_some());
            assert!(lock.try_write_for(Duration::from_micros(50)).is_none());
        }
        let mut write = lock.try_write_for(Duration::from_secs(60)).expect("it is free");
        *write = 5;
        assert!(lock.try_read_for(Duration::from_micros(50)).is_none());
        let read = lock_api::RwLockWriteGuard::downgrade(write);
        assert!(lock.try_read_for(Duration::from_secs(60)).is_some() && lock.try_write().is_none());
        lock_api::RwLockReadGuard::unlock_fair(read);
        lock_api::RwLockWriteGuard::unlock_fair(lock.write());
        assert_eq!(*lock.try_read().expect("it is free"), 5);
    }
}
