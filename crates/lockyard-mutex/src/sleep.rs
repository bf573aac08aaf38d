//! Sleep in a wait that ends when the thread is cancelled, with the wait's own deadline and clock.
//!
//! A thread that cancels this thread cannot know whether it is already asleep. So this thread
//! publishes the word on which it is about to sleep, and then checks whether it is cancelled. The
//! other thread marks this thread as cancelled, and then wakes the word's sleepers until this
//! thread publishes another word (`cancel.rs`).
//!
//! A handler may cancel its own thread, or run while another thread cancels it. The kernel resumes
//! a sleep without a timeout after a handler, so each sleep here has a timeout.

use crate::local::{Clock, local};
use crate::slots::{self, CANCELLED, DECLINED, Record};
use crate::{real, system};
use core::ffi::c_int;
use core::sync::atomic::Ordering;
use core::time::Duration;
use libc::timespec;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// POSIX's `PTHREAD_CANCEL_ENABLE` and `PTHREAD_CANCEL_DISABLE`, by the C library's ABI.
const ENABLE: c_int = 0;
const DISABLE: c_int = 1;

/// Time after which a thread without a record checks whether it is cancelled.
const LOOK: Duration = Duration::from_millis(10);

/// Longest sleep of a thread whose deadline is on the real-time clock, and that checks whether it
/// is cancelled. If the clock is set, the new time decides, so the thread reads the clock again.
const LONGEST_REALTIME: Duration = Duration::from_millis(50);

/// Longest sleep.
const LONGEST: Duration = Duration::from_secs(1 << 30);

/// Sleeps while the word has a value: until the deadline of the running thread's wait for a
/// condition, if there is one, or else for `timeout` at most. May return at any time.
pub(crate) fn sleep(word: *const u32, value: u32, timeout: Option<Duration>) {
    let me = local();
    let Some(slot) = slots::mine() else {
        system::sleep_for(word, value, Some(timeout.unwrap_or(LOOK).min(LOOK)));
        // SAFETY: the thread's own data, here and below.
        unsafe { (*me).wait.stop = true };
        return;
    };
    let record = slots::record(slot);
    // Sequentially consistent, both: pair with the other order in `cancel.rs`.
    let before = record.word.swap(word.addr(), Ordering::SeqCst);
    look();
    // SAFETY: as above.
    let (stop, until, clock) = unsafe { ((*me).wait.stop, (*me).until, (*me).clock) };
    if stop {
    } else if until.is_null() {
        // With a timeout, the kernel does not resume the sleep after a handler.
        system::sleep_for(word, value, timeout.or(Some(LONGEST)));
    } else {
        system::sleep_until(word, value, until, clock == Clock::Realtime);
    }
    // Relaxed: the thread that cancels only looks for a change. In a handler that interrupts
    // another sleep, the word is restored to that sleep's word.
    record.word.store(before, Ordering::Relaxed);
    look();
}

/// Sleeps while the word has a value, in a wait for a lock: for `timeout` on the running thread's
/// clock at most, or until it is woken, or cancelled if it checks for that.
pub(crate) fn for_lock(word: *const u32, value: u32, timeout: Option<Duration>) {
    // SAFETY: the thread's own data.
    let (looks, clock) = unsafe { ((*local()).wait.looks, (*local()).clock) };
    if looks {
        let longest = if clock == Clock::Realtime { LONGEST_REALTIME } else { Duration::MAX };
        return sleep(word, value, timeout.map(|timeout| timeout.min(longest)));
    }
    match timeout {
        // The kernel ends the sleep earlier if the clock is set.
        Some(timeout) if clock == Clock::Realtime => {
            let until = real_time().saturating_add(timeout);
            let until = timespec {
                tv_sec: libc::time_t::try_from(until.as_secs()).unwrap_or(libc::time_t::MAX),
                tv_nsec: libc::c_long::from(until.subsec_nanos() as i32),
            };
            system::sleep_until(word, value, &raw const until, true);
        }
        timeout => _ = system::sleep_for(word, value, timeout),
    }
}

/// Returns the kernel's time on the real-time clock. A program may replace the clock function, of
/// which the kernel does not know.
fn real_time() -> Duration {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    let at = (&raw mut time).expose_provenance();
    // SAFETY: the time is live, and the clock exists, so the call does not fail.
    unsafe { real::two(&real::CLOCK_GETTIME, libc::CLOCK_REALTIME as usize, at) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), time.tv_nsec as u32)
}

/// Ends the wait if the thread has been cancelled, and cancellation is enabled.
pub(crate) fn look() {
    if slots::mine().is_some_and(|slot| must_end(slots::record(slot))) {
        // SAFETY: the thread's own data.
        unsafe { (*local()).wait.stop = true };
    }
}

/// Returns true if the thread with this record has been cancelled, and cancellation is enabled.
pub(crate) fn must_end(record: &Record) -> bool {
    record.cancelled.load(Ordering::SeqCst) == CANCELLED && is_enabled(record)
}

#[cold]
fn is_enabled(record: &Record) -> bool {
    let mut state = ENABLE;
    // SAFETY: the calls read and restore the running thread's state.
    unsafe {
        pthread_setcancelstate(DISABLE, &raw mut state);
        let mut disabled = DISABLE;
        pthread_setcancelstate(state, &raw mut disabled);
    }
    if state != ENABLE {
        record.cancelled.store(DECLINED, Ordering::SeqCst);
    }
    state == ENABLE
}
