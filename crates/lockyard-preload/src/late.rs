//! Acquisitions that are recorded when they are over: of locks that the thread holds, as far as is
//! known, of locks that a program records itself (`own`), and after waits for a condition.

use crate::memory::{at, count, header};
use crate::record::{self, Call};
use crate::system::ticks;
use crate::{burst, table, waits};
use lockyard_records::{Thread, entry_of, event, held as mark};

/// Wait of an acquisition that was not prepared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It did not wait.
    None,
    /// It began to wait at this time. It is timed or not, as is now decided.
    Since(u64),
    /// It began to wait at this time, and its marks were decided then: 0 if it is not timed.
    Marked { since: u64, marks: u32 },
}

/// Records an acquisition that was not prepared: one of a lock that the thread holds, as far as is
/// known, or by a call of which nothing is known before.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder and has acquired the lock.
pub(crate) unsafe fn acquired(thread: *mut Thread, call: &Call, wait: Wait, recursive: bool) {
    // SAFETY: the caller's.
    unsafe {
        let (since, mut timed) = match wait {
            Wait::None => (0, 0),
            // The length of the wait has no part in this.
            Wait::Since(since) => (since, chosen_before(thread, call)),
            Wait::Marked { since, marks } => (since, marks),
        };
        let in_window = burst::is_wanted() && (burst::is_on(thread) || (*thread).countdown == 1);
        let now = if timed != 0 || in_window { ticks() } else { 0 };
        if (*thread).held_count > 0 && again(thread, call, recursive) {
            return;
        }
        if timed == 0 && !in_window && record::begin(thread, call.lock, call.key, call.tried) {
            if wait != Wait::None {
                waits::begins(thread, at(record::prepared(thread).entry));
            }
            return record::hold(thread);
        }
        if !record::prepare(thread, call, Some(if since == 0 { now } else { since })) {
            return;
        }
        let mut of = record::prepared(thread);
        if wait != Wait::None {
            let entry = at(of.entry);
            waits::begins(thread, entry);
            if burst::is_wanted() {
                timed = waits::choose(thread, entry, of.marks);
            }
        }
        of.marks |= timed;
        // After what the preparation needed, which is no part of the hold.
        let begins = if record::is_clocked(of.marks) { ticks() } else { now };
        let waited = match timed {
            0 => 0,
            _ => (if now == 0 { begins } else { now }).saturating_sub(since).max(1),
        };
        record::hold_after_wait(thread, of, begins, waited);
    }
}

/// Decides if a wait is timed that is over, as [`waits::choose`] does. The first one at a call site
/// is.
unsafe fn chosen_before(thread: *mut Thread, call: &Call) -> u32 {
    // SAFETY: as in `acquired`.
    unsafe {
        let slot = table::find(thread, call.key);
        match slot.is_null() {
            true => mark::WAITED,
            false => waits::choose(thread, at(entry_of((*slot).count)), 0),
        }
    }
}

/// Handles an acquisition of a lock that the thread holds, as far as is known. Returns true if that
/// was one more of the same hold. Otherwise the lock is a new one to the records.
///
/// # Safety
///
/// As for [`acquired`].
#[cold]
unsafe fn again(thread: *mut Thread, call: &Call, recursive: bool) -> bool {
    // SAFETY: the caller's.
    unsafe {
        let Some(index) = record::held(thread, call.lock) else { return false };
        if recursive || call.event == event::READ {
            (*thread).held[index].depth += 1;
            if !record::counted(thread, call.lock, call.site | event::NESTED, call.kind) {
                count(&raw mut (*header()).lost);
            }
            return true;
        }
        // Another thread has released it, or another lock has come to this address.
        record::remove(thread, index);
        false
    }
}
