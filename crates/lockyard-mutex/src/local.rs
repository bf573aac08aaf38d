//! Data of the running thread.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use libc::timespec;

/// Clock that the running thread's host uses.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Clock {
    /// The clock of naps, and of deadlines on the same clock. A new thread uses this clock.
    Monotonic = 0,
    /// The default clock of deadlines in POSIX threads.
    Realtime = 1,
    /// A clock that stands still: for a wait without a deadline.
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

/// State of a wait. A handler that interrupts the wait may also wait; it then restores the state.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Wait {
    /// True if the wait must end now: the host's time is then the latest possible time.
    pub(crate) stop: bool,
    /// True in a wait for a mutex that ends when the thread is cancelled.
    pub(crate) looks: bool,
    /// True in a wait that the thread can leave to end.
    pub(crate) waits: bool,
    /// True if the thread has left a wait in order to end.
    pub(crate) exits: bool,
    /// True in a wait that records a request to end and does not leave: the thread ends afterwards.
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
    /// Index of the thread's slot plus one; 0 if it has no slot yet.
    pub(crate) slot: u32,
    /// Clock of the thread's current wait.
    pub(crate) clock: Clock,
    /// Number of yields, modulo 256.
    pub(crate) yields: u8,
    /// State of the thread's current wait.
    pub(crate) wait: Wait,
    /// True if a handler has ended the sleep that it interrupted, or a sleep that is about to
    /// begin.
    pub(crate) is_interrupted: bool,
    /// Return record of the system call of the thread's wait, or 0.
    pub(crate) note: usize,
    /// Exit value of a thread that has left a wait in order to end.
    pub(crate) value: usize,
    /// Deadline of its wait for a condition, or null.
    pub(crate) until: *const timespec,
    /// Index of the thread; 0 if it has no index yet.
    number: usize,
}

lockyard_interpose::thread_data! {
    /// Returns the data of the running thread.
    pub(crate) fn local() -> *mut Local, "lockyard_mutex_local", 48
}

/// The least index of a thread: smaller numbers have other meanings in the words that hold indices.
const FIRST_NUMBER: usize = 2;

/// Index of the next thread that needs one.
static NEXT_NUMBER: AtomicUsize = AtomicUsize::new(FIRST_NUMBER);

/// Returns the index of the running thread. No other thread has this index, or had it before: a
/// mutex that an ended thread has left locked must not seem to belong to a later thread. The thread
/// in the child of a fork keeps the index of the thread that forked.
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
