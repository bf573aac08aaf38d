//! The C library's functions, and code that the checks share.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub(crate) use libc::{
    CLOCK_MONOTONIC, CLOCK_REALTIME, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, clockid_t,
    pthread_cond_t, pthread_condattr_t, pthread_mutex_t, pthread_mutexattr_t, pthread_t, timespec,
};

pub(crate) type Lock = *mut pthread_mutex_t;
pub(crate) type Condition = *mut pthread_cond_t;

unsafe extern "C-unwind" {
    pub(crate) fn pthread_mutex_init(mutex: Lock, attribute: *const pthread_mutexattr_t) -> c_int;
    pub(crate) fn pthread_mutex_destroy(mutex: Lock) -> c_int;
    pub(crate) fn pthread_mutex_lock(mutex: Lock) -> c_int;
    pub(crate) fn pthread_mutex_trylock(mutex: Lock) -> c_int;
    pub(crate) fn pthread_mutex_timedlock(mutex: Lock, until: *const timespec) -> c_int;
    pub(crate) fn pthread_mutex_clocklock(
        mutex: Lock,
        clock: clockid_t,
        until: *const timespec,
    ) -> c_int;
    pub(crate) fn pthread_mutex_unlock(mutex: Lock) -> c_int;
    pub(crate) fn pthread_mutex_consistent(mutex: Lock) -> c_int;
    pub(crate) fn pthread_cond_init(
        condition: Condition,
        attribute: *const pthread_condattr_t,
    ) -> c_int;
    pub(crate) fn pthread_cond_destroy(condition: Condition) -> c_int;
    pub(crate) fn pthread_cond_wait(condition: Condition, mutex: Lock) -> c_int;
    pub(crate) fn pthread_cond_timedwait(
        condition: Condition,
        mutex: Lock,
        until: *const timespec,
    ) -> c_int;
    pub(crate) fn pthread_cond_clockwait(
        condition: Condition,
        mutex: Lock,
        clock: clockid_t,
        until: *const timespec,
    ) -> c_int;
    pub(crate) fn pthread_cond_signal(condition: Condition) -> c_int;
    pub(crate) fn pthread_cond_broadcast(condition: Condition) -> c_int;
    pub(crate) fn pthread_spin_init(lock: *mut c_int, shared: c_int) -> c_int;
    pub(crate) fn pthread_spin_destroy(lock: *mut c_int) -> c_int;
    pub(crate) fn pthread_spin_lock(lock: *mut c_int) -> c_int;
    pub(crate) fn pthread_spin_trylock(lock: *mut c_int) -> c_int;
    pub(crate) fn pthread_spin_unlock(lock: *mut c_int) -> c_int;
    pub(crate) fn pthread_cancel(thread: pthread_t) -> c_int;
    pub(crate) fn pthread_testcancel();
    pub(crate) fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

unsafe extern "C" {
    fn pthread_create(
        thread: *mut pthread_t,
        attribute: *const c_void,
        begin: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int;
}

/// Fails the check if a call does not return the expected value. (A macro, so that the location is
/// known.)
macro_rules! must {
    ($call:expr) => {
        must!($call, 0)
    };
    ($call:expr, $code:expr) => {{
        // SAFETY: the checks call POSIX's functions with live objects.
        #[allow(unused_unsafe)]
        let code = unsafe { $call };
        assert_eq!(code, $code, "{} returned {code}", stringify!($call));
    }};
}
pub(crate) use must;

/// A value that threads of a check change, each under its own rules.
#[derive(Default)]
pub(crate) struct Shared<T>(UnsafeCell<T>);
// SAFETY: the checks access it under the locks that they check.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) const fn new(value: T) -> Self {
        Shared(UnsafeCell::new(value))
    }
    pub(crate) fn at(&self) -> *mut T {
        self.0.get()
    }
}

/// Makes a mutex, with an attribute if `set` is given. Its memory is never freed.
pub(crate) fn mutex_with(set: impl FnOnce(*mut pthread_mutexattr_t)) -> Lock {
    let mutex = Box::leak(Box::new(Shared::new(libc::PTHREAD_MUTEX_INITIALIZER))).at();
    init_with(mutex, set);
    mutex
}

/// Initialises a mutex with an attribute.
pub(crate) fn init_with(mutex: Lock, set: impl FnOnce(*mut pthread_mutexattr_t)) {
    // SAFETY: the attribute is initialised first.
    unsafe {
        let mut attribute: pthread_mutexattr_t = std::mem::zeroed();
        must!(libc::pthread_mutexattr_init(&raw mut attribute));
        set(&raw mut attribute);
        must!(pthread_mutex_init(mutex, &raw const attribute));
        must!(libc::pthread_mutexattr_destroy(&raw mut attribute));
    }
}

/// Makes a mutex of a type.
pub(crate) fn mutex_of(kind: c_int) -> Lock {
    mutex_with(|attribute| must!(libc::pthread_mutexattr_settype(attribute, kind)))
}

/// Makes a mutex without an attribute.
pub(crate) fn mutex() -> Lock {
    let mutex = Box::leak(Box::new(Shared::new(libc::PTHREAD_MUTEX_INITIALIZER))).at();
    must!(pthread_mutex_init(mutex, null()));
    mutex
}

/// Makes a condition variable. Its memory is never freed.
pub(crate) fn condition() -> Condition {
    let condition = Box::leak(Box::new(Shared::new(libc::PTHREAD_COND_INITIALIZER))).at();
    must!(pthread_cond_init(condition, null()));
    condition
}

/// An address that threads share.
#[derive(Debug)]
pub(crate) struct At<T>(pub(crate) *mut T);
impl<T> Clone for At<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for At<T> {}
// SAFETY: an address only.
unsafe impl<T> Send for At<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for At<T> {}
impl<T> At<T> {
    /// The address. (A method, so that closures capture this type.)
    pub(crate) fn get(self) -> *mut T {
        self.0
    }
}

/// Returns the time on a clock, plus `milliseconds`.
pub(crate) fn after(clock: clockid_t, milliseconds: i64) -> timespec {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is live.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    let nanoseconds = time.tv_nsec + milliseconds * 1_000_000;
    timespec {
        tv_sec: time.tv_sec + nanoseconds.div_euclid(1_000_000_000),
        tv_nsec: nanoseconds.rem_euclid(1_000_000_000),
    }
}

/// Returns true if the time on the clock is not before `time`.
pub(crate) fn has_passed(clock: clockid_t, time: timespec) -> bool {
    let now = after(clock, 0);
    (now.tv_sec, now.tv_nsec) >= (time.tv_sec, time.tv_nsec)
}

/// Waits until the word has a value.
pub(crate) fn await_value(word: &AtomicU32, value: u32) {
    let begin = Instant::now();
    while word.load(Ordering::SeqCst) != value {
        assert!(begin.elapsed() < Duration::from_secs(20), "a thread does not come");
        std::thread::yield_now();
    }
}

/// Time in which a thread that can continue does so.
pub(crate) fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// Runs `body` in another thread, and returns its result.
pub(crate) fn elsewhere<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(body).join()).expect("the thread has not failed")
}

/// Starts a thread that may be cancelled.
pub(crate) fn begin(
    body: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> pthread_t {
    let mut thread = 0;
    // SAFETY: the body has the right type.
    must!(pthread_create(&raw mut thread, null(), body, argument));
    thread
}

/// Waits for a thread, and returns true if it was cancelled.
pub(crate) fn was_cancelled(thread: pthread_t) -> bool {
    let mut result = null_mut();
    must!(pthread_join(thread, &raw mut result));
    // POSIX's `PTHREAD_CANCELED`, by the C library's ABI.
    result.addr() == usize::MAX
}

/// Returns memory that a child of a fork shares, filled with zeros.
pub(crate) fn shared_memory<T>() -> &'static T {
    // SAFETY: new memory of at least the type's size, at the beginning of a page. The checks use it
    // for objects and numbers whose initial value may be zero.
    unsafe {
        let bytes = size_of::<T>().next_multiple_of(4096);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let memory = libc::mmap(null_mut(), bytes, protection, flags, -1, 0);
        assert_ne!(memory, libc::MAP_FAILED);
        &*memory.cast()
    }
}

/// Runs `body` in a child process, which must exit with 0. Returns its identifier.
pub(crate) fn fork(body: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child runs `body` and exits.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "no process");
    if child == 0 {
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_err();
        // SAFETY: the call has no preconditions.
        unsafe { libc::_exit(i32::from(failed)) };
    }
    child
}

/// Waits for a child process, which must succeed.
pub(crate) fn join(child: libc::pid_t) {
    let mut status = 0;
    loop {
        // SAFETY: the status is live.
        let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if ended == child {
            break;
        }
    }
    assert_eq!(status, 0, "the child process has failed");
}
