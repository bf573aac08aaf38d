//! The C library's functions, found on first use.

use crate::local::local;
use core::ffi::{CStr, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use lockyard_interpose::find;

/// Address of a function; null before the first call of any.
pub(crate) type Slot = AtomicPtr<c_void>;

/// Types of the functions by their arguments, all of which are words.
pub(crate) type One = unsafe extern "C" fn(usize) -> c_int;
pub(crate) type Two = unsafe extern "C" fn(usize, usize) -> c_int;
pub(crate) type Three = unsafe extern "C" fn(usize, usize, usize) -> c_int;

macro_rules! functions {
    ($($slot:ident, $name:literal, $version:expr;)*) => {
        $(
            #[doc = concat!("Address of `", $name, "`.")]
            pub(crate) static $slot: Slot = AtomicPtr::new(null_mut());
        )*

        /// Finds all functions.
        fn find_all() {
            $($slot.store(find($name, $version), Ordering::Relaxed);)*
        }
    };
}

/// Version of the functions for conditions that have their present layout: the unversioned look-up
/// might find those of 2002.
const PRESENT: Option<&CStr> = Some(c"GLIBC_2.3.2");

functions! {
    MUTEX_LOCK, "pthread_mutex_lock", None;
    MUTEX_TRYLOCK, "pthread_mutex_trylock", None;
    MUTEX_TIMEDLOCK, "pthread_mutex_timedlock", None;
    MUTEX_CLOCKLOCK, "pthread_mutex_clocklock", None;
    MUTEX_UNLOCK, "pthread_mutex_unlock", None;
    MUTEX_DESTROY, "pthread_mutex_destroy", None;
    SPIN_LOCK, "pthread_spin_lock", None;
    SPIN_TRYLOCK, "pthread_spin_trylock", None;
    SPIN_UNLOCK, "pthread_spin_unlock", None;
    SPIN_DESTROY, "pthread_spin_destroy", None;
    READ_LOCK, "pthread_rwlock_rdlock", None;
    READ_TRYLOCK, "pthread_rwlock_tryrdlock", None;
    READ_TIMEDLOCK, "pthread_rwlock_timedrdlock", None;
    READ_CLOCKLOCK, "pthread_rwlock_clockrdlock", None;
    WRITE_LOCK, "pthread_rwlock_wrlock", None;
    WRITE_TRYLOCK, "pthread_rwlock_trywrlock", None;
    WRITE_TIMEDLOCK, "pthread_rwlock_timedwrlock", None;
    WRITE_CLOCKLOCK, "pthread_rwlock_clockwrlock", None;
    READ_WRITE_UNLOCK, "pthread_rwlock_unlock", None;
    READ_WRITE_DESTROY, "pthread_rwlock_destroy", None;
    CONDITION_WAIT, "pthread_cond_wait", PRESENT;
    CONDITION_TIMEDWAIT, "pthread_cond_timedwait", PRESENT;
    CONDITION_CLOCKWAIT, "pthread_cond_clockwait", None;
}

/// The thread that finds the functions, by the address of its data; 0 before, [`FOUND`] after.
static FINDER: AtomicUsize = AtomicUsize::new(0);

/// All functions are found. No thread's data have this address.
const FOUND: usize = 1;

/// Number of looks at [`FINDER`] before a thread goes on without the functions: some seconds. The
/// finder may wait for the loader, while this thread has the loader's lock.
const MOST_LOOKS: u32 = 1 << 26;

/// Finds all functions, or waits until another thread has found them. Returns at once if this
/// thread is finding them: the search itself calls them.
#[cold]
pub(crate) fn resolve() {
    let me = local().addr();
    // Acquire: pairs with the release below. Relaxed is enough for the change itself.
    match FINDER.compare_exchange(0, me, Ordering::Relaxed, Ordering::Acquire) {
        Ok(_) => {
            find_all();
            // Release: publishes the addresses.
            FINDER.store(FOUND, Ordering::Release);
        }
        Err(finder) if finder == FOUND || finder == me => {}
        Err(_) => {
            let mut looks = 0;
            // Acquire: as above.
            while FINDER.load(Ordering::Acquire) != FOUND && looks < MOST_LOOKS {
                core::hint::spin_loop();
                looks += 1;
            }
        }
    }
}

/// Function that stands for the C library's while this thread finds these. An allocator that is
/// called for the search may come here with its own lock. No other thread has that lock: it would
/// have waited for the search before it took it.
unsafe extern "C" fn nothing() -> c_int {
    0
}

/// Returns the address of a function. It is never null.
#[inline(always)]
pub(crate) fn address(slot: &Slot) -> *mut c_void {
    let found = slot.load(Ordering::Relaxed);
    if found.is_null() { first(slot) } else { found }
}

#[cold]
fn first(slot: &Slot) -> *mut c_void {
    resolve();
    let found = slot.load(Ordering::Relaxed);
    if found.is_null() { nothing as *mut c_void } else { found }
}

/// Returns a function of one argument.
#[inline(always)]
pub(crate) fn one(slot: &'static Slot) -> One {
    // SAFETY: the callers name functions of one argument.
    unsafe { core::mem::transmute::<*mut c_void, One>(address(slot)) }
}

/// Returns a function of two arguments.
#[inline(always)]
pub(crate) fn two(slot: &'static Slot) -> Two {
    // SAFETY: the callers name functions of two arguments.
    unsafe { core::mem::transmute::<*mut c_void, Two>(address(slot)) }
}

/// Returns a function of three arguments.
#[inline(always)]
pub(crate) fn three(slot: &'static Slot) -> Three {
    // SAFETY: the callers name functions of three arguments.
    unsafe { core::mem::transmute::<*mut c_void, Three>(address(slot)) }
}
