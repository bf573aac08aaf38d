//! The child of a fork. It has one thread, and a copy of the parent's memory, in which the parent's
//! other threads may wait for locks and conditions.
//!
//! Each process has a *generation*: that of its parent plus one if it is the child of a fork, and 0
//! otherwise. An object keeps the generation of the process that used it last. In the child of a
//! fork, each operation compares the two first. If they differ, it removes the waiters, which do
//! not exist here. It keeps whether a mutex is held, and by whom. So a handler of `pthread_atfork`
//! that locks all mutexes before a fork, and unlocks them in the child, works.
//!
//! A process that was never forked compares nothing: one word has its lock and this state
//! ([`STATE`]).

use crate::choice::{FORKED, STATE};
use crate::local::local;
use crate::{real, slots, system};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Handler of a fork.
pub(crate) type Handler = Option<unsafe extern "C" fn()>;

/// Generation of this process.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// 1 while a thread removes the waiters of an object.
static REMOVING: AtomicU32 = AtomicU32::new(0);

/// True if this library's handler is registered.
static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

/// Asks for a call in the children of this process.
pub(crate) fn install() {
    // Relaxed: only a handler that another thread registers at this moment may come before.
    if !IS_INSTALLED.swap(true, Ordering::Relaxed) {
        register(None, None, Some(forked), core::ptr::null_mut());
    }
}

/// Registers handlers of a fork with the C library. `library` stands for the library that they are
/// in, and is null for one that is never unloaded.
pub(crate) fn register(
    prepare: Handler,
    parent: Handler,
    child: Handler,
    library: *mut c_void,
) -> c_int {
    let word = |handler: Handler| handler.map_or(0, |handler| handler as usize);
    let handlers = [word(prepare), word(parent), word(child)];
    let library = library.expose_provenance();
    // SAFETY: the handlers and the library are the program's. This library's handler may be called
    // at any time in a child.
    unsafe { real::four(&real::REGISTER_ATFORK, handlers[0], handlers[1], handlers[2], library) }
}

/// Runs in the child of a fork, in its one thread, before the program's own handlers: they are
/// called in the order in which they were registered.
unsafe extern "C" fn forked() {
    // Relaxed, all: there is one thread.
    GENERATION.fetch_add(1, Ordering::Relaxed);
    REMOVING.store(0, Ordering::Relaxed);
    STATE.fetch_or(FORKED, Ordering::Relaxed);
    // SAFETY: there is one thread, which is in `fork`, and so waits for nothing.
    unsafe {
        (*local()).stop = false;
        slots::forget_others();
    }
}

/// Makes an object this process's: removes its waiters if it was used last by a parent.
/// `state` is the library's.
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
        system::yield_now();
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
