//! The reference count with a lock: see `lockyard::LockRef`.

use crate::in_c::{at, check, check_pointer, in_c};
use crate::simple::{HELD, NOT_HELD};
use core::mem;
use lockyard::LockRef;
use lockyard::lockref::Count;

/// Reference count with a queued lock, in 8 bytes. While the lock is free, the count changes
/// without it. It counts to 2^30; beyond that the object is never freed.
///
/// A static one is initialised by `LY_LOCKREF_INIT(count)`.
#[derive(Debug)]
#[repr(C)]
pub struct ly_lockref_t {
    /// Only for the functions of this type.
    pub word_: u64,
}

in_c!(ly_lockref_t, LockRef);

// A word with only a count: the lock is free.
const _: () = {
    // SAFETY: the two types have the same size, and a lockref is a word of 64 bits.
    let word = unsafe { mem::transmute::<LockRef, u64>(LockRef::new(7)) };
    assert!(word == 7, "LY_LOCKREF_INIT is a count of references and a free lock");
};

/// Result of `ly_lockref_count` for a dead object.
pub const LY_LOCKREF_DEAD: i64 = -1;
/// Result of `ly_lockref_count` beyond 2^30 references: the object is never freed.
pub const LY_LOCKREF_SATURATED: i64 = -2;
/// Result of `ly_lockref_put_return` if it dropped nothing.
pub const LY_LOCKREF_REFUSED: i64 = -3;

fn number(count: Count) -> i64 {
    match count {
        Count::Live(count) => i64::from(count),
        Count::Dead => LY_LOCKREF_DEAD,
        Count::Saturated => LY_LOCKREF_SATURATED,
    }
}

/// Makes a count of `count` references, with a free lock, as `LY_LOCKREF_INIT` does. Cost: one
/// store. Aborts if `count` exceeds 2^30.
///
/// # Safety
///
/// `lockref` must point to memory for a lockref that no thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_init(lockref: *mut ly_lockref_t, count: u32) {
    check_pointer(lockref, "ly_lockref_init");
    // SAFETY: the caller's promise; the sizes are equal.
    unsafe { lockref.cast::<LockRef>().write(LockRef::new(count)) };
}

/// Ends the life of a count. Cost: nothing; it frees nothing. A debug build aborts if its lock is
/// held.
///
/// # Safety
///
/// `lockref` must be initialised, its lock must be free, and no thread may use it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_destroy(lockref: *mut ly_lockref_t) {
    // SAFETY: the caller's promise.
    let held = unsafe { at(lockref, "ly_lockref_destroy") }.is_locked();
    check!(!held, "ly_lockref_destroy", HELD);
}

/// Takes a reference. Cost without contention: one compare-exchange. Never fails. A debug build
/// aborts if the object is dead.
///
/// # Safety
///
/// `lockref` must be initialised. The caller must have a reference, or must know that the object is
/// alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_get(lockref: *mut ly_lockref_t) {
    // SAFETY: the caller's promise.
    unsafe { at(lockref, "ly_lockref_get") }.get();
}

/// Takes a reference unless there is none, or the object is dead. Returns true if it did. Cost
/// without contention: one compare-exchange.
///
/// # Safety
///
/// `lockref` must be initialised, and its memory must not be freed during the call.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_get_not_zero(lockref: *mut ly_lockref_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { at(lockref, "ly_lockref_get_not_zero") }.get_not_zero()
}

/// Takes a reference unless the object is dead. Returns true if it did. Cost without contention:
/// one compare-exchange.
///
/// # Safety
///
/// The same as for `ly_lockref_get_not_zero`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_get_not_dead(lockref: *mut ly_lockref_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { at(lockref, "ly_lockref_get_not_dead") }.get_not_dead()
}

/// Drops a reference without taking the lock, and returns how many are left. Returns
/// `LY_LOCKREF_REFUSED` and drops nothing if the lock was held, if there was much contention, if
/// there was no reference, or if the object is dead. Returns a number above 2^30 if the count is
/// saturated. Cost without contention: one compare-exchange.
///
/// # Safety
///
/// `lockref` must be initialised, and the caller must have a reference.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_put_return(lockref: *mut ly_lockref_t) -> i64 {
    // SAFETY: the caller's promise.
    let left = unsafe { at(lockref, "ly_lockref_put_return") }.put_return();
    left.map_or(LY_LOCKREF_REFUSED, i64::from)
}

/// Drops a reference unless it is the last, there is none, or the object is dead. Returns true if
/// it did. Cost without contention: one compare-exchange.
///
/// # Safety
///
/// The same as for `ly_lockref_put_return`.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_put_not_zero(lockref: *mut ly_lockref_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { at(lockref, "ly_lockref_put_not_zero") }.put_not_zero()
}

/// Drops a reference and returns true, unless it is the last (or there is none, or the object is
/// dead). Then it drops nothing and returns false, with the lock held: the caller decides about the
/// object, and calls `ly_lockref_unlock`. Cost without contention: one compare-exchange.
///
/// # Safety
///
/// The same as for `ly_lockref_put_return`; the calling thread must not hold the lock.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_put_or_lock(lockref: *mut ly_lockref_t) -> bool {
    // SAFETY: the caller's promise.
    let held = unsafe { at(lockref, "ly_lockref_put_or_lock") }.put_or_lock();
    held.map(mem::forget).is_none()
}

/// Takes the lock, waiting until it is free. Until the release no other thread changes the count.
/// Cost without contention: one compare-exchange. Never fails.
///
/// # Safety
///
/// `lockref` must be initialised, and the calling thread must not hold its lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_lock(lockref: *mut ly_lockref_t) {
    // SAFETY: the caller's promise.
    mem::forget(unsafe { at(lockref, "ly_lockref_lock") }.lock());
}

/// Takes the lock if it is free. Returns true if it did. Cost: one load, and one compare-exchange
/// if it was free.
///
/// # Safety
///
/// `lockref` must be initialised.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_trylock(lockref: *mut ly_lockref_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { at(lockref, "ly_lockref_trylock") }.try_lock().map(mem::forget).is_some()
}

/// Releases the lock. Cost: one plain store. Never fails. A debug build aborts if the lock is free.
///
/// # Safety
///
/// The calling thread must hold the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_unlock(lockref: *mut ly_lockref_t) {
    // SAFETY: the caller's promise.
    let lockref: &LockRef = unsafe { at(lockref, "ly_lockref_unlock") };
    check!(lockref.is_locked(), "ly_lockref_unlock", NOT_HELD);
    // SAFETY: the caller holds the lock; the acquisition forgot its guard.
    drop(unsafe { lockref.guard_of_caller() });
}

/// Marks the object dead: no reference can be taken or dropped any more. Cost: one locked addition.
/// Never fails. A debug build aborts if the lock is free.
///
/// # Safety
///
/// The calling thread must hold the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_mark_dead(lockref: *mut ly_lockref_t) {
    // SAFETY: the caller's promise.
    let lockref: &LockRef = unsafe { at(lockref, "ly_lockref_mark_dead") };
    check!(lockref.is_locked(), "ly_lockref_mark_dead", NOT_HELD);
    // SAFETY: the caller holds the lock; the acquisition forgot its guard.
    let mut guard = unsafe { lockref.guard_of_caller() };
    guard.mark_dead();
    mem::forget(guard);
}

/// Sets the count. A saturated count stays so. Cost: one locked addition. Aborts if `count` exceeds
/// 2^30, or if the object is dead; a debug build aborts if the lock is free.
///
/// # Safety
///
/// The calling thread must hold the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_set_count(lockref: *mut ly_lockref_t, count: u32) {
    // SAFETY: the caller's promise.
    let lockref: &LockRef = unsafe { at(lockref, "ly_lockref_set_count") };
    check!(lockref.is_locked(), "ly_lockref_set_count", NOT_HELD);
    // SAFETY: the caller holds the lock; the acquisition forgot its guard.
    let mut guard = unsafe { lockref.guard_of_caller() };
    guard.set_count(count);
    mem::forget(guard);
}

/// Returns the number of references, `LY_LOCKREF_DEAD` or `LY_LOCKREF_SATURATED`. The answer may be
/// stale when it returns, unless the caller holds the lock. Cost: one load.
///
/// # Safety
///
/// `lockref` must be initialised.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_count(lockref: *const ly_lockref_t) -> i64 {
    // SAFETY: the caller's promise.
    number(unsafe { at(lockref, "ly_lockref_count") }.count())
}

/// Returns true if the lock is held. The answer may be stale when it returns. Cost: one load.
///
/// # Safety
///
/// `lockref` must be initialised.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_lockref_is_locked(lockref: *const ly_lockref_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { at(lockref, "ly_lockref_is_locked") }.is_locked()
}
