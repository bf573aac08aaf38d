//! Spinlocks, in four bytes.
//!
//! A spinlock that is shared between processes cannot use the queues of one process. A test-and-set
//! or a ticket lock needs no queue. For the other kinds, a mark in a bit that their words never use
//! shows that the word is a test-and-set lock.

use crate::choice::{Lock, PLAIN_MUTEX};
use crate::word::{Kind, Until};
use crate::{cancel, real, start};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};
use libc::EBUSY;

/// The mark. A queued lock has 0 or 1 in this byte; a parking one has 0 in this bit.
const SHARED: u32 = 1 << 15;

/// Returns the kind of the lock in a word, or `None` if the C library serves it.
#[inline(always)]
fn kind(word: &AtomicU32) -> Option<Kind> {
    let state = start::state();
    if state == PLAIN_MUTEX {
        return Some(Kind::TestAndSet);
    }
    let kind = Kind::of_spinlocks(Lock::of(state)?);
    // Relaxed: the mark does not change after the initialisation.
    let is_marked = has_mark(kind) && word.load(Ordering::Relaxed) & SHARED != 0;
    Some(if is_marked { Kind::TestAndSet } else { kind })
}

/// Returns true if a shared lock of the kind is marked.
fn has_mark(kind: Kind) -> bool {
    matches!(kind, Kind::Queued | Kind::PvQueued)
}

/// Returns the spinlock at an address.
///
/// # Safety
///
/// The caller must keep the contract of the function that the program has called: there must be a
/// spinlock at the address.
#[inline(always)]
unsafe fn at<'a>(lock: *mut AtomicU32) -> &'a AtomicU32 {
    // SAFETY: the caller's promise.
    unsafe { &*lock }
}

/// Initialises a spinlock.
///
/// # Safety
///
/// The requirements of POSIX, as for all functions under the C library's names.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_spin_init(lock: *mut AtomicU32, shared: c_int) -> c_int {
    let Some(kind) = Lock::of(start::state()).map(Kind::of_spinlocks) else {
        // SAFETY: the program's arguments.
        return unsafe { real::two(&real::SPIN_INIT, lock.expose_provenance(), shared as usize) };
    };
    let first = if has_mark(kind) && shared != 0 { SHARED } else { 0 };
    // SAFETY: the program's spinlock.
    unsafe { at(lock) }.store(first, Ordering::Relaxed);
    0
}

/// Destroys a spinlock.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_spin_destroy(lock: *mut AtomicU32) -> c_int {
    match Lock::of(start::state()) {
        Some(_) => 0,
        // SAFETY: the program's spinlock.
        None => unsafe { real::one(&real::SPIN_DESTROY, lock.expose_provenance()) },
    }
}

/// Locks a spinlock.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_spin_lock(lock: *mut AtomicU32) -> c_int {
    // SAFETY: the program's spinlock.
    let word = unsafe { at(lock) };
    let Some(kind) = kind(word) else {
        // SAFETY: as above.
        return unsafe { real::one(&real::SPIN_LOCK, lock.expose_provenance()) };
    };
    if kind == Kind::TestAndSet {
        // The lock has no queue in which a cancelled thread could stay.
        return take(kind, word, kind.acquire(word));
    }
    match kind.try_acquire(word) {
        Some(token) => take(kind, word, token),
        None => {
            let wait = |is_asynchronous| {
                let token = if is_asynchronous {
                    kind.acquire_until(word, Until::latest())
                } else {
                    Some(kind.acquire(word))
                };
                token.map_or(EBUSY, |token| take(kind, word, token))
            };
            // SAFETY: the thread has acquired it in the wait. A settled token is 0.
            cancel::in_wait(wait, || unsafe { kind.release(word, 0) })
        }
    }
}

/// Settles a spinlock that the running thread has acquired: four bytes have no room for a token.
fn take(kind: Kind, word: &AtomicU32, token: u32) -> c_int {
    kind.settle(word, token);
    0
}

/// Locks a spinlock if it is free.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_spin_trylock(lock: *mut AtomicU32) -> c_int {
    // SAFETY: the program's spinlock.
    let word = unsafe { at(lock) };
    let Some(kind) = kind(word) else {
        // SAFETY: as above.
        return unsafe { real::one(&real::SPIN_TRYLOCK, lock.expose_provenance()) };
    };
    let Some(token) = kind.try_acquire(word) else { return EBUSY };
    take(kind, word, token)
}

/// Unlocks a spinlock.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn pthread_spin_unlock(lock: *mut AtomicU32) -> c_int {
    // SAFETY: the program's spinlock.
    let word = unsafe { at(lock) };
    let Some(kind) = kind(word) else {
        // SAFETY: as above.
        return unsafe { real::one(&real::SPIN_UNLOCK, lock.expose_provenance()) };
    };
    if kind != Kind::TestAndSet && !kind.is_held(word) {
        // POSIX leaves such a release undefined, and it would corrupt these words.
        return 0;
    }
    // SAFETY: the program holds the lock. A settled token is 0.
    unsafe { kind.release(word, 0) };
    0
}
