//! The ticket lock whose waiters park: see `lockyard::PvTicketLock`.

use crate::in_c::{check_pointer, in_c};
use crate::simple;
use lockyard::RawPvTicketLock;

/// Ticket lock of 4 bytes whose waiters park: first come, first served, even if the next thread is
/// preempted. Each hand-over to a parked thread is a wake-up.
///
/// A static one is initialised by `LY_PVTICKET_INIT`, and one in memory of zeros is initialised
/// too.
#[derive(Debug)]
#[repr(C)]
pub struct ly_pvticket_t {
    /// Only for the functions of this type.
    pub word_: u32,
}

// All bits zero: the lock is free.
in_c!(ly_pvticket_t, RawPvTicketLock);

/// Makes a free lock, as `LY_PVTICKET_INIT` does. Cost: one store. Never fails.
///
/// # Safety
///
/// `lock` must point to memory for a lock that no thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvticket_init(lock: *mut ly_pvticket_t) {
    check_pointer(lock, "ly_pvticket_init");
    // SAFETY: the caller's promise.
    unsafe { lock.write(ly_pvticket_t { word_: 0 }) };
}

/// Ends the life of a lock. Cost: nothing; it frees nothing. A debug build aborts if the lock is
/// held.
///
/// # Safety
///
/// `lock` must be initialised and free, and no thread may use it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvticket_destroy(lock: *mut ly_pvticket_t) {
    // SAFETY: the caller's promise.
    unsafe { simple::destroy(lock, "ly_pvticket_destroy") }
}

/// Takes the lock, waiting until it is free. What the last holder did before its release happens
/// before. Cost without contention: one locked addition. Never fails. Ends the program if more than
/// 2^14 threads hold or wait.
///
/// # Safety
///
/// `lock` must be initialised, must not move, and the calling thread must not hold it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvticket_lock(lock: *mut ly_pvticket_t) {
    // SAFETY: the caller's promise.
    unsafe { simple::lock(lock, "ly_pvticket_lock") }
}

/// Takes the lock if it is free, without waiting. Returns true if it took the lock. Cost: one load,
/// and one locked operation if it was free.
///
/// # Safety
///
/// The same as for `ly_pvticket_lock`; the calling thread may hold it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvticket_trylock(lock: *mut ly_pvticket_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { simple::try_lock(lock, "ly_pvticket_trylock") }
}

/// Releases the lock. Cost: one locked addition, and a wake-up if the next waiter is parked. Never
/// fails. A debug build aborts if the lock is free.
///
/// # Safety
///
/// The calling thread must hold the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvticket_unlock(lock: *mut ly_pvticket_t) {
    // SAFETY: the caller's promise.
    unsafe { simple::unlock(lock, "ly_pvticket_unlock") }
}

/// Returns true if the lock is held. The answer may be stale when it returns. Cost: one load.
///
/// # Safety
///
/// `lock` must be initialised.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_pvticket_is_locked(lock: *const ly_pvticket_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { simple::is_locked(lock, "ly_pvticket_is_locked") }
}
