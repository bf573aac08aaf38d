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
        ((*thread).read_waits, (*thread).read_waited) = ((*thread).waits, [0; 2]);
        (*thread).read_ticks = ticks();
    }
}

/// Notes a wait for a lock, in ticks. A short wait by a spinning thread is on its processor.
///
/// # Safety
///
/// As for [`begin`].
pub(crate) unsafe fn waited(thread: *mut Thread, waited: u64, is_long: bool, spins: bool) {
    if is_long || !spins {
        // SAFETY: the caller's.
        unsafe { (*thread).read_waited[usize::from(is_long)] += waited };
    }
}

/// Returns the time since a reading in which a thread was without a processor, and was not waiting
/// for a lock. `passed` is the time since then, and `cpu` that on a processor. `short` is the time
/// in short waits of threads that may sleep, and `long` that of all long waits.
///
/// A thread that spins is on its processor, so its waits are in `cpu` already, and must not be
/// taken off again. A thread that has not given up its processor has spun. A long wait may be
/// either: it is taken as without a processor. So a thread that has waited for long reads its use
/// after the next release, if no long time comes before that.
pub(crate) const fn off(passed: u64, cpu: u64, [short, long]: [u64; 2], gave_up: bool) -> u64 {
    let waits = if gave_up { short + long } else { long };
    passed.saturating_sub(cpu).saturating_sub(waits)
}

// A sleep of 300 us after waits of 200 us, spun and slept; and no sleep.
const _: () = assert!(off(510, 210, [0, 0], true) == 300);
const _: () = assert!(off(510, 210, [200, 0], false) == 300);
const _: () = assert!(off(510, 10, [200, 0], true) == 300);
const _: () = assert!(off(510, 10, [0, 200], true) == 300);
const _: () = assert!(off(210, 10, [200, 0], true) == 0);
const _: () = assert!(off(210, 210, [200, 0], false) == 0);
