//! Order of threads with real-time priorities (`SCHED_FIFO`, `SCHED_RR`): in POSIX, the policy
//! decides which thread acquires a mutex, or is notified.
//!
//! Once the process uses such a policy, a bit of the library's state sends all operations on their
//! general paths. There a thread with a real-time priority does not join the lock's own queue.
//! Instead it enters a list of this process, with the object that it waits for:
//!
//! | operation | with the waiters of the object in the list |
//! | --- | --- |
//! | release of a mutex | hands it to the one of the highest priority: the lock stays held |
//! | signal, broadcast | notifies the highest, all |
//!
//! Among equal priorities, the thread that came first is served first. Threads without a real-time
//! priority come after all of these.
//!
//! A thread that enters just after the holder has looked tries to acquire the mutex, and fails. So
//! a release looks at the list again afterwards, and calls the waiter, which tries once more.

use crate::choice::{self, REAL_TIME};
use crate::word::Until;
use crate::{real, sleep, system};
use core::ffi::{c_int, c_void};
use core::ptr::{from_ref, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering, fence};
use core::time::Duration;
use lockyard_interpose::call;

/// A thread that waits.
struct Waiter {
    /// [`WAITING`], [`CALLED`] or [`SERVED`].
    state: AtomicU32,
    priority: u32,
    /// Address of the mutex or the condition variable.
    object: usize,
    /// The waiter that entered before this one.
    older: AtomicPtr<Waiter>,
}

const WAITING: u32 = 0;
/// State of a waiter that must try once more.
const CALLED: u32 = 1;
/// State of a waiter that is no longer in the list: it has the mutex, or is notified.
const SERVED: u32 = 2;

/// The thread that entered last.
static NEWEST: AtomicPtr<Waiter> = AtomicPtr::new(null_mut());
/// Number of waiters.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// 1 while a thread uses the list.
static LOCK: AtomicU32 = AtomicU32::new(0);

/// First sleep of a thread that waits for a mutex, and the factor by which later sleeps are longer.
/// A release on the fast path, by a thread that has not yet seen the bit, calls no waiter. The bit
/// is set before any thread has a real-time priority, so such releases soon end.
const FIRST: Duration = Duration::from_millis(50);
const GROWTH: u32 = 16;
/// Longest sleep.
const LONGEST: Duration = Duration::from_secs(60);

fn locked<R>(body: impl FnOnce() -> R) -> R {
    // Acquire, and release below: they order the list.
    while LOCK.swap(1, Ordering::Acquire) != 0 {
        system::nap();
    }
    let result = body();
    LOCK.store(0, Ordering::Release);
    result
}

/// Runs `body` with each waiter, and with the link to it, until it returns true. The caller has the
/// list's lock.
fn find(mut body: impl FnMut(&AtomicPtr<Waiter>, &Waiter) -> bool) {
    let mut link = &NEWEST;
    loop {
        // SAFETY: a waiter leaves its frame only after it was removed, under the lock.
        let Some(waiter) = (unsafe { link.load(Ordering::Relaxed).as_ref() }) else { return };
        if body(link, waiter) {
            return;
        }
        link = &waiter.older;
    }
}

/// Removes the waiter that a link leads to. The caller has the list's lock.
fn remove(link: &AtomicPtr<Waiter>, waiter: &Waiter) {
    link.store(waiter.older.load(Ordering::Relaxed), Ordering::Relaxed);
    COUNT.fetch_sub(1, Ordering::Relaxed);
}

/// Returns the link to the waiter for an object that has the highest priority, and that came first
/// among equals. The caller has the list's lock.
fn highest<'a>(object: usize) -> Option<(*const AtomicPtr<Waiter>, &'a Waiter)> {
    let mut best: Option<(*const AtomicPtr<Waiter>, &'a Waiter)> = None;
    find(|link, waiter| {
        let is_best = best.is_none_or(|(_, best)| waiter.priority >= best.priority);
        if waiter.object == object && is_best {
            // SAFETY: the waiter stays until the lock is released.
            best = Some((from_ref(link), unsafe { &*from_ref(waiter) }));
        }
        false
    });
    best
}

/// Serves the waiter for an object that has the highest priority. Returns false if there is no
/// waiter. A mutex must be held, and then belongs to the waiter.
pub(crate) fn serve(object: usize) -> bool {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return false;
    }
    let served = locked(|| {
        let (link, waiter) = highest(object)?;
        // SAFETY: the waiter stays until the lock is released.
        remove(unsafe { &*link }, waiter);
        let word = waiter.state.as_ptr().cast_const();
        // Release: pairs with the acquire of the waiter, whose memory may be gone afterwards.
        waiter.state.store(SERVED, Ordering::Release);
        Some(word)
    });
    if let Some(word) = served {
        system::wake(word, 1);
    }
    served.is_some()
}

/// Serves all waiters for an object that have entered by now.
pub(crate) fn serve_all(object: usize) {
    // Waiters that enter meanwhile may also be served.
    for _ in 0..COUNT.load(Ordering::Relaxed) {
        if !serve(object) {
            break;
        }
    }
}

/// Calls the waiter for a mutex that has the highest priority, if there is one, after a release.
pub(crate) fn call_after_release(object: usize) {
    // Sequentially consistent: pairs with the entry of a waiter. Either the waiter finds the mutex
    // free, or this thread finds the waiter.
    fence(Ordering::SeqCst);
    if COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    let called = locked(|| {
        let (_, waiter) = highest(object)?;
        waiter.state.store(CALLED, Ordering::Relaxed);
        Some(waiter.state.as_ptr().cast_const())
    });
    if let Some(word) = called {
        system::wake(word, 1);
    }
}

/// End of a wait.
pub(crate) enum End<T> {
    /// Another thread has served this thread.
    Served,
    /// The thread has taken the mutex itself.
    Took(T),
    /// The thread has timed out, or must end.
    Expired,
}

/// Enters the list, calls `begin`, and waits until it is served, or takes the mutex by `take`, or
/// until a time. `is_condition` is true in a wait for a condition, whose deadline is in the
/// thread's data.
pub(crate) fn wait<T>(
    object: usize,
    priority: u32,
    is_condition: bool,
    until: Until,
    begin: impl FnOnce(),
    take: impl Fn() -> Option<T>,
) -> End<T> {
    let older = AtomicPtr::new(null_mut());
    let me = Waiter { state: AtomicU32::new(WAITING), priority, object, older };
    locked(|| {
        me.older.store(NEWEST.load(Ordering::Relaxed), Ordering::Relaxed);
        NEWEST.store(from_ref(&me).cast_mut(), Ordering::Relaxed);
        COUNT.fetch_add(1, Ordering::Relaxed);
    });
    // Sequentially consistent: pairs with the fence of a release.
    fence(Ordering::SeqCst);
    begin();
    let mut longest = FIRST;
    loop {
        // Acquire: pairs with the release of `serve`.
        if me.state.load(Ordering::Acquire) == SERVED {
            return End::Served;
        }
        if let Some(taken) = take() {
            leave(&me);
            return End::Took(taken);
        }
        let now = Until::now();
        if now >= until {
            return if leave(&me) { End::Expired } else { End::Served };
        }
        let left = until.saturating_duration_since(now).min(longest);
        longest = (longest * GROWTH).min(LONGEST);
        let word = me.state.as_ptr();
        if is_condition {
            sleep::sleep(word, WAITING, None);
        } else {
            sleep::for_lock(word, WAITING, Some(left));
        }
        // Relaxed, both: the loads above and the mutex order it.
        let (called, waiting) = (CALLED, WAITING);
        let order = Ordering::Relaxed;
        let _was_called = me.state.compare_exchange(called, waiting, order, order);
    }
}

/// Leaves the list. Returns false if the thread was served.
fn leave(me: &Waiter) -> bool {
    locked(|| {
        let mut is_in = false;
        find(|link, waiter| {
            is_in = core::ptr::eq(waiter, me);
            if is_in {
                remove(link, waiter);
            }
            is_in
        });
        is_in
    })
}

/// Forgets all waiters.
///
/// # Safety
///
/// The process has one thread, which is not in a wait: it is the child of a fork.
pub(crate) unsafe fn forget_all() {
    NEWEST.store(null_mut(), Ordering::Relaxed);
    COUNT.store(0, Ordering::Relaxed);
    LOCK.store(0, Ordering::Relaxed);
}

/// Returns the running thread's real-time priority; `None` if it has none, or if the process uses
/// no real-time priorities. `state` is the library's state.
pub(crate) fn mine(state: u32) -> Option<u32> {
    if state & REAL_TIME == 0 {
        return None;
    }
    let mut priority: c_int = 0;
    // SAFETY: the calls read the running thread's policy, and write the live number.
    unsafe {
        if !system::is_real_time(call(libc::SYS_sched_getscheduler as usize, [0; 6])) {
            return None;
        }
        let at = (&raw mut priority).expose_provenance();
        call(libc::SYS_sched_getparam as usize, [0, at, 0, 0, 0, 0]);
    }
    u32::try_from(priority).ok()
}

/// Records that the process uses a policy, if it is a real-time policy.
fn note(policy: c_int) {
    if choice::kept() & REAL_TIME == 0 && system::is_real_time(policy as isize) {
        choice::add(REAL_TIME);
    }
}

/// Index of the policy among the fields of the kernel's line about a process, counted from the
/// state field, which follows the name.
const POLICY: usize = 38;

/// Returns [`REAL_TIME`] if this process was started with a real-time policy, or else 0.
pub(crate) fn at_start() -> u32 {
    let mut room = [0; 1024];
    let line = system::read_file(c"/proc/self/stat", &mut room);
    // The name is in parentheses, and may contain any character.
    let after = line.iter().rposition(|&byte| byte == b')').map_or(0, |at| at + 2);
    let mut fields = line.get(after..).unwrap_or(&[]).split(|&byte| byte == b' ');
    // A digit: the policies have the numbers 0 to 7.
    let is_real_time = fields.nth(POLICY).is_some_and(|policy| {
        matches!(*policy, [digit] if system::is_real_time(isize::from(digit) - isize::from(b'0')))
    });
    if is_real_time { REAL_TIME } else { 0 }
}

/// Sets the policy of an attribute of threads.
///
/// # Safety
///
/// The requirements of POSIX, as for all functions under the C library's names.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_attr_setschedpolicy(
    attribute: *mut c_void,
    policy: c_int,
) -> c_int {
    note(policy);
    let attribute = attribute.expose_provenance();
    // SAFETY: the program's arguments.
    unsafe { real::two(&real::ATTRIBUTE_POLICY, attribute, policy as usize) }
}

/// Sets the policy and the priority of a thread.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_setschedparam(
    thread: usize,
    policy: c_int,
    parameter: *const c_void,
) -> c_int {
    note(policy);
    let parameter = parameter.expose_provenance();
    // SAFETY: the program's arguments.
    unsafe { real::three(&real::THREAD_POLICY, thread, policy as usize, parameter) }
}

/// Sets the policy and the priority of a process or a thread.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sched_setscheduler(
    process: c_int,
    policy: c_int,
    parameter: *const c_void,
) -> c_int {
    note(policy);
    let parameter = parameter.expose_provenance();
    // SAFETY: the program's arguments.
    unsafe { real::three(&real::PROCESS_POLICY, process as usize, policy as usize, parameter) }
}
