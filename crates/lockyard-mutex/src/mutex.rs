//! Mutexes.

use crate::choice::{Lock, PAGE, PLAIN_MUTEX, REAL_TIME};
use crate::layout::{DESTROYED, Mutex, Other, PLAIN, Type, type_of};
use crate::local::{Clock, me};
use crate::word::{self, Kind, Until as Instant};
use crate::{cancel, deadline, fork, layout, priority, real, start, system};
use core::ffi::c_int;
use core::sync::atomic::Ordering;
use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT, timespec};

/// A method of acquiring a mutex.
#[derive(Clone, Copy)]
pub(crate) enum How<'a> {
    Wait,
    /// After a wait for a condition.
    Notified,
    Try,
    /// Waits until a time; the clock is `None` if POSIX does not have it, or a wait may not use it.
    Until(Option<Clock>, &'a timespec),
}

/// A mutex that this library replaces.
#[derive(Clone, Copy)]
struct Ours<'a> {
    mutex: &'a Mutex,
    kind: Kind,
    of: Type,
    /// The library's state.
    state: u32,
}

/// Returns true if the fast path may use the mutex.
#[inline(always)]
fn is_plain(mutex: &Mutex) -> bool {
    // Relaxed: the program orders the initialisation of a mutex before its use. Acquire is not
    // needed, because the fast path uses nothing that the start of the library has found.
    mutex.kind.load(Ordering::Relaxed) == PLAIN && PAGE.state.load(Ordering::Relaxed) == PLAIN_MUTEX
}

/// Returns the mutex if this library replaces it, and adopts it for this process.
fn ours(mutex: &Mutex) -> Result<Ours<'_>, Other> {
    let state = start::state();
    let Some(lock) = Lock::of(state) else { return Err(Other::Real) };
    let of = type_of(mutex.kind.load(Ordering::Relaxed))?;
    let kind = Kind::of_mutexes(lock);
    fork::adopt(state, &mutex.generation, || {
        // SAFETY: only threads of the parent have used the mutex. It may be held.
        unsafe { kind.forget_waiters(&mutex.word) };
        mutex.token.store(0, Ordering::Relaxed);
        mutex.waits.store(0, Ordering::Relaxed);
        mutex.deadlocks.store(0, Ordering::Relaxed);
    });
    Ok(Ours { mutex, kind, of, state })
}

/// Returns true if this library replaces the mutex.
pub(crate) fn is_ours(mutex: &Mutex) -> bool {
    !matches!(ours(mutex), Err(Other::Real))
}

/// Adds a thread that waits for a condition with a mutex, or removes one. In a correct program, the
/// thread holds the mutex.
pub(crate) fn count_wait(mutex: &Mutex, change: u32) {
    match ours(mutex) {
        // Relaxed: the mutex orders it. A thread that does not hold the mutex may also come here:
        // its release fails later.
        Ok(_) => _ = mutex.waits.fetch_add(change, Ordering::Relaxed),
        Err(Other::Real) => layout::count_user(mutex, change),
        Err(Other::Destroyed) => {}
    }
}

fn address<T>(object: &T) -> usize {
    core::ptr::from_ref(object).expose_provenance()
}

/// Acquires a mutex.
#[inline(always)]
pub(crate) fn lock(mutex: &Mutex) -> c_int {
    if is_plain(mutex) {
        return if word::try_acquire_mutex_first(&mutex.word) { 0 } else { wait_plain(mutex) };
    }
    take(mutex, How::Wait)
}

/// Waits for a mutex for which the fast path has found the lock held.
#[cold]
#[inline(never)]
fn wait_plain(mutex: &Mutex) -> c_int {
    match ours(mutex) {
        Ok(ours) => wait(ours, How::Wait),
        // The mutex's kind has changed meanwhile, which the program must not do.
        Err(_) => take(mutex, How::Wait),
    }
}

/// Acquires a mutex by a general path.
#[inline(never)]
pub(crate) fn take(mutex: &Mutex, how: How<'_>) -> c_int {
    let ours = match ours(mutex) {
        Ok(ours) => ours,
        Err(Other::Destroyed) => return EINVAL,
        Err(Other::Real) => return take_real(mutex, how),
    };
    if matches!(how, How::Until(None, _)) {
        return EINVAL;
    }
    // Relaxed, all accesses of owner and count: only the holder changes them, and a thread finds
    // its own number there only if it is the holder.
    if has_owner(ours) && mutex.owner.load(Ordering::Relaxed) == me() {
        match (ours.of, how) {
            (Type::Normal, How::Wait) => wait_for_itself(mutex),
            (Type::Normal, _) => {}
            _ => return take_again(ours, how),
        }
    }
    let token = match (ours.kind.try_acquire(&mutex.word), how) {
        (Some(token), _) => token,
        (None, How::Try) => return EBUSY,
        (None, How::Until(_, time)) if !deadline::is_valid(time) => return EINVAL,
        (None, _) => return wait(ours, how),
    };
    took(ours, token)
}

/// Records that the running thread has acquired a mutex.
fn took(ours: Ours<'_>, token: u32) -> c_int {
    // Relaxed, both: only the holder accesses these words.
    ours.mutex.token.store(token, Ordering::Relaxed);
    if has_owner(ours) {
        ours.mutex.owner.store(me(), Ordering::Relaxed);
    }
    0
}

/// Returns true if the mutex records its holder. The fast path of the default kind does not.
fn has_owner(ours: Ours<'_>) -> bool {
    ours.of != Type::Normal || ours.kind != Kind::Adaptive
}

/// Waits until another thread releases a normal mutex that this thread holds. It may wait for ever,
/// and others may use the mutex's memory for something else meanwhile. So the thread is in no
/// queue, and only the kernel reads that memory.
#[cold]
fn wait_for_itself(mutex: &Mutex) {
    mutex.deadlocks.store(1, Ordering::SeqCst);
    // A release loads the mark after it has removed the owner, without a fence. If it has not seen
    // the mark, the change of the owner arrives here during the nap.
    system::nap();
    if mutex.owner.load(Ordering::SeqCst) == me() {
        while system::sleep_for(mutex.deadlocks.as_ptr(), 1, None) == -(libc::EINTR as isize) {}
    }
}

/// Waits for a mutex. The thread cannot be unwound out of the wait. If its cancellation is
/// asynchronous, a request ends the wait.
#[cold]
fn wait(ours: Ours<'_>, how: How<'_>) -> c_int {
    let word = &ours.mutex.word;
    let wait = |is_asynchronous: bool| {
        let token = match how {
            _ if let Some(priority) = priority::mine(ours.state) => {
                wait_by_priority(ours, how, priority)
            }
            How::Until(Some(clock), time) => deadline::by_clock(clock, || {
                ours.kind.acquire_until(word, deadline::until(clock, time))
            }),
            How::Notified if !is_asynchronous => Some(ours.kind.acquire_notified(word)),
            // The wait has a deadline, so that the thread can leave it.
            _ if is_asynchronous || ours.kind == Kind::Adaptive => {
                ours.kind.acquire_until(word, Instant::latest())
            }
            _ => Some(ours.kind.acquire(word)),
        };
        token.map_or(ETIMEDOUT, |token| took(ours, token))
    };
    if matches!(how, How::Notified) {
        return cancel::deferred(wait);
    }
    // SAFETY: the thread has acquired it in the wait.
    cancel::in_wait(wait, || _ = unsafe { give(ours.mutex) })
}

/// Waits for a mutex in the order of real-time priorities.
fn wait_by_priority(ours: Ours<'_>, how: How<'_>, priority: u32) -> Option<u32> {
    let limit = if let How::Until(Some(clock), time) = how { Some((clock, time)) } else { None };
    let end = deadline::by_clock(limit.map_or(Clock::Monotonic, |(clock, _)| clock), || {
        let until = match limit {
            Some((clock, time)) => deadline::until(clock, time),
            None => Instant::latest(),
        };
        let take = || ours.kind.try_acquire(&ours.mutex.word);
        let object = address(ours.mutex);
        priority::wait(object, priority, false, until, || (), take)
    });
    match end {
        // The former holder has left its token.
        priority::End::Served => Some(ours.mutex.token.load(Ordering::Relaxed)),
        priority::End::Took(token) => Some(token),
        priority::End::Expired => None,
    }
}

/// Acquires a mutex that the running thread holds.
fn take_again(ours: Ours<'_>, how: How<'_>) -> c_int {
    if ours.of == Type::ErrorChecking {
        return if matches!(how, How::Try) { EBUSY } else { EDEADLK };
    }
    let count = &ours.mutex.count;
    match count.load(Ordering::Relaxed).checked_add(1) {
        Some(more) => {
            count.store(more, Ordering::Relaxed);
            0
        }
        None => EAGAIN,
    }
}

fn take_real(mutex: &Mutex, how: How<'_>) -> c_int {
    let mutex = address(mutex);
    // SAFETY: the C library's mutex, and the program's arguments.
    unsafe {
        match how {
            How::Wait | How::Notified => real::one(&real::MUTEX_LOCK, mutex),
            How::Try => real::one(&real::MUTEX_TRYLOCK, mutex),
            How::Until(Some(Clock::Realtime), time) => {
                real::two(&real::MUTEX_TIMEDLOCK, mutex, address(time))
            }
            How::Until(Some(_), time) => {
                let clock = libc::CLOCK_MONOTONIC as usize;
                real::three(&real::MUTEX_CLOCKLOCK, mutex, clock, address(time))
            }
            How::Until(None, _) => EINVAL,
        }
    }
}

/// Releases a mutex.
///
/// # Safety
///
/// The caller must keep the contract of `pthread_mutex_unlock`.
#[inline(always)]
pub(crate) unsafe fn unlock(mutex: &Mutex) -> c_int {
    if is_plain(mutex) {
        // SAFETY: the caller's promise.
        unsafe { word::release_mutex(&mutex.word) };
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { give(mutex) }
}

/// Releases a mutex by a general path.
#[inline(never)]
unsafe fn give(mutex: &Mutex) -> c_int {
    let ours = match ours(mutex) {
        Ok(ours) => ours,
        Err(Other::Destroyed) => return EINVAL,
        // SAFETY: the C library's mutex.
        Err(Other::Real) => return unsafe { real::one(&real::MUTEX_UNLOCK, address(mutex)) },
    };
    if ours.of != Type::Normal {
        if mutex.owner.load(Ordering::Relaxed) != me() {
            return EPERM;
        }
        let count = mutex.count.load(Ordering::Relaxed);
        if count > 0 {
            mutex.count.store(count - 1, Ordering::Relaxed);
            return 0;
        }
    } else if ours.kind != Kind::Adaptive && !ours.kind.is_held(&mutex.word) {
        // POSIX leaves such a release undefined. Some programs do it, and it would corrupt these
        // words.
        return 0;
    }
    let token = mutex.token.load(Ordering::Relaxed);
    let mut deadlocks = false;
    if has_owner(ours) {
        mutex.owner.store(0, Ordering::Relaxed);
        deadlocks = mutex.deadlocks.load(Ordering::Relaxed) != 0;
        if deadlocks {
            mutex.deadlocks.store(0, Ordering::Relaxed);
        }
    }
    let has_priorities = ours.state & REAL_TIME != 0;
    if !has_priorities || !priority::serve(address(mutex)) {
        // SAFETY: the caller's promise.
        unsafe { ours.kind.release(&mutex.word, token) };
        if has_priorities {
            priority::call_after_release(address(mutex));
        }
    }
    if deadlocks {
        system::wake(mutex.deadlocks.as_ptr(), u32::MAX);
    }
    0
}

/// Returns the mutex at an address.
///
/// # Safety
///
/// The caller must keep the contract of the function that the program has called: there must be a
/// mutex at the address. All accesses by this library are atomic.
#[inline(always)]
unsafe fn at<'a>(mutex: *mut Mutex) -> &'a Mutex {
    // SAFETY: the caller's promise.
    unsafe { &*mutex }
}

/// Initialises a mutex.
///
/// # Safety
///
/// The requirements of POSIX, as for all functions under the C library's names.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_init(mutex: *mut Mutex, attribute: usize) -> c_int {
    start::state();
    // The C library writes the kind. For kinds that this library replaces, all other bytes are
    // zero. SAFETY: the program's arguments.
    unsafe { real::two(&real::MUTEX_INIT, mutex.expose_provenance(), attribute) }
}

/// Destroys a mutex. Fails with `EBUSY` if it is locked.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_mutex_destroy(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's mutex.
    let mutex = unsafe { at(mutex) };
    match ours(mutex) {
        Ok(ours) if ours.kind.is_held(&mutex.word) => EBUSY,
        // Acquire: pairs with the release of the mutex by the last thread that waited.
        Ok(_) if mutex.waits.load(Ordering::Acquire) != 0 => EBUSY,
        Ok(_) => {
            mutex.kind.store(DESTROYED, Ordering::Relaxed);
            0
        }
        Err(Other::Destroyed) => 0,
        // SAFETY: the C library's mutex.
        Err(Other::Real) => unsafe { real::one(&real::MUTEX_DESTROY, address(mutex)) },
    }
}

/// Locks a mutex.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_lock(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's mutex.
    lock(unsafe { at(mutex) })
}

/// Locks a mutex if it is free.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_trylock(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's mutex.
    let mutex = unsafe { at(mutex) };
    if is_plain(mutex) {
        return if word::try_acquire_mutex(&mutex.word) { 0 } else { EBUSY };
    }
    take(mutex, How::Try)
}

/// Locks a mutex, waiting until a time on the real-time clock at most.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_timedlock(
    mutex: *mut Mutex,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's mutex and time.
    unsafe { take(at(mutex), How::Until(Some(Clock::Realtime), &*until)) }
}

/// Locks a mutex, waiting until a time on a clock at most.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_clocklock(
    mutex: *mut Mutex,
    clock: c_int,
    until: *const timespec,
) -> c_int {
    // SAFETY: the program's mutex and time.
    unsafe { take(at(mutex), How::Until(deadline::clock(clock), &*until)) }
}

/// Unlocks a mutex.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_mutex_unlock(mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's mutex, which it holds.
    unsafe { unlock(at(mutex)) }
}

/// Second names of the C library, by which some programs call its functions.
macro_rules! second_names {
    ($($name:ident, $function:ident($($argument:ident: $type:ty),*);)*) => { $(
        #[doc = concat!("Second name of [`", stringify!($function), "`].")]
        ///
        /// # Safety
        ///
        /// The same as for that function.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { $function($($argument),*) }
        }
    )* };
}

second_names! {
    __pthread_mutex_init, pthread_mutex_init(mutex: *mut Mutex, attribute: usize);
    __pthread_mutex_destroy, pthread_mutex_destroy(mutex: *mut Mutex);
    __pthread_mutex_lock, pthread_mutex_lock(mutex: *mut Mutex);
    __pthread_mutex_trylock, pthread_mutex_trylock(mutex: *mut Mutex);
    __pthread_mutex_unlock, pthread_mutex_unlock(mutex: *mut Mutex);
}
