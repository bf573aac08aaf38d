//! Cancellation of a thread that waits.
//!
//! The C library does not know these waits, so it does not end them. `pthread_cancel` here cancels
//! by the C library's one, and then wakes the thread if it sleeps. The thread finds that it is
//! cancelled, and leaves the queue in which it waits. A wait for a condition then acquires the mutex
//! again. Only then the thread acts upon the request.
//!
//! A thread whose cancellation is *asynchronous* could be unwound at any instruction of a wait, and
//! its node would stay in the queue. So a wait makes the type deferred, and restores it at its end.
//! Such a thread leaves the wait for a mutex too, as it does in the C library.
//!
//! The functions here that act upon a request unwind the caller. No frame of Rust that has
//! something to drop may be above them.

use crate::host::Process;
use crate::slots::{self, CANCELLED, DECLINED, Record};
use crate::{real, start, system};
use core::ffi::c_int;
use core::sync::atomic::{Ordering, fence};
use lockyard::platform::{Host, Slot};

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

unsafe extern "C-unwind" {
    fn pthread_setcanceltype(of: c_int, old: *mut c_int) -> c_int;
    fn pthread_testcancel();
}

/// POSIX's `PTHREAD_CANCEL_ENABLE` and `PTHREAD_CANCEL_DISABLE`, by the C library's ABI.
const ENABLE: c_int = 0;
const DISABLE: c_int = 1;
/// POSIX's `PTHREAD_CANCEL_DEFERRED` and `PTHREAD_CANCEL_ASYNCHRONOUS`, as above.
const DEFERRED: c_int = 0;
const ASYNCHRONOUS: c_int = 1;

/// Cancels a thread.
///
/// # Safety
///
/// As POSIX has it.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cancel(thread: usize) -> c_int {
    start::state();
    // SAFETY: the program's thread. If it is this one, the call may unwind: nothing is dropped.
    let code = unsafe { real::one(&real::CANCEL, thread) };
    if code == 0 {
        // Sequentially consistent: pairs with the fence in `expect`.
        fence(Ordering::SeqCst);
        // All: a thread that has ended may have left a record.
        for slot in slots::leased().filter(|&slot| slots::record(slot).is_of(thread)) {
            wake(slot);
        }
    }
    code
}

/// Wakes a thread that is cancelled, until it has seen that it is.
fn wake(slot: Slot) {
    let record = slots::record(slot);
    // Sequentially consistent, both: pair with the other order in `sleep.rs`. Either the thread
    // sees the mark before it sleeps, or this one sees the word.
    record.cancelled.store(CANCELLED, Ordering::SeqCst);
    let word = record.word.load(Ordering::SeqCst);
    // A handler that interrupts the wait cancels its own thread: it looks when the handler returns.
    let is_me = slots::mine() == Some(slot);
    while !is_me
        && word != 0
        && record.word.load(Ordering::SeqCst) == word
        && record.cancelled.load(Ordering::SeqCst) == CANCELLED
        && !slots::has_ended(slot)
        // Nobody else sleeps on the word. A thread that is about to sleep is not woken.
        && system::wake(core::ptr::without_provenance(word), u32::MAX) == 0
    {
        system::nap();
    }
}

/// Makes requests to cancel the running thread visible to its wait, from here on.
pub(crate) fn expect() {
    if let Some(slot) = Process::slot() {
        slots::record(slot).cancelled.store(0, Ordering::Relaxed);
        // Sequentially consistent: pairs with the fence in `pthread_cancel`. A thread that cancels
        // this one sees the record, or this thread sees at once that it is cancelled.
        fence(Ordering::SeqCst);
    }
}

/// Acts upon a request to cancel the running thread.
///
/// # Safety
///
/// No frame above has anything to drop.
pub(crate) unsafe fn act() {
    // SAFETY: the caller's promise.
    unsafe { pthread_testcancel() };
}

/// Makes the running thread's cancellation deferred. Returns true if it was asynchronous. A request
/// that comes before acts at once.
pub(crate) fn defer() -> bool {
    let mut before = DEFERRED;
    // SAFETY: the call writes the live word. It does not act upon a request for this type.
    unsafe { pthread_setcanceltype(DEFERRED, &raw mut before) };
    before == ASYNCHRONOUS
}

/// Makes the running thread's cancellation asynchronous again. Acts upon a request.
///
/// # Safety
///
/// No frame above has anything to drop.
#[cold]
pub(crate) unsafe fn undo_defer() {
    let mut before = DEFERRED;
    // SAFETY: the call writes the live word. The caller's promise.
    unsafe {
        pthread_setcanceltype(ASYNCHRONOUS, &raw mut before);
        pthread_testcancel();
    }
}

/// Returns true if the thread with this record has been cancelled, and can be now.
pub(crate) fn must_end(record: &Record) -> bool {
    record.cancelled.load(Ordering::SeqCst) == CANCELLED && is_enabled(record)
}

#[cold]
fn is_enabled(record: &Record) -> bool {
    let mut state = ENABLE;
    // SAFETY: the calls read and restore the running thread's state.
    unsafe {
        pthread_setcancelstate(DISABLE, &raw mut state);
        let mut disabled = DISABLE;
        pthread_setcancelstate(state, &raw mut disabled);
    }
    if state != ENABLE {
        record.cancelled.store(DECLINED, Ordering::SeqCst);
    }
    state == ENABLE
}
