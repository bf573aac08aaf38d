//! The locks of the C library. Each is initialised and destroyed in one place.
//!
//! POSIX does not define the behaviour of an object that was moved after its initialisation.
//! [`Foreign`](lockyard_scenarios::Foreign) guarantees that these are not moved.

use libc::{pthread_mutex_t, pthread_spinlock_t};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;

/// Ends the run, because a lock of the C library reports wrong use. This cannot happen in a correct
/// program, and no later measurement could be trusted.
#[cold]
pub(crate) fn refused(call: &str, error: i32) -> ! {
    panic!("{call}: {}", std::io::Error::from_raw_os_error(error));
}

macro_rules! pthread_lock {
    (
        $(#[$doc:meta])*
        $name:ident($raw:ty): $init:expr,
        $lock:ident, $try_lock:ident, $unlock:ident, $destroy:ident
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[repr(transparent)]
        pub(crate) struct $name(UnsafeCell<$raw>);

        // SAFETY: one thread may initialise the C library's lock, others may use it, and a third
        // may destroy it.
        unsafe impl Send for $name {}
        // SAFETY: several threads may use it at the same time through the C library's functions.
        // Nothing else touches it.
        unsafe impl Sync for $name {}

        impl $name {
            /// Makes a free lock in `place`. Returns `None` if the C library has no memory for it.
            pub(crate) fn make(place: &mut MaybeUninit<Self>) -> Option<&mut Self> {
                let init: unsafe fn(*mut $raw) -> i32 = $init;
                // SAFETY: the pointer has room for the lock: `repr(transparent)` makes `Self` as
                // large as its only field. No other thread uses it yet.
                let error = unsafe { init(place.as_mut_ptr().cast()) };
                // SAFETY: if there was no error, the lock is initialised.
                (error == 0).then(|| unsafe { place.assume_init_mut() })
            }

            /// Takes the lock.
            #[inline]
            pub(crate) fn acquire(&self) {
                // SAFETY: initialised by `make`, at this address, and not destroyed before `self`
                // is dropped.
                match unsafe { libc::$lock(self.0.get()) } {
                    0 => {}
                    error => refused(stringify!($lock), error),
                }
            }

            /// Releases the lock.
            ///
            /// # Safety
            ///
            /// The calling thread must hold the lock.
            #[inline]
            pub(crate) unsafe fn release(&self) {
                // SAFETY: as in `acquire`; the caller promises that this thread holds it.
                match unsafe { libc::$unlock(self.0.get()) } {
                    0 => {}
                    error => refused(stringify!($unlock), error),
                }
            }

            /// Returns true if the lock is held.
            pub(crate) fn is_held(&self) -> bool {
                // SAFETY: as in `acquire`.
                match unsafe { libc::$try_lock(self.0.get()) } {
                    0 => {
                        // SAFETY: taken by this thread just now.
                        unsafe { self.release() };
                        false
                    }
                    libc::EBUSY => true,
                    error => refused(stringify!($try_lock), error),
                }
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: initialised by `make`, and dropped once. No reference to the lock is
                // left, so no thread holds it or waits for it.
                let error = unsafe { libc::$destroy(self.0.get()) };
                debug_assert_eq!(error, 0, stringify!($destroy));
            }
        }
    };
}

pthread_lock! {
    /// `pthread_mutex_t` with the default attributes.
    PthreadMutex(pthread_mutex_t):
        // SAFETY: the caller's promise; a null pointer selects the default attributes.
        |lock| unsafe { libc::pthread_mutex_init(lock, ptr::null()) },
        pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_unlock, pthread_mutex_destroy
}

pthread_lock! {
    /// `pthread_spinlock_t` of one process.
    PthreadSpin(pthread_spinlock_t):
        // SAFETY: the caller's promise.
        |lock| unsafe { libc::pthread_spin_init(lock, libc::PTHREAD_PROCESS_PRIVATE) },
        pthread_spin_lock, pthread_spin_trylock, pthread_spin_unlock, pthread_spin_destroy
}
