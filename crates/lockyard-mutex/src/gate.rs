//! Gates: mutexes of the C library that waits for its condition variables release: see `shared.rs`.

use crate::{guard, real};
use core::cell::UnsafeCell;
use core::ptr::from_ref;
use core::sync::atomic::{AtomicBool, Ordering};

/// A mutex of the C library. Zeros are a free one.
#[repr(C, align(64))]
pub(crate) struct Gate(UnsafeCell<[u32; guard::WORDS]>);

// SAFETY: only the C library accesses it, except in the child of a fork.
unsafe impl Sync for Gate {}

/// Number of gates: condition variables share them.
const GATES: usize = 16;

static ALL: [Gate; GATES] = [const { Gate(UnsafeCell::new([0; guard::WORDS])) }; GATES];

/// True once this process has such a wait.
pub(crate) static ARE_USED: AtomicBool = AtomicBool::new(false);

impl Gate {
    /// Returns the gate of a condition variable at an address.
    pub(crate) fn of(condition: usize) -> &'static Gate {
        &ALL[condition / size_of::<libc::pthread_cond_t>() % GATES]
    }

    /// Returns its address, as the C library has it.
    pub(crate) fn address(&self) -> usize {
        from_ref(self).expose_provenance()
    }

    /// Locks it.
    pub(crate) fn lock(&self) {
        // SAFETY: a mutex of the C library.
        unsafe { real::one(&real::MUTEX_LOCK, self.address()) };
    }

    /// Unlocks it. The running thread has locked it.
    pub(crate) fn unlock(&self) {
        // SAFETY: the running thread has locked it.
        unsafe { real::one(&real::MUTEX_UNLOCK, self.address()) };
    }
}

/// Frees all gates.
///
/// # Safety
///
/// The process has one thread, which has no gate: it is the child of a fork.
pub(crate) unsafe fn free_all() {
    if ARE_USED.load(Ordering::Relaxed) {
        for gate in &ALL {
            // SAFETY: the caller's promise.
            unsafe { gate.0.get().write([0; guard::WORDS]) };
        }
    }
}
