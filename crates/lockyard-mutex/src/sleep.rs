//! Sleep in a wait that ends when the thread is cancelled, with the wait's own deadline and clock.
//!
//! A thread that cancels this one cannot know whether it sleeps yet. So this thread publishes the
//! word on which it is about to sleep, and then looks whether it is cancelled. The other marks it
//! as cancelled, and then wakes the word's sleepers until the word is another one (`cancel.rs`).
//!
//! A handler may cancel its own thread. The kernel resumes a sleep without a timeout after a
//! handler. So where the handler cannot end the sleep (`note.rs`), each sleep has a timeout.

use crate::local::{Clock, local};
use crate::slots::{self, CANCELLED, DECLINED, Record};
use crate::{note, system};
use core::ffi::c_int;
use core::sync::atomic::Ordering;
use core::time::Duration;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// POSIX's `PTHREAD_CANCEL_ENABLE` and `PTHREAD_CANCEL_DISABLE`, by the C library's ABI.
const ENABLE: c_int = 0;
const DISABLE: c_int = 1;

/// Time after which a thread without a record looks whether it is cancelled.
const LOOK: Duration = Duration::from_millis(10);

/// Longest sleep.
const LONGEST: Duration = Duration::from_secs(1 << 30);

/// Sleeps while the word has a value: until the deadline of the running thread's wait for a
/// condition, if there is one, or else for `timeout` at most. May return at any time.
pub(crate) fn sleep(word: *const u32, value: u32, timeout: Option<Duration>) {
    let me = local();
    let Some(slot) = slots::mine() else {
        system::sleep_for(word, value, Some(timeout.unwrap_or(LOOK).min(LOOK)));
        // SAFETY: the thread's own data, here and below.
        unsafe { (*me).stop = true };
        return;
    };
    let record = slots::record(slot);
    // Sequentially consistent, both: pair with the other order in `cancel.rs`.
    record.word.store(word.addr(), Ordering::SeqCst);
    look();
    // SAFETY: as above.
    let (stop, until, clock) = unsafe { ((*me).stop, (*me).until, (*me).clock) };
    if stop {
    } else if until.is_null() {
        let longest = if note::may_return() { None } else { Some(LONGEST) };
        system::sleep_for(word, value, timeout.or(longest));
    } else {
        system::sleep_until(word, value, until, clock == Clock::Realtime);
    }
    // Relaxed: the thread that cancels only looks for a change.
    record.word.store(0, Ordering::Relaxed);
    look();
}

/// Ends the wait if the thread has been cancelled, and can be now.
pub(crate) fn look() {
    if slots::mine().is_some_and(|slot| must_end(slots::record(slot))) {
        // SAFETY: the thread's own data.
        unsafe { (*local()).stop = true };
    }
}

/// Returns true if the thread with this record has been cancelled, and can be now.
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
