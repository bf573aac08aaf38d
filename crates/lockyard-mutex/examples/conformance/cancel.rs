//! Cancellation of threads that wait for a condition.

use crate::posix::*;
use crate::run::{Check, times};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const CHECKS: &[Check] = &[
    (
        "cancel-wait",
        "pthread_cond_wait: \"A condition wait (whether timed or not) is a cancellation point. When \
         the cancelability type of a thread is set to PTHREAD_CANCEL_DEFERRED, a side-effect of \
         acting upon a cancellation request while in a condition wait is that the mutex is \
         (in effect) re-acquired before calling the first cancellation cleanup handler.\"",
        wait_is_cancelled,
    ),
    ("cancel-timedwait", "pthread_cond_timedwait: the same", timed_wait_is_cancelled),
    (
        "cancel-before",
        "System Interfaces 2.9.5: a request that is pending is acted upon at a cancellation point",
        pending_at_the_wait,
    ),
    (
        "cancel-disabled",
        "pthread_setcancelstate: while cancelability is disabled, requests \"are held pending\"",
        disabled_goes_on,
    ),
    (
        "cancel-signal",
        "pthread_cond_wait: \"A thread that has been unblocked because it has been canceled while \
         blocked in a call to pthread_cond_timedwait() or pthread_cond_wait() shall not consume any \
         condition signal that may be directed concurrently at the condition variable if there are \
         other threads blocked\"",
        takes_no_signal,
    ),
    (
        "cancel-race",
        "pthread_cancel: a request that comes while a thread begins to wait is not lost",
        races,
    ),
];

static LOCK: Shared<pthread_mutex_t> = Shared::new(libc::PTHREAD_MUTEX_INITIALIZER);
static CONDITION: Shared<pthread_cond_t> = Shared::new(libc::PTHREAD_COND_INITIALIZER);
/// State that threads wait for; under the mutex.
static NUMBER: Shared<u32> = Shared::new(0);
/// Number of threads that have begun to wait.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// Number of cleanup handlers that found the mutex locked.
static CLEANED: AtomicU32 = AtomicU32::new(0);

/// The C library's record of a cleanup handler, which `pthread_cleanup_push` puts on the stack.
#[repr(C)]
struct Cleanup {
    routine: Option<extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
    kind: c_int,
    previous: *mut c_void,
}

unsafe extern "C" {
    fn _pthread_cleanup_push(
        cleanup: *mut Cleanup,
        routine: extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
    fn _pthread_cleanup_pop(cleanup: *mut Cleanup, execute: c_int);
}

extern "C" fn clean(_: *mut c_void) {
    // SAFETY: a live mutex, which this thread holds.
    let codes = unsafe { (pthread_mutex_trylock(LOCK.at()), pthread_mutex_unlock(LOCK.at())) };
    if codes == (EBUSY, 0) {
        CLEANED.fetch_add(1, Ordering::SeqCst);
    }
}

fn number() -> u32 {
    // SAFETY: under the mutex.
    unsafe { *NUMBER.at() }
}

extern "C-unwind" fn waits(_: *mut c_void) -> *mut c_void {
    let mut cleanup =
        Cleanup { routine: None, argument: null_mut(), kind: 0, previous: null_mut() };
    // SAFETY: live objects; the record stays until it is removed, or the thread ends.
    unsafe {
        pthread_mutex_lock(LOCK.at());
        _pthread_cleanup_push(&raw mut cleanup, clean, null_mut());
        WAITING.fetch_add(1, Ordering::SeqCst);
        while number() == 0 {
            pthread_cond_wait(CONDITION.at(), LOCK.at());
        }
        *NUMBER.at() -= 1;
        _pthread_cleanup_pop(&raw mut cleanup, 0);
        pthread_mutex_unlock(LOCK.at());
    }
    null_mut()
}

extern "C-unwind" fn waits_long(_: *mut c_void) -> *mut c_void {
    let mut cleanup =
        Cleanup { routine: None, argument: null_mut(), kind: 0, previous: null_mut() };
    let until = after(CLOCK_REALTIME, 60_000);
    // SAFETY: as in `waits`.
    unsafe {
        pthread_mutex_lock(LOCK.at());
        _pthread_cleanup_push(&raw mut cleanup, clean, null_mut());
        WAITING.fetch_add(1, Ordering::SeqCst);
        while number() == 0 {
            pthread_cond_timedwait(CONDITION.at(), LOCK.at(), &raw const until);
        }
        _pthread_cleanup_pop(&raw mut cleanup, 0);
        pthread_mutex_unlock(LOCK.at());
    }
    null_mut()
}

fn check_cancelled(body: extern "C-unwind" fn(*mut c_void) -> *mut c_void) {
    for round in 1..=times(50) {
        let thread = begin(body, null_mut());
        await_value(&WAITING, round);
        pause(u64::from(round % 3));
        must!(pthread_cancel(thread));
        assert!(was_cancelled(thread), "it returned");
        assert_eq!(
            CLEANED.load(Ordering::SeqCst),
            round,
            "a handler did not find the mutex locked"
        );
    }
    // No thread is left among the waiters.
    must!(pthread_cond_signal(CONDITION.at()));
    must!(pthread_cond_destroy(CONDITION.at()));
    must!(pthread_mutex_destroy(LOCK.at()));
}

fn wait_is_cancelled() {
    check_cancelled(waits);
}

fn timed_wait_is_cancelled() {
    check_cancelled(waits_long);
}

extern "C-unwind" fn waits_after_a_request(_: *mut c_void) -> *mut c_void {
    WAITING.store(1, Ordering::SeqCst);
    await_value(&WAITING, 2);
    waits(null_mut())
}

fn pending_at_the_wait() {
    let thread = begin(waits_after_a_request, null_mut());
    await_value(&WAITING, 1);
    must!(pthread_cancel(thread));
    WAITING.store(2, Ordering::SeqCst);
    assert!(was_cancelled(thread), "it returned");
    assert_eq!(CLEANED.load(Ordering::SeqCst), 1);
}

extern "C-unwind" fn waits_disabled(_: *mut c_void) -> *mut c_void {
    let mut old = 0;
    // SAFETY: live objects.
    unsafe { pthread_setcancelstate(1, &raw mut old) };
    waits(null_mut());
    WAITING.store(100, Ordering::SeqCst);
    // SAFETY: as above.
    unsafe {
        pthread_setcancelstate(0, &raw mut old);
        pthread_testcancel();
    }
    null_mut()
}

fn disabled_goes_on() {
    let thread = begin(waits_disabled, null_mut());
    await_value(&WAITING, 1);
    pause(20);
    must!(pthread_cancel(thread));
    pause(50);
    assert_eq!(WAITING.load(Ordering::SeqCst), 1, "it did not go on waiting");
    must!(pthread_mutex_lock(LOCK.at()));
    // SAFETY: under the mutex.
    unsafe { *NUMBER.at() = 1 };
    must!(pthread_cond_signal(CONDITION.at()));
    must!(pthread_mutex_unlock(LOCK.at()));
    assert!(was_cancelled(thread), "the request was not held pending");
    assert_eq!(WAITING.load(Ordering::SeqCst), 100);
}

/// One signal and one cancellation request for two threads: each ends one of the threads.
fn takes_no_signal() {
    for round in 0..times(200) as usize {
        WAITING.store(0, Ordering::SeqCst);
        let threads = [0, 1].map(|_| begin(waits, null_mut()));
        await_value(&WAITING, 2);
        must!(pthread_mutex_lock(LOCK.at()));
        // SAFETY: under the mutex.
        unsafe { *NUMBER.at() += 1 };
        must!(pthread_mutex_unlock(LOCK.at()));
        let victim = threads[round % 2];
        std::thread::scope(|scope| {
            scope.spawn(|| must!(pthread_cancel(victim)));
            must!(pthread_cond_signal(CONDITION.at()));
        });
        // The thread that is not cancelled gets the signal, unless the victim got it before the
        // request.
        let first = was_cancelled(victim);
        if !first {
            must!(pthread_mutex_lock(LOCK.at()));
            // SAFETY: under the mutex.
            unsafe { *NUMBER.at() += 1 };
            must!(pthread_cond_signal(CONDITION.at()));
            must!(pthread_mutex_unlock(LOCK.at()));
        }
        assert!(!was_cancelled(threads[1 - round % 2]));
        assert_eq!(number(), 0);
    }
}

fn races() {
    for round in 0..times(2000) {
        WAITING.store(0, Ordering::SeqCst);
        let thread = begin(waits, null_mut());
        await_value(&WAITING, 1);
        for _ in 0..round % 64 {
            std::hint::spin_loop();
        }
        must!(pthread_cancel(thread));
        assert!(was_cancelled(thread), "it returned");
    }
}
