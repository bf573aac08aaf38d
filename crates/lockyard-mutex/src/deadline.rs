//! Deadlines as in POSIX: a time on a clock.

use crate::local::{Clock, local, read};
use crate::word::Until;
use core::time::Duration;
use libc::{c_int, timespec};

/// Number of nanoseconds in a second.
const SECOND: libc::c_long = 1_000_000_000;

/// Returns the clock with a POSIX clock ID, if a wait may use that clock.
pub(crate) fn clock(number: c_int) -> Option<Clock> {
    match number {
        libc::CLOCK_REALTIME => Some(Clock::Realtime),
        libc::CLOCK_MONOTONIC => Some(Clock::Monotonic),
        _ => None,
    }
}

/// Returns true if the time is valid.
pub(crate) fn is_valid(time: &timespec) -> bool {
    (0..SECOND).contains(&time.tv_nsec)
}

/// Returns the deadline on the running thread's host clock, which must be set.
pub(crate) fn until(clock: Clock, time: &timespec) -> Until {
    let time = match u64::try_from(time.tv_sec) {
        Ok(seconds) => Duration::new(seconds, time.tv_nsec as u32),
        // The deadline is before the clock's origin.
        Err(_) => Duration::ZERO,
    };
    // In this order, a preemption between the two clock reads makes the deadline later, not
    // earlier.
    let left = time.saturating_sub(read(clock));
    Until::now() + left
}

/// Runs `wait` with the host's time on a clock.
pub(crate) fn by_clock<R>(clock: Clock, wait: impl FnOnce() -> R) -> R {
    let me = local();
    // SAFETY: the thread's own data, both times.
    let before = unsafe { core::mem::replace(&mut (*me).clock, clock) };
    let result = wait();
    // SAFETY: as above.
    unsafe { (*me).clock = before };
    result
}
