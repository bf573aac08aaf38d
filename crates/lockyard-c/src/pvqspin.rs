//! The queued lock whose waiters park: see `lockyard::PvQSpinLock`. Its token names a queue node
//! and cannot be read from the word. So the holder keeps the token beside the word.

use crate::in_c::{at, check, check_pointer, in_c};
use crate::simple::{self, HELD, NOT_HELD};
use lockyard::{Held, RawPvQSpinLock};

/// Queued lock of 8 bytes whose waiters park: for more threads than CPUs, and for guests of a
/// hypervisor. A newcomer may pass waiters, within a bound. (In Rust it has 4 bytes; C has to keep
/// the holder's token in the lock.)
///
/// A static one is initialised by `LY_PVQSPIN_INIT`, and one in memory of zeros is initialised too.
#[derive(Debug)]
#[repr(C)]
pub struct ly_pvqspin_t {
    /// Only for the functions of this type.
    pub word_: u32,
    /// Token of the holder, which gives it back. Only the holder uses it.
    pub token_: u32,
}

// All bits zero: the lock is free.
in_c!(ly_pvqspin_t, RawPvQSpinLock);

/// Stores the token that the calling thread gives back.
///
/// # Safety
///
/// `lock` must be initialised, and `held` must come from an acquisition of this lock.
#[inline(always)]
unsafe fn keep(lock: *mut ly_pvqspin_t, held: Held<RawPvQSpinLock>) {
    // SAFETY: the caller's promise. Only the holder uses the token, and no reference to it exists:
    // the Rust lock is the word before it.
    unsafe { (&raw mut (*lock).token_).write(held.into_token()) };
}

/// Returns the token that the calling thread gives back.
///
/// # Safety
///
/// The calling thread must hold the lock.
#[inline(always)]
unsafe fn kept(lock: *mut ly_pvqspin_t) -> Held<RawPvQSpinLock> {
    // SAFETY: as in `keep`, which the holder has called.
    unsafe { Held::from_token((&raw const (*lock).token_).read()) }
}

/// Makes a free lock, as `LY_PVQSPIN_INIT` does. Cost: one store. Never fails.
///
/// # Safety
///
/// `lock` must point to memory for a lock that no thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvqspin_init(lock: *mut ly_pvqspin_t) {
    check_pointer(lock, "ly_pvqspin_init");
    // SAFETY: the caller's promise.
    unsafe { lock.write(ly_pvqspin_t { word_: 0, token_: 0 }) };
}

/// Ends the life of a lock. Cost: nothing; it frees nothing. A debug build aborts if the lock is
/// held.
///
/// # Safety
///
/// `lock` must be initialised and free, and no thread may use it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvqspin_destroy(lock: *mut ly_pvqspin_t) {
    // SAFETY: the caller's promise.
    check!(!unsafe { at(lock, "ly_pvqspin_destroy") }.is_held(), "ly_pvqspin_destroy", HELD);
}

/// Takes the lock, waiting until it is free. What the last holder did before its release happens
/// before. Cost without contention: one compare-exchange. Never fails.
///
/// # Safety
///
/// `lock` must be initialised, must not move, and the calling thread must not hold it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvqspin_lock(lock: *mut ly_pvqspin_t) {
    // SAFETY: the caller's promise; taken here.
    unsafe { keep(lock, at(lock, "ly_pvqspin_lock").acquire()) };
}

/// Takes the lock if it is free and no other thread has waited for too long. Never waits. Returns
/// true if it took the lock. Cost: one load, and one compare-exchange if it was free.
///
/// # Safety
///
/// The same as for `ly_pvqspin_lock`; the calling thread may hold it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvqspin_trylock(lock: *mut ly_pvqspin_t) -> bool {
    // SAFETY: the caller's promise.
    let held = unsafe { at(lock, "ly_pvqspin_trylock") }.try_acquire();
    // SAFETY: taken here.
    held.map(|held| unsafe { keep(lock, held) }).is_some()
}

/// Takes the lock, waiting for `nanoseconds` at most. Returns true if it took the lock. Any number
/// of threads may pass it. Cost without contention: as `ly_pvqspin_lock`, and one reading of the
/// clock.
///
/// # Safety
///
/// The same as for `ly_pvqspin_lock`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvqspin_timedlock(lock: *mut ly_pvqspin_t, nanoseconds: u64) -> bool {
    // SAFETY: the caller's promise.
    let word = unsafe { at(lock, "ly_pvqspin_timedlock") };
    let held = word.acquire_until(simple::after(nanoseconds));
    // SAFETY: taken here.
    held.map(|held| unsafe { keep(lock, held) }).is_some()
}

/// Releases the lock. Cost: one locked addition, and a wake-up if the next waiter is parked. Never
/// fails. A debug build aborts if the lock is free.
///
/// # Safety
///
/// The calling thread must hold the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvqspin_unlock(lock: *mut ly_pvqspin_t) {
    const NAME: &str = "ly_pvqspin_unlock";
    // SAFETY: the caller's promise.
    let word = unsafe { at(lock, NAME) };
    check!(word.is_held(), NAME, NOT_HELD);
    // SAFETY: the caller holds it. The token is read before the release.
    unsafe { word.release(kept(lock)) };
}

/// Releases the lock. If a thread is queued, no other thread takes the lock before it. Cost: as
/// `ly_pvqspin_unlock`. Never fails. A debug build aborts if the lock is free.
///
/// # Safety
///
/// The calling thread must hold the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvqspin_unlock_fair(lock: *mut ly_pvqspin_t) {
    const NAME: &str = "ly_pvqspin_unlock_fair";
    // SAFETY: the caller's promise.
    let word = unsafe { at(lock, NAME) };
    check!(word.is_held(), NAME, NOT_HELD);
    // SAFETY: the caller holds it. The token is read before the release.
    unsafe { word.release_fair(kept(lock)) };
}

/// Returns true if the lock is held. The answer may be stale when it returns. Cost: one load.
///
/// # Safety
///
/// `lock` must be initialised.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvqspin_is_locked(lock: *const ly_pvqspin_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { simple::is_locked(lock, "ly_pvqspin_is_locked") }
}
