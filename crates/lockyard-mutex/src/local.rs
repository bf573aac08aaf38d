//! Data of the running thread.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use libc::timespec;

/// Clock by which the running thread's host tells the time.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Clock {
    /// That of naps, and of deadlines on it. A new thread has this one.
    Monotonic = 0,
    /// The clock of deadlines as POSIX threads have them by default.
    Realtime = 1,
    /// Stands still: for a wait without a deadline, which needs no clock.
    Still = 2,
}

/// Returns the time on a clock.
pub(crate) fn read(clock: Clock) -> Duration {
    let clock = match clock {
        Clock::Monotonic => libc::CLOCK_MONOTONIC,
        Clock::Realtime => libc::CLOCK_REALTIME,
        Clock::Still => return Duration::from_secs(1),
    };
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is live. Both clocks exist, so the call does not fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), time.tv_nsec as u32)
}

/// State of a wait. A handler that interrupts the wait may wait too: it restores the state then.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Wait {
    /// True if the wait must end now: the host's time is then the latest.
    pub(crate) stop: bool,
    /// True in a wait for a mutex that ends when the thread is cancelled.
    pub(crate) looks: bool,
    /// True in a wait that the thread can leave to end.
    pub(crate) waits: bool,
    /// True if it has left a wait to end.
    pub(crate) exits: bool,
    /// True in a wait that it notes and does not leave: it ends afterwards.
    pub(crate) stays: bool,
}

impl Wait {
    /// State of a thread that does not wait.
    pub(crate) const NONE: Wait =
        Wait { stop: false, looks: false, waits: false, exits: false, stays: false };
}

/// Data of a thread. All zeros is the state of a thread that has waited for nothing.
#[repr(C)]
pub(crate) struct Local {
    /// Index of its slot plus one; 0 if it has none yet.
    pub(crate) slot: u32,
    /// Clock that it waits by.
    pub(crate) clock: Clock,
    /// Number of yields, modulo 256.
    pub(crate) yields: u8,
    /// State of the wait that it is in.
    pub(crate) wait: Wait,
    /// True if a handler has ended the sleep that it interrupts, or one that is about to begin.
    pub(crate) is_interrupted: bool,
    /// Note of the system call of its wait, or 0.
    pub(crate) note: usize,
    /// Result of the thread that has left a wait to end.
    pub(crate) value: usize,
    /// Deadline of its wait for a condition, or null.
    pub(crate) until: *const timespec,
    /// Index of the thread; 0 if it has none yet.
    number: usize,
}

lockyard_interpose::thread_data! {
    /// Returns the data of the running thread.
    pub(crate) fn local() -> *mut Local, "lockyard_mutex_local", 48
}

/// The least number of a thread: smaller ones have a meaning in the words that hold numbers.
const FIRST_NUMBER: usize = 2;

/// Index of the next thread that needs one.
static NEXT_NUMBER: AtomicUsize = AtomicUsize::new(FIRST_NUMBER);

/// Returns the index of the running thread, which no other thread has, or had before. A mutex that
/// an ended thread has left locked must not seem to be a later thread's. The thread in the child of
/// a fork keeps the index of the thread that forked.
#[inline(always)]
pub(crate) fn me() -> usize {
    // SAFETY: the thread's own data.
    let number = unsafe { (*local()).number };
    if number != 0 { number } else { new_number() }
}

#[cold]
fn new_number() -> usize {
    // Relaxed: only the value matters.
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the thread's own data.
    unsafe { (*local()).number = number };
    number
}
