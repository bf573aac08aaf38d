//! Cancellation of a thread that waits.
//!
//! The C library does not know these waits, so it does not end them. The `pthread_cancel` here
//! calls the C library's, and then wakes the thread if it sleeps. The thread finds that it is
//! cancelled, and leaves the queue in which it waits. A wait for a condition then acquires the
//! mutex again. Only after that does the thread act upon the request.
//!
//! A thread whose cancellation is *asynchronous* could be unwound at any instruction of a wait, and
//! its node would stay in the queue. So a wait makes the cancellation type deferred, and restores
//! it at the end. A thread with asynchronous cancellation also leaves the wait for a mutex, as in
//! the C library.
//!
//! The functions here that act upon a request unwind the caller. No Rust frame above them may have
//! anything to drop.

use crate::host::Process;
use crate::local::{Wait, local};
use crate::slots::{self, CANCELLED};
use crate::{leave, note, real, sleep, start, system};
use core::ffi::c_int;
use core::sync::atomic::{Ordering, fence};
use lockyard::platform::{Host, Slot};

unsafe extern "C" {
    fn pthread_self() -> usize;
}

unsafe extern "C-unwind" {
    fn pthread_setcanceltype(of: c_int, old: *mut c_int) -> c_int;
    fn pthread_testcancel();
}

/// POSIX's `PTHREAD_CANCEL_DEFERRED` and `PTHREAD_CANCEL_ASYNCHRONOUS`, by the C library's ABI.
const DEFERRED: c_int = 0;
const ASYNCHRONOUS: c_int = 1;

/// Cancels a thread.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cancel(thread: usize) -> c_int {
    start::state();
    // SAFETY: the program's thread. If it is the calling thread, the call may unwind: nothing needs
    // to be dropped.
    let code = unsafe { real::one(&real::CANCEL, thread) };
    if code == 0 {
        // Sequentially consistent: pairs with the fence in `expect`.
        fence(Ordering::SeqCst);
        // SAFETY: the call has no preconditions.
        if thread == unsafe { pthread_self() } {
            interrupt();
            return code;
        }
        // Search all records: a thread that has ended may have left a record.
        for slot in slots::leased().filter(|&slot| slots::record(slot).is_of(thread)) {
            wake(slot);
        }
    }
    code
}

/// Ends the wait that the running thread has interrupted, in a handler that cancels its own thread.
/// The C library unwinds the thread out of the handler. So this function drops the handler's frames
/// too: otherwise the kernel would resume the system call after the handler.
fn interrupt() {
    let Some(slot) = slots::mine() else { return };
    let record = slots::record(slot);
    record.cancelled.store(CANCELLED, Ordering::SeqCst);
    let me = local();
    // SAFETY: the thread's own data. The word is valid during the system call of a wait that ends
    // when the thread is cancelled.
    unsafe {
        let place = &raw mut (*me).note;
        if record.word.load(Ordering::Relaxed) != 0 && sleep::must_end(record) {
            (*me).wait.stop = true;
            // The system call may be about to begin; in that case it does not.
            (*me).is_interrupted = true;
            if note::is_in_call(place) {
                note::go_back(place);
            }
        }
    }
}

/// Number of naps of a thread that cancels another: a quarter of a second.
const MOST_NAPS: u32 = 5_000;

/// Wakes a cancelled thread until it has seen the cancellation. The first call does not wake a
/// thread that is just about to sleep. It also does not wake a thread that runs a handler which
/// interrupted its sleep; that thread looks when the handler returns. So the loop gives up after a
/// while.
fn wake(slot: Slot) {
    let record = slots::record(slot);
    // Sequentially consistent, both: pair with the other order in `sleep.rs`. Either the thread
    // sees the mark before it sleeps, or this thread sees the word.
    record.cancelled.store(CANCELLED, Ordering::SeqCst);
    let word = record.word.load(Ordering::SeqCst);
    let mut naps = 0;
    while word != 0
        && naps < MOST_NAPS
        && record.word.load(Ordering::SeqCst) == word
        && record.cancelled.load(Ordering::SeqCst) == CANCELLED
        && !slots::has_ended(slot)
        // Only that thread sleeps on the word. If it is about to sleep, it is not woken.
        && system::wake(core::ptr::without_provenance(word), u32::MAX) == 0
    {
        system::nap();
        naps += 1;
    }
}

/// Makes requests to cancel the running thread visible to its wait, from here on.
pub(crate) fn expect() {
    if let Some(slot) = Process::slot() {
        // In a handler that interrupts another wait, a request also concerns that wait. SAFETY: the
        // thread's own data.
        if !unsafe { (*local()).wait.waits } {
            slots::record(slot).cancelled.store(0, Ordering::Relaxed);
        }
        // Sequentially consistent: pairs with the fence in `pthread_cancel`. A thread that cancels
        // this one sees the record, or this thread sees at once that it is cancelled.
        fence(Ordering::SeqCst);
    }
}

/// Acts upon a request to cancel the running thread.
///
/// # Safety
///
/// No frame above may have anything to drop.
pub(crate) unsafe fn act() {
    // SAFETY: the caller's promise.
    unsafe { pthread_testcancel() };
}

/// Makes the running thread's cancellation deferred. Returns true if it was asynchronous. An
/// earlier request takes effect at once.
pub(crate) fn defer() -> bool {
    let mut before = DEFERRED;
    // SAFETY: the call writes the live word. It does not act upon a request for this type.
    unsafe { pthread_setcanceltype(DEFERRED, &raw mut before) };
    before == ASYNCHRONOUS
}

/// Makes the running thread's cancellation asynchronous again. Acts upon a pending request.
///
/// # Safety
///
/// No frame above may have anything to drop.
#[cold]
pub(crate) unsafe fn undo_defer() {
    let mut before = DEFERRED;
    // SAFETY: the call writes the live word. The caller's promise.
    unsafe {
        pthread_setcanceltype(ASYNCHRONOUS, &raw mut before);
        pthread_testcancel();
    }
}

/// Runs the acquisition of a mutex at the end of a wait for a condition. The thread does not leave
/// this acquisition, and its cancellation is already deferred. If a handler ends the thread, the
/// acquisition continues, and the caller finds a mark.
pub(crate) fn deferred(mut wait: impl FnMut(bool) -> c_int) -> c_int {
    let me = local();
    // SAFETY: the thread's own data, both times.
    let before = unsafe {
        let before = (*me).wait;
        (*me).wait = Wait { waits: true, stays: true, ..before };
        before
    };
    let code = wait(false);
    // SAFETY: as above.
    unsafe {
        let Wait { waits, stays, .. } = before;
        (*me).wait = Wait { waits, stays, ..(*me).wait };
    }
    code
}

/// Returns true if a handler has ended the running thread in a wait, and clears that mark.
pub(crate) fn exits() -> bool {
    // SAFETY: the thread's own data.
    unsafe { core::mem::replace(&mut (*local()).wait.exits, false) }
}

/// Runs a wait for a lock. The result is 0 if the thread has the lock at the end. The thread is not
/// unwound out of the wait. If the thread's cancellation is asynchronous, the wait is told so, and
/// must have a deadline: a request, or a handler that ends the thread, moves that deadline to the
/// present. If the thread has nevertheless acquired the lock, `undo` releases it.
pub(crate) fn in_wait(mut wait: impl FnMut(bool) -> c_int, undo: impl Fn()) -> c_int {
    let me = local();
    loop {
        let is_asynchronous = defer();
        if is_asynchronous {
            // Requests are visible to the wait from here on. An earlier request takes effect now,
            // while the thread is in no queue.
            expect();
            // SAFETY: no frame above has anything to drop.
            unsafe { act() };
        }
        // SAFETY: the thread's own data, here and below.
        let before = unsafe {
            let state = Wait { looks: is_asynchronous, waits: true, ..Wait::NONE };
            core::mem::replace(&mut (*me).wait, state)
        };
        let code = wait(is_asynchronous);
        // SAFETY: as above. No frame above has anything to drop.
        unsafe {
            let Wait { stop, exits, .. } = core::mem::replace(&mut (*me).wait, before);
            if !stop {
                if is_asynchronous {
                    undo_defer();
                }
                return code;
            }
            if code == 0 {
                undo();
            }
            if is_asynchronous {
                undo_defer();
            }
            if exits {
                leave::exit();
            }
        }
        // A handler has disabled the cancellation that ended the wait.
    }
}
