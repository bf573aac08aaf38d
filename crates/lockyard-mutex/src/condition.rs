//! Condition variables.
//!
//! A waiting thread may be cancelled. Cancellation unwinds the stack, so no Rust frame on it may
//! have anything to drop. The functions under the C library's names are the only frames above
//! `pthread_testcancel` and above the C library's own waits. The wait itself has returned before.

use crate::choice::Lock;
use crate::layout::{Condition, Mutex};
use crate::local::{Clock, Wait, local};
use crate::mutex::How;
use crate::shared::Call;
use crate::{cancel, deadline, fork, host, leave, mutex, priority, real, shared, start, system};
use core::ffi::c_int;
use core::sync::atomic::Ordering;
use core::time::Duration;
use libc::{EINVAL, ETIMEDOUT, timespec};
use lockyard::on::Condvar;
use lockyard::platform::Instant;

/// Owner of the functions that serve a condition variable.
enum Owner<'a> {
    Ours(&'a Condition),
    Real,
}

/// Returns the condition variable if this library serves it, and adopts it for this process.
///
/// # Safety
///
/// The caller must keep the contract of the function that the program has called: there must be a
/// condition variable at the address.
#[inline(always)]
unsafe fn owner<'a>(condition: *mut Condition) -> Owner<'a> {
    let state = start::state();
    if Lock::of(state).is_none() {
        return Owner::Real;
    }
    // SAFETY: the caller's promise. All accesses by this library are atomic, except below.
    let ours = unsafe { &*condition };
    if ours.is_shared() {
        return Owner::Real;
    }
    fork::adopt(state, &ours.generation, || {
        // SAFETY: only threads of the parent have used it. The list of waiters is made of words in
        // cells, and no thread of this process accesses them meanwhile.
        unsafe { (&raw const ours.waiters).cast_mut().write(Condvar::new()) };
        ours.users.store(0, Ordering::Relaxed);
    });
    Owner::Ours(ours)
}

/// Notifies waiters, and counts as a user meanwhile.
fn notify(condition: &Condition, notify: impl FnOnce(&Condvar<host::Process>)) -> c_int {
    if condition.waiters.has_waiters() {
        condition.users.fetch_add(1, Ordering::Relaxed);
        notify(&condition.waiters);
        // Release: pairs with the acquire of the destruction.
        condition.users.fetch_sub(1, Ordering::Release);
    }
    0
}

/// Result of a wait.
struct End {
    code: c_int,
    /// True if the thread may have been cancelled.
    looks: bool,
    /// True if a handler has asked for the thread's end.
    exits: bool,
}

/// A deadline and its clock.
type Limit<'a> = Option<(Clock, &'a timespec)>;

/// Releases the mutex, waits, and acquires the mutex again.
///
/// # Safety
///
/// The caller must keep the contract of `pthread_cond_timedwait`.
unsafe fn wait(condition: &Condition, held: &Mutex, limit: Limit<'_>) -> End {
    let me = local();
    let object = core::ptr::from_ref(condition).addr();
    condition.users.fetch_add(1, Ordering::Relaxed);
    let mut failed = 0;
    // SAFETY: the thread's own data. Until the thread is among the waiters, it does not leave. If
    // this is a handler that interrupts another wait, that wait's data are restored.
    let before = unsafe {
        let before = ((*me).wait, (*me).until);
        (*me).wait = Wait { looks: before.0.looks, waits: true, stays: true, ..Wait::NONE };
        before
    };
    let mut has_stopped = false;
    let notified = deadline::by_clock(limit.map_or(Clock::Monotonic, |(clock, _)| clock), || {
        let until = match limit {
            Some((clock, time)) => deadline::until(clock, time),
            None => Instant::now() + Duration::MAX,
        };
        // One value stands for every mutex, so that threads may wait with different mutexes. POSIX
        // leaves such waits undefined, but the C library's condition variables support them.
        const ANY_MUTEX: usize = 0;
        let release = || {
            // SAFETY: the caller's promise; the thread's own data.
            unsafe {
                mutex::count_wait(held, 1);
                failed = mutex::unlock(held);
                if failed != 0 {
                    mutex::count_wait(held, 0u32.wrapping_sub(1));
                }
                (*me).wait.stop = failed != 0 || (*me).wait.exits;
                (*me).wait.stays = false;
                match limit {
                    Some((_, time)) => (*me).until = time,
                    None => (*me).clock = Clock::Still,
                }
            }
        };
        match priority::mine(start::state()) {
            None => condition.waiters.wait_with_end(ANY_MUTEX, release, Some(until), || {
                // The waiters' lock needs a clock that advances. SAFETY: the thread's own data.
                unsafe {
                    has_stopped = core::mem::replace(&mut (*me).wait.stop, false);
                    if (*me).clock == Clock::Still {
                        (*me).clock = Clock::Monotonic;
                    }
                }
            }),
            Some(priority) => {
                let take = || None::<()>;
                let end = priority::wait(object, priority, true, until, release, take);
                matches!(end, priority::End::Served)
            }
        }
    });
    // SAFETY: the thread's own data.
    let (stopped, exits) = unsafe {
        let ends = ((*me).wait.stop || has_stopped, (*me).wait.exits);
        ((*me).wait, (*me).until) = before;
        ends
    };
    if failed != 0 && notified {
        // This thread does not wait, so another thread gets the notification.
        if !priority::serve(object) {
            condition.waiters.notify_one();
        }
    }
    // Release: pairs with the acquire of the destruction.
    condition.users.fetch_sub(1, Ordering::Release);
    if failed != 0 {
        return End { code: failed, looks: false, exits };
    }
    let code = mutex::take(held, How::Notified);
    mutex::count_wait(held, 0u32.wrapping_sub(1));
    let exits = exits | cancel::exits();
    let timed_out = if notified || stopped || limit.is_none() { 0 } else { ETIMEDOUT };
    End { code: if code == 0 { timed_out } else { code }, looks: stopped && !notified, exits }
}

/// Waits with deferred cancellation, and then acts upon a request.
///
/// # Safety
///
/// The caller must keep the contract of `pthread_cond_timedwait`. No frame above may have anything
/// to drop.
unsafe fn wait_deferred(condition: &Condition, held: &Mutex, limit: Limit<'_>) -> c_int {
    let is_asynchronous = cancel::defer();
    // SAFETY: the caller's promise.
    let end = unsafe { wait(condition, held, limit) };
    // SAFETY: as above.
    unsafe {
        if is_asynchronous {
            cancel::undo_defer();
        } else if end.looks {
            cancel::act();
        }
        if end.exits {
            leave::exit();
        }
    }
    end.code
}

/// Waits by the C library's function.
///
/// # Safety
///
/// The caller must keep the contract of the function. No frame above may have anything to drop.
unsafe fn wait_by(call: Call, condition: *mut Condition, mutex: *mut Mutex) -> c_int {
    // SAFETY: the program's mutex, and the caller's promise.
    unsafe {
        if Lock::of(start::state()).is_some() && mutex::is_ours(&*mutex) {
            shared::wait(call, condition, &*mutex)
        } else {
            call.call(condition, mutex.expose_provenance())
        }
    }
}

/// Initialises a condition variable.
///
/// # Safety
///
/// The requirements of POSIX, as for all functions under the C library's names.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_cond_init(
    condition: *mut Condition,
    attribute: usize,
) -> c_int {
    start::state();
    // The C library writes the attributes. For kinds that this library replaces, all other bytes
    // are zero. SAFETY: the program's arguments.
    unsafe { real::two(&real::CONDITION_INIT, condition.expose_provenance(), attribute) }
}

/// Destroys a condition variable. Waits for threads that have been notified and still access it.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_cond_destroy(condition: *mut Condition) -> c_int {
    // SAFETY: the program's condition variable.
    unsafe {
        match owner(condition) {
            Owner::Ours(ours) => {
                // Acquire: pairs with the releases of the users.
                while ours.users.load(Ordering::Acquire) != 0 {
                    system::nap();
                }
                0
            }
            Owner::Real => real::one(&real::CONDITION_DESTROY, condition.expose_provenance()),
        }
    }
}

/// Wakes a thread that waits.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_cond_signal(condition: *mut Condition) -> c_int {
    // SAFETY: the program's condition variable.
    unsafe {
        match owner(condition) {
            Owner::Ours(_) if priority::serve(condition.addr()) => 0,
            Owner::Ours(ours) => notify(ours, |waiters| _ = waiters.notify_one()),
            Owner::Real => shared::signal(&real::CONDITION_SIGNAL, condition),
        }
    }
}

/// Wakes all threads that wait.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_cond_broadcast(condition: *mut Condition) -> c_int {
    // SAFETY: the program's condition variable.
    unsafe {
        match owner(condition) {
            Owner::Ours(ours) => {
                priority::serve_all(condition.addr());
                notify(ours, |waiters| _ = waiters.notify_all())
            }
            Owner::Real => shared::signal(&real::CONDITION_BROADCAST, condition),
        }
    }
}

/// Waits until a condition variable is notified.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_wait(
    condition: *mut Condition,
    mutex: *mut Mutex,
) -> c_int {
    // SAFETY: the program's arguments. No frame has anything to drop when it is unwound.
    unsafe {
        let Owner::Ours(ours) = owner(condition) else {
            return wait_by(Call::Wait, condition, mutex);
        };
        cancel::expect();
        cancel::act();
        wait_deferred(ours, &*mutex, None)
    }
}

/// Waits until a condition variable is notified, or until a time on its clock.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_timedwait(
    condition: *mut Condition,
    mutex: *mut Mutex,
    until: *const timespec,
) -> c_int {
    // SAFETY: as in `pthread_cond_wait`.
    unsafe {
        let Owner::Ours(ours) = owner(condition) else {
            return wait_by(Call::Timed(until), condition, mutex);
        };
        let clock = if ours.is_monotonic() { Clock::Monotonic } else { Clock::Realtime };
        if !deadline::is_valid(&*until) {
            return EINVAL;
        }
        cancel::expect();
        cancel::act();
        wait_deferred(ours, &*mutex, Some((clock, &*until)))
    }
}

/// Waits until a condition variable is notified, or until a time on a clock.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_cond_clockwait(
    condition: *mut Condition,
    mutex: *mut Mutex,
    number: c_int,
    until: *const timespec,
) -> c_int {
    // SAFETY: as in `pthread_cond_wait`.
    unsafe {
        let Owner::Ours(ours) = owner(condition) else {
            return wait_by(Call::Clock(number, until), condition, mutex);
        };
        let Some(clock) = deadline::clock(number).filter(|_| deadline::is_valid(&*until)) else {
            return EINVAL;
        };
        cancel::expect();
        cancel::act();
        wait_deferred(ours, &*mutex, Some((clock, &*until)))
    }
}
