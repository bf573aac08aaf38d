//! The test-and-set lock: see `lockyard::TestAndSetLock`.

use crate::in_c::{check_pointer, in_c};
use crate::simple;
use lockyard::RawTestAndSetLock;

/// Test-and-set lock of 4 bytes. All waiters compete for its line, and one may starve. It is a
/// baseline for comparison.
///
/// A static one is initialised by `LY_TAS_INIT`, and one in memory of zeros is initialised too.
#[derive(Debug)]
#[repr(C)]
pub struct ly_tas_t {
    /// Only for the functions of this type.
    pub word_: u32,
}

// All bits zero: the lock is free.
in_c!(ly_tas_t, RawTestAndSetLock);

/// Makes a free lock, as `LY_TAS_INIT` does. Cost: one store. Never fails.
///
/// # Safety
///
/// `lock` must point to memory for a lock that no thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_tas_init(lock: *mut ly_tas_t) {
    check_pointer(lock, "ly_tas_init");
    // SAFETY: the caller's promise.
    unsafe { lock.write(ly_tas_t { word_: 0 }) };
}

/// Ends the life of a lock. Cost: nothing; it frees nothing. A debug build aborts if the lock is
/// held.
///
/// # Safety
///
/// `lock` must be initialised and free, and no thread may use it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_tas_destroy(lock: *mut ly_tas_t) {
    // SAFETY: the caller's promise.
    unsafe { simple::destroy(lock, "ly_tas_destroy") }
}

/// Takes the lock, waiting until it is free. What the last holder did before its release happens
/// before. Cost without contention: one locked operation. Never fails.
///
/// # Safety
///
/// `lock` must be initialised, must not move, and the calling thread must not hold it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_tas_lock(lock: *mut ly_tas_t) {
    // SAFETY: the caller's promise.
    unsafe { simple::lock(lock, "ly_tas_lock") }
}

/// Takes the lock if it is free, without waiting. Returns true if it took the lock. Cost: one load,
/// and one locked operation if it was free.
///
/// # Safety
///
/// The same as for `ly_tas_lock`; the calling thread may hold it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_tas_trylock(lock: *mut ly_tas_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { simple::try_lock(lock, "ly_tas_trylock") }
}

/// Takes the lock, waiting for `nanoseconds` at most. Returns true if it took the lock. Cost
/// without contention: as `ly_tas_lock`, and one reading of the clock.
///
/// # Safety
///
/// The same as for `ly_tas_lock`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_tas_timedlock(lock: *mut ly_tas_t, nanoseconds: u64) -> bool {
    // SAFETY: the caller's promise.
    unsafe { simple::timed_lock(lock, nanoseconds, "ly_tas_timedlock") }
}

/// Releases the lock. Cost: one plain store. Never fails. A debug build aborts if the lock is free.
///
/// # Safety
///
/// The calling thread must hold the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_tas_unlock(lock: *mut ly_tas_t) {
    // SAFETY: the caller's promise.
    unsafe { simple::unlock(lock, "ly_tas_unlock") }
}

/// Returns true if the lock is held. The answer may be stale when it returns. Cost: one load.
///
/// # Safety
///
/// `lock` must be initialised.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_tas_is_locked(lock: *const ly_tas_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { simple::is_locked(lock, "ly_tas_is_locked") }
}
