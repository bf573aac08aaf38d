//! Cancellation of a thread that waits for a condition.
//!
//! The C library does not know these waits, so it does not end them. This function cancels by the
//! C library's one, and then wakes the thread if it sleeps. The thread finds that it is cancelled,
//! leaves the condition variable's waiters, acquires the mutex, and calls `pthread_testcancel`.

use crate::slots::{CANCELLED, Record, records};
use crate::{real, start, system};
use core::ffi::c_int;
use core::sync::atomic::{Ordering, fence};

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
        // Sequentially consistent: pairs with the fence in `condition.rs`.
        fence(Ordering::SeqCst);
        let is_its = |record: &&Record| record.thread.load(Ordering::Relaxed) == thread;
        // All: a thread that ended without its destructors may have left a record.
        records().iter().filter(is_its).for_each(wake);
    }
    code
}

/// Wakes a thread that is cancelled, until it has seen that it is.
fn wake(record: &Record) {
    // Sequentially consistent, both: pair with the other order in `sleep.rs`. Either the thread
    // sees the mark before it sleeps, or this one sees the word.
    record.cancelled.store(CANCELLED, Ordering::SeqCst);
    let word = record.word.load(Ordering::SeqCst);
    while word != 0
        && record.word.load(Ordering::SeqCst) == word
        && record.cancelled.load(Ordering::SeqCst) == CANCELLED
    {
        system::wake(core::ptr::without_provenance(word), u32::MAX);
        system::yield_now();
    }
}
