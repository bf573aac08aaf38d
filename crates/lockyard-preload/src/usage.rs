//! Time for which a thread had lost its processor while it held a lock.
//!
//! A pre-emption takes milliseconds, and a hold may take nanoseconds. A timed hold stands for many,
//! so one pre-empted hold would look like many long ones. So the thread's processor time and its
//! switches are read after timed holds: after each long one, and otherwise from time to time. What
//! a long hold has beyond the processor time since the reading before, the thread was without a
//! processor.
//!
//! A thread that gives up its processor while it holds a lock, as it does when it reads a file,
//! does hold the lock for the whole time. That is not counted here, as far as the numbers of
//! switches tell.

use crate::burst;
use crate::system::{monotonic, thread_switches, ticks};
use lockyard_records::Thread;

/// Ticks from which a hold is long: 13 to 65 microseconds on processors of 5 to 1 GHz.
const LONG: u64 = 1 << 16;

/// Ticks after which the use of processors is read again: 0.1 to 0.5 ms. The reading takes half a
/// microsecond.
const BETWEEN: u64 = 1 << 19;

/// Prepares a thread.
///
/// # Safety
///
/// The records are the running thread's, which is inside the recorder.
pub(crate) unsafe fn begin(thread: *mut Thread) {
    // SAFETY: the caller's.
    unsafe {
        (*thread).waits = 0;
        read(thread);
        (*thread).usage_begin = [ticks(), monotonic()];
    }
}

/// Reads the use of processors.
unsafe fn read(thread: *mut Thread) {
    // SAFETY: as for `begin`.
    unsafe {
        ((*thread).usage_cpu, (*thread).usage_switches) = thread_switches();
        (*thread).usage_waits = (*thread).waits;
        (*thread).usage_ticks = ticks();
    }
}

/// Returns the time in ticks for which the thread had lost its processor within a hold of this
/// length, which has just ended. It is at most the hold.
///
/// # Safety
///
/// As for [`begin`].
pub(crate) unsafe fn lost(thread: *mut Thread, hold: u64) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        let since = ticks().saturating_sub((*thread).usage_ticks);
        // The reading would lengthen the hold of another lock.
        let may_wait = since < BETWEEN || (*thread).held_count > 0;
        // A recording has the times without a processor apart, and the recorder's own time must not
        // be in them.
        if (hold < LONG && may_wait) || burst::is_wanted() {
            return 0;
        }
        let (cpu, waits) = ((*thread).usage_cpu, (*thread).usage_waits);
        let [given_up, taken] = (*thread).usage_switches;
        read(thread);
        let of_cpu = (*thread).usage_cpu.saturating_sub(cpu);
        let [given_up_now, taken_now] = (*thread).usage_switches;
        // A wait for a lock gives up the processor too, before the hold.
        let sleeps = given_up_now.wrapping_sub(given_up);
        if hold < LONG || taken_now == taken || sleeps > (*thread).waits.wrapping_sub(waits) {
            return 0;
        }
        let [begin_ticks, begin_ns] = (*thread).usage_begin;
        let passed = (*thread).usage_ticks.saturating_sub(begin_ticks);
        let passed_ns = monotonic().saturating_sub(begin_ns).max(1);
        let of_cpu = (u128::from(of_cpu) * u128::from(passed) / u128::from(passed_ns)) as u64;
        hold.saturating_sub(of_cpu)
    }
}
