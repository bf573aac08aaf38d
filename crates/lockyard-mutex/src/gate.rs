//! Gates: mutexes of the C library that are released by waits for its condition variables: see
//! `shared.rs`.

use crate::{guard, real};
use core::cell::UnsafeCell;
use core::ptr::from_ref;
use core::sync::atomic::{AtomicBool, Ordering};

/// A mutex of the C library. All zeros mean a free mutex.
#[repr(C, align(64))]
pub(crate) struct Gate(UnsafeCell<[u32; guard::WORDS]>);

// SAFETY: only the C library accesses it, except in the child of a fork.
unsafe impl Sync for Gate {}

/// Number of gates. Condition variables share the gates.
const GATES: usize = 16;

static ALL: [Gate; GATES] = [const { Gate(UnsafeCell::new([0; guard::WORDS])) }; GATES];

/// True once this process has waited for a shared condition variable.
pub(crate) static ARE_USED: AtomicBool = AtomicBool::new(false);

impl Gate {
    /// Returns the gate of a condition variable at an address.
    pub(crate) fn of(condition: usize) -> &'static Gate {
        &ALL[condition / size_of::<libc::pthread_cond_t>() % GATES]
    }

    /// Returns the gate's address, with the C library's type.
    pub(crate) fn address(&self) -> usize {
        from_ref(self).expose_provenance()
    }

    /// Locks the gate.
    pub(crate) fn lock(&self) {
        // SAFETY: a mutex of the C library.
        unsafe { real::one(&real::MUTEX_LOCK, self.address()) };
    }

    /// Unlocks the gate. The running thread must have locked it.
    pub(crate) fn unlock(&self) {
        // SAFETY: the running thread has locked it.
        unsafe { real::one(&real::MUTEX_UNLOCK, self.address()) };
    }
}

/// Frees all gates.
///
/// # Safety
///
/// The process must be the child of a fork, with one thread that holds no gate.
pub(crate) unsafe fn free_all() {
    if ARE_USED.load(Ordering::Relaxed) {
        for gate in &ALL {
            // SAFETY: the caller's promise.
            unsafe { gate.0.get().write([0; guard::WORDS]) };
        }
    }
}
