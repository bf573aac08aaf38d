//! Sleep in a wait for a condition: with the wait's own deadline and clock, and with an end when
//! the thread is cancelled.
//!
//! A thread that cancels this one cannot know whether it sleeps yet. So this thread publishes the
//! word on which it is about to sleep, and then looks whether it is cancelled. The other marks it
//! as cancelled, and then wakes the word's sleepers until the word is another one (`cancel.rs`).

use crate::local::{Clock, local};
use crate::slots::{self, CANCELLED, DECLINED, Record};
use crate::system;
use core::ffi::c_int;
use core::sync::atomic::Ordering;
use libc::timespec;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// POSIX's `PTHREAD_CANCEL_ENABLE` and `PTHREAD_CANCEL_DISABLE`, by the C library's ABI.
const ENABLE: c_int = 0;
const DISABLE: c_int = 1;

/// Time after which a thread without a record looks whether it is cancelled.
const LOOK: timespec = timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// Sleeps while the word has a value, in a wait for a condition. May return at any time.
pub(crate) fn sleep(word: *const u32, value: u32) {
    let me = local();
    let Some(slot) = slots::mine() else {
        system::sleep_for(word, value, Some(LOOK));
        // SAFETY: the thread's own data, here and below.
        unsafe { (*me).stop = true };
        return;
    };
    let record = slots::record(slot);
    // Sequentially consistent, both: pair with the other order in `cancel.rs`.
    record.word.store(word.addr(), Ordering::SeqCst);
    if record.cancelled.load(Ordering::SeqCst) == CANCELLED {
        look(record);
    }
    // SAFETY: as above.
    let (stop, until, clock) = unsafe { ((*me).stop, (*me).until, (*me).clock) };
    if !stop {
        system::sleep_until(word, value, until, clock == Clock::Realtime);
    }
    // Relaxed: the thread that cancels only looks for a change.
    record.word.store(0, Ordering::Relaxed);
    if record.cancelled.load(Ordering::SeqCst) == CANCELLED {
        look(record);
    }
}

/// Ends the wait if the thread can be cancelled now.
#[cold]
fn look(record: &Record) {
    let mut state = ENABLE;
    // SAFETY: the calls read and restore the running thread's state.
    unsafe {
        pthread_setcancelstate(DISABLE, &raw mut state);
        let mut disabled = DISABLE;
        pthread_setcancelstate(state, &raw mut disabled);
    }
    if state == ENABLE {
        // SAFETY: the thread's own data.
        unsafe { (*local()).stop = true };
    } else {
        record.cancelled.store(DECLINED, Ordering::SeqCst);
    }
}
