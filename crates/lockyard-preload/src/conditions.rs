//! Waits for conditions. The C library releases the mutex and acquires it again itself, so this
//! ends a hold before the call, and records an acquisition after it.

use crate::calls::begin;
use crate::late::Wait;
use crate::record::{self, Call};
use crate::system::ticks;
use crate::{burst, late, local, real, thread, waits, window};
use core::ffi::c_int;
use lockyard_records::waits::MOST_EXPONENT;
use lockyard_records::{Kind, event, held as mark};

/// Bits of a time that have the exponent of a timed wait instead ([`wait_begins`]).
const EXPONENT: u64 = 31;

/// Result of a wait whose time is over (`ETIMEDOUT`).
const TIMED_OUT: c_int = 110;

/// Stands for the time of a wait that is not timed.
const NOT_TIMED: u64 = 1;

/// Records that a wait for a condition is about to release a mutex. Returns the time with the
/// exponent of the wait in its lowest bits, [`NOT_TIMED`], or 0 if the wait is not recorded.
pub(crate) unsafe extern "C" fn wait_begins(mutex: usize, condition: usize, site: usize) -> u64 {
    real::address(&real::CONDITION_WAIT);
    if !begin() {
        return 0;
    }
    let mut timed = mark::WAITED;
    // SAFETY: there is a mapping, and the thread is inside the recorder.
    unsafe {
        let mine = thread::mine();
        if !mine.is_null() {
            let entry = record::entry_of_held(mine, mutex as u64);
            if !entry.is_null() && !burst::is_wanted() {
                timed = waits::choose(mine, entry, 0);
            }
            let burst = (*mine).burst;
            record::end_before(mine, mutex as u64);
            let (of, site) = (condition as u64, site as u64 | event::WAITING);
            record::counted(mine, of, site, Kind::Other);
            if burst != 0 {
                window::waits(mine, burst, of, site);
            }
        }
    }
    local::end();
    match timed {
        0 => NOT_TIMED,
        _ => ticks() & !EXPONENT | u64::from(timed >> mark::EXPONENT),
    }
}

/// Records that a wait for a condition is over, and the mutex acquired again. If the thread is the
/// child of a fork by a signal handler, all of this is the child's. `code` is the result of the
/// call: no thread has ended a wait whose time is over.
pub(crate) unsafe extern "C" fn wait_ends(
    mutex: usize,
    site: usize,
    since: u64,
    condition: usize,
    code: c_int,
) {
    if since == 0 || !begin() {
        return;
    }
    let wait = match since {
        NOT_TIMED => Wait::Marked { since: 0, marks: 0 },
        _ => {
            let exponent = (since & EXPONENT) as u32;
            Wait::Marked {
                since: since & !EXPONENT,
                marks: mark::WAITED | exponent << mark::EXPONENT,
            }
        }
    };
    // SAFETY: as in `wait_begins`.
    unsafe {
        let mine = thread::mine();
        if mine.is_null() {
            crate::memory::count(&raw mut (*crate::memory::header()).lost);
        } else {
            let call = Call::new(mutex, site, Kind::Mutex, event::CONDITION, false);
            late::acquired(mine, &call, wait, false);
            if code == TIMED_OUT {
                let site = site as u64 | event::FAILED;
                record::counted(mine, condition as u64, site, Kind::Other);
            }
        }
    }
    local::end();
}

const _: () = assert!(MOST_EXPONENT as u64 <= EXPONENT);
