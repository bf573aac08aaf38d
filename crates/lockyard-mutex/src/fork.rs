//! The child of a fork. It has one thread, and a copy of the parent's memory, in which the parent's
//! other threads may wait for locks and conditions.
//!
//! Each process has a *generation*: its parent's generation plus one if it is the child of a fork,
//! and 0 otherwise. An object keeps the generation of the process that used it last. In the child
//! of a fork, each operation first compares the two generations. If they differ, it removes the
//! object's waiters, which do not exist in the child. It preserves whether a mutex is held, and the
//! holder. So a handler of `pthread_atfork` that locks all mutexes before a fork, and unlocks them
//! in the child, works.
//!
//! A process that is not the child of a fork compares nothing: one word has its kind of lock and
//! this state. The word lies in a page that the kernel clears in each child. The general path of
//! the first operation finds the word cleared, and so notices the fork. Fork handlers do not run in
//! the child of a bare system call or of `_Fork`, and in other children some handlers come too
//! late. Where the kernel cannot clear the page (before Linux 4.14, or with larger pages), this
//! library's own handler notices.

use crate::choice::{FORKED, PAGE, Page};
use crate::local::{Wait, local, me};
use crate::{choice, gate, priority, real, slots, system};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A fork handler.
pub(crate) type Handler = Option<unsafe extern "C" fn()>;

/// Generation of this process.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// 1 while a thread removes an object's waiters.
static REMOVING: AtomicU32 = AtomicU32::new(0);

/// True if the kernel clears the page in children.
static IS_CLEARED: AtomicBool = AtomicBool::new(false);

/// True if this library's handler is registered.
static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

/// Asks for a call in the children of this process.
pub(crate) fn install() {
    // Relaxed: only a handler that another thread registers at this moment may come first.
    if !IS_INSTALLED.swap(true, Ordering::Relaxed) {
        register(None, None, Some(forked), core::ptr::null_mut());
    }
}

/// Registers fork handlers with the C library. `library` identifies the library that contains the
/// handlers, and is null for a library that is never unloaded.
pub(crate) fn register(
    prepare: Handler,
    parent: Handler,
    child: Handler,
    library: *mut c_void,
) -> c_int {
    let word = |handler: Handler| handler.map_or(0, |handler| handler as usize);
    let handlers = [word(prepare), word(parent), word(child)];
    let library = library.expose_provenance();
    // SAFETY: the handlers and the library come from the program. This library's handler may be
    // called at any time in a child.
    unsafe { real::four(&real::REGISTER_ATFORK, handlers[0], handlers[1], handlers[2], library) }
}

/// Has the library's page cleared in children. The page has no state yet, because a fork by another
/// thread at this moment must not keep a state.
pub(crate) fn prepare() {
    // SAFETY: the call has no preconditions.
    let size = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) });
    if size == Ok(size_of::<Page>()) {
        let page = (&raw const PAGE).cast();
        IS_CLEARED.store(system::clear_in_children(page, size_of::<Page>()), Ordering::Relaxed);
    }
}

/// Returns the state if the page was cleared, because this process is a new child of a fork.
#[cold]
pub(crate) fn notice() -> Option<u32> {
    // Acquire: another thread may have started the library, or noticed, at this moment.
    if !IS_CLEARED.load(Ordering::Relaxed) || PAGE.state.load(Ordering::Acquire) != 0 {
        return None;
    }
    // Acquire and release: a thread that this thread creates meanwhile waits for the end.
    match PAGE.notices.compare_exchange(0, me(), Ordering::Acquire, Ordering::Acquire) {
        Ok(_) => {
            // SAFETY: this is the first thread of the child. It is not in a wait, because all
            // callers are just beginning.
            unsafe { become_child() };
            choice::publish(FORKED);
        }
        // A handler of a signal has interrupted the thread that notices.
        Err(other) if other == me() => {}
        Err(_) => {
            // Acquire: pairs with the publication above.
            while PAGE.state.load(Ordering::Acquire) == 0 {
                system::nap();
            }
        }
    }
    Some(choice::kept() | FORKED)
}

/// Makes this process a new one.
///
/// # Safety
///
/// The process must be the child of a fork, with one thread that is not in a wait.
unsafe fn become_child() {
    // Relaxed, both: there is one thread.
    GENERATION.fetch_add(1, Ordering::Relaxed);
    REMOVING.store(0, Ordering::Relaxed);
    // SAFETY: the thread's own data; the caller's promise.
    unsafe {
        (*local()).wait = Wait::NONE;
        slots::forget_others();
        gate::free_all();
        priority::forget_all();
    }
}

/// Runs in the child of a fork, in its one thread, before the program's own handlers: they are
/// called in the order in which they were registered.
unsafe extern "C" fn forked() {
    if !IS_CLEARED.load(Ordering::Relaxed) {
        // SAFETY: there is one thread, which is in `fork`, and so waits for nothing.
        unsafe { become_child() };
        choice::add(FORKED);
    } else if PAGE.state.load(Ordering::Relaxed) == 0 {
        notice();
    }
    // The C library has reset the thread's list of robust mutexes.
    slots::guard_mine();
}

/// Adopts an object for this process: removes its waiters if a parent used it last. `state` is the
/// library's state.
#[inline(always)]
pub(crate) fn adopt(state: u32, generation: &AtomicU32, remove_waiters: impl FnOnce()) {
    // Relaxed: constant while there is more than one thread.
    if state & FORKED != 0
        // Acquire: pairs with the release below.
        && generation.load(Ordering::Acquire) != GENERATION.load(Ordering::Relaxed)
    {
        adopt_slowly(generation, remove_waiters);
    }
}

#[cold]
fn adopt_slowly(generation: &AtomicU32, remove_waiters: impl FnOnce()) {
    // Acquire: pairs with the release that gives it back.
    while REMOVING.swap(1, Ordering::Acquire) != 0 {
        system::nap();
    }
    let now = GENERATION.load(Ordering::Relaxed);
    if generation.load(Ordering::Relaxed) != now {
        remove_waiters();
        // Release: publishes the object without the waiters.
        generation.store(now, Ordering::Release);
    }
    // Release: as above.
    REMOVING.store(0, Ordering::Release);
}
