//! The reader-writer lock of the C library, `pthread_rwlock_t` with the default attributes. Like
//! the other locks of the C library, it does not move between its initialisation and its
//! destruction.

use crate::pthread::refused;
use libc::pthread_rwlock_t;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;

/// `pthread_rwlock_t` with the default attributes.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct PthreadRwLock(UnsafeCell<pthread_rwlock_t>);

// SAFETY: one thread may initialise the C library's lock, others may use it, and a third may
// destroy it.
unsafe impl Send for PthreadRwLock {}
// SAFETY: several threads may use it at the same time through the C library's functions. Nothing
// else touches it.
unsafe impl Sync for PthreadRwLock {}

impl PthreadRwLock {
    /// Makes a free lock in `place`. Returns `None` if the C library has no memory for it.
    pub(crate) fn make(place: &mut MaybeUninit<Self>) -> Option<&mut Self> {
        // SAFETY: the pointer has room for the lock: `repr(transparent)` makes `Self` as large as
        // its only field. No other thread uses it yet. A null pointer selects the default
        // attributes.
        let error = unsafe { libc::pthread_rwlock_init(place.as_mut_ptr().cast(), ptr::null()) };
        // SAFETY: if there was no error, the lock is initialised.
        (error == 0).then(|| unsafe { place.assume_init_mut() })
    }

    /// Takes the lock as the writer.
    #[inline]
    pub(crate) fn acquire(&self) {
        // SAFETY: initialised by `make`, at this address, and not destroyed before `self` is
        // dropped.
        match unsafe { libc::pthread_rwlock_wrlock(self.0.get()) } {
            0 => {}
            error => refused("pthread_rwlock_wrlock", error),
        }
    }

    /// Takes the lock as a reader.
    #[inline]
    pub(crate) fn acquire_shared(&self) {
        // SAFETY: as in `acquire`.
        match unsafe { libc::pthread_rwlock_rdlock(self.0.get()) } {
            0 => {}
            error => refused("pthread_rwlock_rdlock", error),
        }
    }

    /// Releases the lock.
    ///
    /// # Safety
    ///
    /// The calling thread must hold the lock, as the writer or as a reader.
    #[inline]
    pub(crate) unsafe fn release(&self) {
        // SAFETY: as in `acquire`; the caller promises that this thread holds it.
        match unsafe { libc::pthread_rwlock_unlock(self.0.get()) } {
            0 => {}
            error => refused("pthread_rwlock_unlock", error),
        }
    }

    /// Returns true if a thread holds the lock.
    pub(crate) fn is_held(&self) -> bool {
        // SAFETY: as in `acquire`.
        match unsafe { libc::pthread_rwlock_trywrlock(self.0.get()) } {
            0 => {
                // SAFETY: taken by this thread just now.
                unsafe { self.release() };
                false
            }
            libc::EBUSY => true,
            error => refused("pthread_rwlock_trywrlock", error),
        }
    }
}

impl Drop for PthreadRwLock {
    fn drop(&mut self) {
        // SAFETY: initialised by `make`, and dropped once. No reference to the lock is left, so no
        // thread holds it or waits for it.
        let error = unsafe { libc::pthread_rwlock_destroy(self.0.get()) };
        debug_assert_eq!(error, 0, "pthread_rwlock_destroy");
    }
}
