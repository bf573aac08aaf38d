//! Reading twice: the methods of a [`RwLock`](crate::RwLock) that a thread may call while it reads.

use super::raw::RawRwLock;
use crate::lock::adaptive::Patience;
use crate::platform::{ConstAtomics, Host, HostWithSlots, Instant};
use core::time::Duration;
use lock_api::{GuardNoSend, RwLock, RwLockReadGuard};

/// Reads of a [`RwLock`](crate::RwLock) by threads that may read already.
///
/// ```
/// use lockyard::RwLock;
/// use lockyard::rwlock::ReadRecursive;
///
/// let lock = RwLock::new(5);
/// let first = lock.read();
/// // A writer that waits does not keep it out.
/// assert_eq!(*lock.read_recursive(), *first);
/// ```
///
/// A call that finds no writer inside does not wait. So threads that read in this way, one after
/// the other, may starve writers. A call that finds a writer inside waits its turn, like any other
/// reader.
pub trait ReadRecursive {
    /// The protected value.
    type Value: ?Sized;
    /// The lock without the value.
    type Raw: lock_api::RawRwLock;
    /// The host whose clock timeouts use.
    type Host: Host;

    /// Takes the lock for reading, waiting until no writer is inside.
    fn read_recursive(&self) -> RwLockReadGuard<'_, Self::Raw, Self::Value>;
    /// Takes the lock for reading unless a writer is inside.
    fn try_read_recursive(&self) -> Option<RwLockReadGuard<'_, Self::Raw, Self::Value>>;
    /// Takes the lock for reading, waiting until `until` at most.
    fn try_read_recursive_until(
        &self,
        until: Instant<Self::Host>,
    ) -> Option<RwLockReadGuard<'_, Self::Raw, Self::Value>>;
    /// The same as [`try_read_recursive_until`](Self::try_read_recursive_until), with a duration
    /// from now on.
    fn try_read_recursive_for(
        &self,
        timeout: Duration,
    ) -> Option<RwLockReadGuard<'_, Self::Raw, Self::Value>> {
        self.try_read_recursive_until(Instant::now() + timeout)
    }
}

impl<T: ?Sized, H, P, const RECURSIVE: bool> ReadRecursive for RwLock<RawRwLock<H, P, RECURSIVE>, T>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Patience,
{
    type Value = T;
    type Raw = RawRwLock<H, P, RECURSIVE>;
    type Host = H;

    #[inline]
    fn read_recursive(&self) -> RwLockReadGuard<'_, Self::Raw, T> {
        // SAFETY: the thread has entered as a reader, and the guard's drop leaves as a reader.
        unsafe {
            self.raw().acquire_shared_recursive();
            self.make_read_guard_unchecked(GuardNoSend::new())
        }
    }
    #[inline]
    fn try_read_recursive(&self) -> Option<RwLockReadGuard<'_, Self::Raw, T>> {
        // SAFETY: as in `read_recursive`.
        unsafe {
            let is_inside = self.raw().try_acquire_shared_recursive();
            is_inside.then(|| self.make_read_guard_unchecked(GuardNoSend::new()))
        }
    }
    fn try_read_recursive_until(
        &self,
        until: Instant<H>,
    ) -> Option<RwLockReadGuard<'_, Self::Raw, T>> {
        // SAFETY: as in `read_recursive`.
        unsafe {
            let is_inside = self.raw().acquire_shared_recursive_until(until);
            is_inside.then(|| self.make_read_guard_unchecked(GuardNoSend::new()))
        }
    }
}
