//! Readings of a thread's use of processors, for events.
//!
//! A thread reads its own use when it begins, at the beginning of each of its windows, after long
//! times, and when it ends. So each thread's processor time and switches are known beside its
//! acquisitions at one time, also if the process is killed: those of all threads of the process say
//! nothing about the threads that take locks. No file of `/proc` is opened for that, because the
//! program may close any descriptor.
//!
//! A thread that is there when the process ends is not read once more. Often it is the main thread,
//! which has taken its last lock long before, and has waited for the others since then.

use crate::burst;
use crate::system::{thread_switches, ticks};
use lockyard_records::Thread;

/// Begins the readings of a thread.
///
/// # Safety
///
/// The records are the running thread's, which is inside the recorder.
pub(crate) unsafe fn begin(thread: *mut Thread) {
    if burst::is_wanted() {
        // SAFETY: the caller's.
        unsafe { take(thread) };
    }
}

/// Reads the use of processors, and adds it to that of the readings before.
///
/// # Safety
///
/// As for [`begin`], which was called before.
pub(crate) unsafe fn read(thread: *mut Thread) {
    // SAFETY: the caller's.
    unsafe {
        let (since, cpu) = ((*thread).read_ticks, (*thread).read_cpu);
        let [given_up, lost] = (*thread).read_switches;
        take(thread);
        let [given_up_now, lost_now] = (*thread).read_switches;
        let used = &mut (*thread).used;
        used.ticks += (*thread).read_ticks.saturating_sub(since);
        used.cpu += (*thread).read_cpu.saturating_sub(cpu);
        used.switches[0] += given_up_now.saturating_sub(given_up);
        used.switches[1] += lost_now.saturating_sub(lost);
        used.acquired = (*thread).given.saturating_sub((*thread).countdown);
    }
}

/// Ends the readings of a thread that ends.
///
/// # Safety
///
/// As for [`begin`].
pub(crate) unsafe fn end(thread: *mut Thread) {
    if burst::is_wanted() {
        // SAFETY: the caller's.
        unsafe { read(thread) };
    }
}

/// Takes the present use as the latest reading.
unsafe fn take(thread: *mut Thread) {
    // SAFETY: as for `begin`.
    unsafe {
        ((*thread).read_cpu, (*thread).read_switches) = thread_switches();
        ((*thread).read_waits, (*thread).read_waited) = ((*thread).waits, 0);
        (*thread).read_ticks = ticks();
    }
}
