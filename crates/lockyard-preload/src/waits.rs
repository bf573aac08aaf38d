//! Waits for locks and for conditions: all are counted before they begin, and some of them timed.
//!
//! After a wait the thread has the lock, for which others wait. Whoever reads the clock there makes
//! all of them wait longer. So a wait is timed or not before it begins, by the pace of its lock
//! (`lockyard_records::waits`), and what a timed one tells is recorded after the release. An
//! untimed one only says that the lock is held.

use crate::memory::{allocate, at, count, header, offset_of};
use crate::{burst, sample};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use lockyard_records::waits::{FIRST_WAITS, is_chosen, look};
use lockyard_records::{Entry, Lock, Pace, Thread, Waits, held as mark};

/// Counts a wait that is about to begin.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder. The entry is one of its.
pub(crate) unsafe fn begins(thread: *mut Thread, entry: *mut Entry) {
    // SAFETY: the caller's.
    unsafe {
        (*thread).waits = (*thread).waits.wrapping_add(1);
        (*entry).contended += 1;
    }
}

/// Takes a wait back that was counted: the thread did not get the lock.
///
/// # Safety
///
/// As for [`begins`].
pub(crate) unsafe fn was_in_vain(thread: *mut Thread, entry: *mut Entry) {
    // SAFETY: the caller's.
    unsafe {
        (*thread).waits = (*thread).waits.wrapping_sub(1);
        (*entry).contended -= 1;
    }
}

/// Decides if a wait is timed: returns its marks, or 0 if it is not. `marks` are those of the
/// acquisition. In a recording, the waits of windows are timed; if all holds are, all waits too.
///
/// # Safety
///
/// As for [`begins`].
pub(crate) unsafe fn choose(thread: *mut Thread, entry: *const Entry, marks: u32) -> u32 {
    if burst::is_wanted() {
        return if marks & mark::EVENT != 0 { mark::WAITED } else { 0 };
    }
    if sample::every() == 1 {
        return mark::WAITED;
    }
    // SAFETY: the caller's. Threads access the pace by atomic operations only.
    let exponent = unsafe {
        // Relaxed: any recent pace will do.
        AtomicU32::from_ptr(&raw mut (*pace(entry)).exponent).load(Ordering::Relaxed)
    };
    // SAFETY: the caller's.
    let is_timed = exponent == 0 || unsafe { is_chosen(sample::random(thread), exponent) };
    if is_timed { mark::WAITED | exponent << mark::EXPONENT } else { 0 }
}

unsafe fn pace(entry: *const Entry) -> *mut Pace {
    // SAFETY: an entry has a record of its lock.
    unsafe { &raw mut (*at::<Lock>((*entry).record)).pace }
}

/// Records a timed wait with its marks, after the release. `now` is the time at which it ended.
///
/// # Safety
///
/// As for [`begins`].
pub(crate) unsafe fn ended(entry: *mut Entry, wait: u64, marks: u32, now: u64) {
    if burst::is_wanted() {
        // The event has it.
        return;
    }
    // SAFETY: the caller's.
    unsafe {
        if (*entry).waits == 0 {
            let new: *mut Waits = allocate(size_of::<Waits>(), align_of::<Waits>()).cast();
            if new.is_null() {
                return count(&raw mut (*header()).lost);
            }
            (*entry).waits = offset_of(new);
        }
        let exponent = marks >> mark::EXPONENT;
        (*at::<Waits>((*entry).waits)).add(wait, exponent);
        look_at(pace(entry), now);
    }
}

/// Counts a timed wait for the pace, and looks at that if its time has come.
unsafe fn look_at(pace: *mut Pace, now: u64) {
    // SAFETY: as in `choose`. Relaxed: a thread that looks too early or too late changes the pace a
    // little. What a wait stands for is in its marks.
    unsafe {
        let recent = AtomicU32::from_ptr(&raw mut (*pace).recent);
        let since = AtomicU64::from_ptr(&raw mut (*pace).since);
        let exponent = AtomicU32::from_ptr(&raw mut (*pace).exponent);
        let before = AtomicU64::from_ptr(&raw mut (*pace).before);
        let timed = recent.fetch_add(1, Ordering::Relaxed) + 1;
        let began = since.load(Ordering::Relaxed);
        // A hold that began before the last look tells nothing.
        let Some(passed) = now.checked_sub(began) else { return };
        let Some(next) = look(exponent.load(Ordering::Relaxed), timed, passed) else { return };
        // Of the threads that look now, one changes the pace.
        if since.compare_exchange(began, now, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        let timed = u64::from(recent.swap(0, Ordering::Relaxed));
        let all = before.fetch_add(timed, Ordering::Relaxed) + timed;
        exponent.store(if all < FIRST_WAITS { 0 } else { next }, Ordering::Relaxed);
    }
}
