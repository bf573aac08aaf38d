//! Calls that wait for other threads or wake them, without a lock: signals of
//! conditions, semaphores, barriers, and waits in user space that yield or sleep for a time.
//!
//! Each call counts in a slot of its thread, as acquisitions do. In a window (`window`) it is also
//! an event, except for waits in user space. A wait for a condition is in `conditions`. A thread
//! that has taken no lock yet has no records: its calls do not count.

use crate::calls::begin;
use crate::notes::SEMAPHORES;
use crate::real::{self, Slot};
use crate::system::ticks;
use crate::{local, record, unseen, window};
use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;
use lockyard_records::{Kind, event};

/// Result of a barrier for one thread of each round.
const SERIAL: c_int = -1;

/// Place of all waits in user space: they have a call site only.
const USER_SPACE: usize = 1 << 12;

/// Stands for the time of a call that is not timed.
const NOT_TIMED: u64 = 1;

/// Counts an event. In a burst, it is written, too.
unsafe fn count(of: usize, site: usize, kind: u64) {
    if !begin() {
        return;
    }
    // SAFETY: there is a mapping, and the thread is inside the recorder.
    unsafe {
        let mine = (*local::local()).thread;
        if !mine.is_null() {
            let site = site as u64 | kind;
            if window::is_open(mine) && kind < event::YIELDED {
                window::noted(mine, of as u64, site, ticks(), 0);
            }
            record::counted(mine, of as u64, site, Kind::Other);
        }
    }
    local::end();
}

macro_rules! signalling {
    ($($name:ident, $slot:ident, $kind:ident;)*) => { $(
        pub(crate) unsafe extern "C" fn $name(of: usize, site: usize) -> c_int {
            // SAFETY: the argument is the program's. The event comes before its effect.
            unsafe {
                count(of, site, event::$kind);
                real::one(&real::$slot)(of)
            }
        }
    )* };
}

signalling! {
    condition_signal, CONDITION_SIGNAL, SIGNALLED;
    condition_broadcast, CONDITION_BROADCAST, BROADCAST;
    old_condition_signal, OLD_CONDITION_SIGNAL, SIGNALLED;
    old_condition_broadcast, OLD_CONDITION_BROADCAST, BROADCAST;
    semaphore_post, SEMAPHORE_POST, GIVEN;
}

/// Notes a call of `sched_yield`.
pub(crate) unsafe extern "C" fn yields(_: usize, _: usize, _: usize, site: usize) {
    real::address(&real::YIELD);
    // SAFETY: there are no arguments.
    unsafe { count(USER_SPACE, site, event::YIELDED) };
}

/// Notes a call that sleeps for a time.
pub(crate) unsafe extern "C" fn naps(_: usize, _: usize, _: usize, site: usize) {
    real::address(&real::NANOSLEEP);
    // SAFETY: the arguments are not used.
    unsafe { count(USER_SPACE, site, event::NAPPED) };
}

/// Meets the other threads at a barrier. No thread is cancelled here.
pub(crate) unsafe extern "C" fn barrier_wait(barrier: usize, site: usize) -> c_int {
    let slot: &'static Slot = &real::BARRIER_WAIT;
    // SAFETY: the argument is the program's.
    unsafe {
        let since = time_if_open();
        let code = real::one(slot)(barrier);
        if code == 0 || code == SERIAL {
            let serial = u64::from(code == SERIAL);
            ended(barrier, site | event::MET as usize, since, barrier as u64 | serial);
        }
        code
    }
}

/// Returns the time, if the thread's window is open.
fn time_if_open() -> u64 {
    if !begin() {
        return 0;
    }
    // SAFETY: there is a mapping, and the thread is inside the recorder.
    let open = unsafe {
        let mine = (*local::local()).thread;
        !mine.is_null() && window::is_open(mine)
    };
    local::end();
    if open { ticks() } else { NOT_TIMED }
}

/// Records that a call is over which may have waited since a time. `shown` is what an event has in
/// place of a lock.
unsafe fn ended(of: usize, site: usize, since: u64, shown: u64) {
    let now = if since > NOT_TIMED { ticks() } else { 0 };
    if since == 0 || !begin() {
        return;
    }
    // SAFETY: as in `count`.
    unsafe {
        let mine = (*local::local()).thread;
        if !mine.is_null() {
            if since > NOT_TIMED && window::is_open(mine) {
                window::noted(mine, shown, site as u64, since, now.saturating_sub(since));
            }
            record::counted(mine, of as u64, site as u64, Kind::Other);
        }
    }
    local::end();
}

/// Records that a thread is about to take a unit of a semaphore. Returns the time, [`NOT_TIMED`],
/// or 0 if the call is not recorded.
pub(crate) unsafe extern "C" fn take_begins(_semaphore: usize) -> u64 {
    real::address(&real::SEMAPHORE_WAIT);
    if SEMAPHORES.load(Ordering::Relaxed) == 0 {
        unseen::uses(&SEMAPHORES);
    }
    time_if_open()
}

/// Records that a call that takes a unit is over.
pub(crate) unsafe extern "C" fn take_ends(semaphore: usize, site: usize, since: u64, code: c_int) {
    if code != 0 || since == 0 {
        return;
    }
    let mut value: c_int = 0;
    let function = real::SEMAPHORE_VALUE.load(Ordering::Relaxed);
    if since > NOT_TIMED && !function.is_null() {
        // SAFETY: the function of this name has this type, and the semaphore is the program's.
        unsafe {
            let get = core::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(usize, *mut c_int) -> c_int,
            >(function);
            get(semaphore, &raw mut value);
        }
    }
    const MOST: c_int = 0x7fff;
    let shown = semaphore as u64 | (value.clamp(0, MOST) as u64) << event::VALUE;
    // SAFETY: the arguments are the program's.
    unsafe { ended(semaphore, site | event::TAKEN as usize, since, shown) };
}
