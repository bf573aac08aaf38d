//! The condition variable: see `lockyard::Condvar`.

use crate::in_c::{at, check, check_pointer, in_c};
use crate::mutex::ly_mutex_t;
use crate::simple::after;
use lockyard::platform::{Instant, Native};
use lockyard::{Condvar, RawMutex};

/// Condition variable of 24 bytes, for `ly_mutex_t`. It has no spurious wake-ups, but another
/// thread may take the mutex before the woken thread: check the condition again, in a loop.
///
/// A static one is initialised by `LY_COND_INIT`, and one in memory of zeros is initialised too.
#[derive(Debug)]
#[repr(C)]
pub struct ly_cond_t {
    /// Only for the functions of this type.
    pub words_: [u64; 3],
}

// All bits zero: no thread waits.
in_c!(ly_cond_t, Condvar);

/// Makes a condition variable without waiters, as `LY_COND_INIT` does. Cost: three stores. Never
/// fails.
///
/// # Safety
///
/// `cond` must point to memory for a condition variable that no thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_cond_init(cond: *mut ly_cond_t) {
    check_pointer(cond, "ly_cond_init");
    let new = ly_cond_t { words_: [0; 3] };
    // SAFETY: the caller's promise.
    unsafe { cond.write(new) };
}

/// Ends the life of a condition variable. Cost: nothing; it frees nothing. A debug build aborts if
/// a thread waits.
///
/// # Safety
///
/// `cond` must be initialised, no thread may wait, and no thread may use it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_cond_destroy(cond: *mut ly_cond_t) {
    const NAME: &str = "ly_cond_destroy";
    // SAFETY: the caller's promise.
    check!(!unsafe { at(cond, NAME) }.has_waiters(), NAME, "threads wait");
}

/// Releases `mutex`, sleeps until another thread notifies this one, and takes `mutex` again. No
/// notification is lost that comes after the release. Cost: a sleep and a wake-up. Never fails.
/// Aborts if other threads wait with another mutex; a debug build aborts if `mutex` is free.
///
/// # Safety
///
/// Both must be initialised and must not move. The calling thread must hold `mutex`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_cond_wait(cond: *mut ly_cond_t, mutex: *mut ly_mutex_t) {
    // SAFETY: the caller's promise.
    unsafe { wait(cond, mutex, None, "ly_cond_wait") };
}

/// As `ly_cond_wait`, but sleeps for `nanoseconds` at most. Returns true if it was notified, and
/// false on a timeout. The thread holds `mutex` in both cases. The call may return after the
/// timeout, because it waits without a limit to take `mutex`.
///
/// # Safety
///
/// The same as for `ly_cond_wait`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_cond_timedwait(
    cond: *mut ly_cond_t,
    mutex: *mut ly_mutex_t,
    nanoseconds: u64,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe { wait(cond, mutex, Some(after(nanoseconds)), "ly_cond_timedwait") }
}

/// Waits, and takes the mutex again. Returns true if the thread was notified.
///
/// # Safety
///
/// The same as for [`ly_cond_wait`].
unsafe fn wait(
    cond: *mut ly_cond_t,
    mutex: *mut ly_mutex_t,
    until: Option<Instant<Native>>,
    function: &str,
) -> bool {
    // SAFETY: the caller's promise.
    let (cond, lock): (&Condvar, &RawMutex) = unsafe { (at(cond, function), at(mutex, function)) };
    check!(lock.is_held(), function, "the mutex is not locked");
    // SAFETY: the caller holds the mutex.
    let release = || unsafe { lock.release(lock.held_by_caller()) };
    // If other threads wait with another mutex this panics, and so ends the program.
    let notified = cond.wait_with(mutex.addr(), release, until);
    // Its token is in the lane.
    lock.acquire().into_token();
    notified
}

/// Notifies the thread that has waited longest, if a thread waits. Returns true if a thread was
/// notified. Cost: one load if no thread waits, otherwise a lock and a wake-up. Never fails.
///
/// # Safety
///
/// `cond` must be initialised. The calling thread need not hold the mutex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_cond_signal(cond: *mut ly_cond_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { at(cond, "ly_cond_signal") }.notify_one()
}

/// Notifies all threads that wait. Returns their number. They compete for the mutex. Cost: as
/// `ly_cond_signal`, and a wake-up for each. Never fails.
///
/// # Safety
///
/// The same as for `ly_cond_signal`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ly_cond_broadcast(cond: *mut ly_cond_t) -> usize {
    // SAFETY: the caller's promise.
    unsafe { at(cond, "ly_cond_broadcast") }.notify_all()
}
