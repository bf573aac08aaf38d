//! The mutex: see `lockyard::Mutex`.

use crate::in_c::{at, check, check_pointer, in_c};
use crate::simple::{self, NOT_HELD};
use lockyard::RawMutex;

/// Mutex of 4 bytes, for threads of an ordinary program. A waiter spins for some microseconds and
/// then sleeps. Newcomers may pass it; once it has waited for a millisecond it demands the lock.
///
/// A static one is initialised by `LY_MUTEX_INIT`, and one in memory of zeros is initialised too.
#[derive(Debug)]
#[repr(C)]
pub struct ly_mutex_t {
    /// Only for the functions of this type.
    pub word_: u32,
}

// All bits zero: the mutex is free.
in_c!(ly_mutex_t, RawMutex);

/// Makes a free mutex, as `LY_MUTEX_INIT` does. Cost: one store. Never fails.
///
/// # Safety
///
/// `mutex` must point to memory for a mutex that no thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_mutex_init(mutex: *mut ly_mutex_t) {
    check_pointer(mutex, "ly_mutex_init");
    // SAFETY: the caller's promise.
    unsafe { mutex.write(ly_mutex_t { word_: 0 }) };
}

/// Ends the life of a mutex. Cost: nothing; it frees nothing. A debug build aborts if the mutex is
/// held.
///
/// # Safety
///
/// `mutex` must be initialised and free, and no thread may use it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_mutex_destroy(mutex: *mut ly_mutex_t) {
    // SAFETY: the caller's promise.
    unsafe { simple::destroy(mutex, "ly_mutex_destroy") }
}

/// Takes the mutex, waiting until it is free. What the last holder did before its release happens
/// before. Cost without contention: one exchange. Never fails.
///
/// # Safety
///
/// `mutex` must be initialised, must not move, and the calling thread must not hold it (the thread
/// would wait for itself).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_mutex_lock(mutex: *mut ly_mutex_t) {
    // SAFETY: the caller's promise.
    unsafe { simple::lock(mutex, "ly_mutex_lock") }
}

/// Takes the mutex if it is free, without waiting. Returns true if it took it. Cost: one load, and
/// one exchange if it was free.
///
/// # Safety
///
/// The same as for `ly_mutex_lock`; the calling thread may hold it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_mutex_trylock(mutex: *mut ly_mutex_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { simple::try_lock(mutex, "ly_mutex_trylock") }
}

/// Takes the mutex, waiting for `nanoseconds` at most. Returns true if it took it. Cost without
/// contention: as `ly_mutex_lock`, and one reading of the clock.
///
/// # Safety
///
/// The same as for `ly_mutex_lock`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_mutex_timedlock(mutex: *mut ly_mutex_t, nanoseconds: u64) -> bool {
    // SAFETY: the caller's promise.
    unsafe { simple::timed_lock(mutex, nanoseconds, "ly_mutex_timedlock") }
}

/// Releases the mutex. Another thread may take it before those that wait. Cost: one load and one
/// plain store, and a wake-up if a thread sleeps and no other thread is about to take the mutex.
/// Never fails. A debug build aborts if the mutex is free.
///
/// # Safety
///
/// The calling thread must hold the mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_mutex_unlock(mutex: *mut ly_mutex_t) {
    // SAFETY: the caller's promise.
    unsafe { simple::unlock(mutex, "ly_mutex_unlock") }
}

/// Releases the mutex, directly to the thread that has slept longest if there is one. Cost: that
/// thread's wake-up, in which no other thread can take the mutex. Never fails. A debug build aborts
/// if the mutex is free.
///
/// # Safety
///
/// The calling thread must hold the mutex, and must not be in a signal handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_mutex_unlock_fair(mutex: *mut ly_mutex_t) {
    const NAME: &str = "ly_mutex_unlock_fair";
    // SAFETY: the caller's promise.
    let lock = unsafe { at(mutex, NAME) };
    check!(lock.is_held(), NAME, NOT_HELD);
    // SAFETY: the caller holds it.
    unsafe { lock.release_fair(lock.held_by_caller()) };
}

/// Returns true if the mutex is held. The answer may be stale when it returns. Cost: one load.
///
/// # Safety
///
/// `mutex` must be initialised.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_mutex_is_locked(mutex: *const ly_mutex_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { simple::is_locked(mutex, "ly_mutex_is_locked") }
}
