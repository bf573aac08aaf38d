//! The operations of a lock whose holder need not keep a token, for each such lock.

use crate::in_c::{InC, at, check};
use core::time::Duration;
use lockyard::lock::{LaneLock, TimedLock, TokenInLane};
use lockyard::platform::{Instant, Native};
use lockyard::{Held, RawSpinLock};

/// Waits for the lock and takes it.
///
/// # Safety
///
/// The same as for [`at`].
#[inline(always)]
pub(crate) unsafe fn lock<T, K>(lock: *mut T, function: &str)
where
    T: InC<Rust = RawSpinLock<K>>,
    K: LaneLock<Native> + TokenInLane,
{
    // SAFETY: the caller's promise.
    let _in_the_lane = unsafe { at(lock, function) }.acquire().into_token();
}

/// Takes the lock if it is free.
///
/// # Safety
///
/// The same as for [`at`].
#[inline(always)]
pub(crate) unsafe fn try_lock<T, K>(lock: *mut T, function: &str) -> bool
where
    T: InC<Rust = RawSpinLock<K>>,
    K: LaneLock<Native> + TokenInLane,
{
    // SAFETY: the caller's promise.
    unsafe { at(lock, function) }.try_acquire().map(Held::into_token).is_some()
}

/// Takes the lock, waiting for `nanoseconds` at most.
///
/// # Safety
///
/// The same as for [`at`].
#[inline(always)]
pub(crate) unsafe fn timed_lock<T, K>(lock: *mut T, nanoseconds: u64, function: &str) -> bool
where
    T: InC<Rust = RawSpinLock<K>>,
    K: TimedLock<Native> + TokenInLane,
{
    // SAFETY: the caller's promise.
    let lock = unsafe { at(lock, function) };
    lock.acquire_until(after(nanoseconds)).map(Held::into_token).is_some()
}

/// Releases the lock.
///
/// # Safety
///
/// The same as for [`at`], and the calling thread must hold the lock.
#[inline(always)]
pub(crate) unsafe fn unlock<T, K>(lock: *mut T, function: &str)
where
    T: InC<Rust = RawSpinLock<K>>,
    K: LaneLock<Native> + TokenInLane,
{
    // SAFETY: the caller's promise.
    let lock = unsafe { at(lock, function) };
    check!(lock.is_held(), function, NOT_HELD);
    // SAFETY: the caller holds it.
    unsafe { lock.release(lock.held_by_caller()) };
}

/// Returns true if the lock is held.
///
/// # Safety
///
/// The same as for [`at`].
#[inline(always)]
pub(crate) unsafe fn is_locked<T, K>(lock: *const T, function: &str) -> bool
where
    T: InC<Rust = RawSpinLock<K>>,
    K: LaneLock<Native>,
{
    // SAFETY: the caller's promise.
    unsafe { at(lock, function) }.is_held()
}

/// Ends the life of a lock, which must be free.
///
/// # Safety
///
/// The same as for [`at`].
#[inline(always)]
pub(crate) unsafe fn destroy<T, K>(lock: *mut T, function: &str)
where
    T: InC<Rust = RawSpinLock<K>>,
    K: LaneLock<Native>,
{
    // SAFETY: the caller's promise.
    check!(!unsafe { at(lock, function) }.is_held(), function, HELD);
}

pub(crate) const NOT_HELD: &str = "it is not locked";
pub(crate) const HELD: &str = "it is locked";

/// Returns the time after `nanoseconds`, which is now for a negative number that was converted to
/// `uint64_t`: otherwise a caller's -1 would wait for centuries.
pub(crate) fn after(nanoseconds: u64) -> Instant {
    let is_negative = nanoseconds > i64::MAX.unsigned_abs();
    Instant::now() + Duration::from_nanos(if is_negative { 0 } else { nanoseconds })
}
