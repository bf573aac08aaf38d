//! The real functions (`functions.rs`), found on first use: those that a program would call without
//! the recorder.

use crate::functions::functions;
use crate::local::local;
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use lockyard_interpose::{Object, bound, find, object_of};

/// Address of a function; null before the first call of any.
pub(crate) type Slot = AtomicPtr<c_void>;

/// Types of the functions by their arguments, all of which are words.
pub(crate) type One = unsafe extern "C" fn(usize) -> c_int;
pub(crate) type Two = unsafe extern "C" fn(usize, usize) -> c_int;
pub(crate) type Three = unsafe extern "C" fn(usize, usize, usize) -> c_int;
pub(crate) type Six = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> c_int;

macro_rules! slots {
    ($($slot:ident, $name:literal, $versions:tt, $real:expr, $how:tt;)*) => {
        $(
            #[doc = concat!("Address of `", $name, "`.")]
            pub(crate) static $slot: Slot = AtomicPtr::new(null_mut());
        )*

        /// Finds all functions.
        fn find_all() {
            let value = find("sem_getvalue", Some(c"GLIBC_2.34"));
            SEMAPHORE_VALUE.store(value, Ordering::Relaxed);
            $(
                let found = find($name, Some($real));
                let found = if found.is_null() { absent as *mut c_void } else { found };
                $slot.store(found, Ordering::Relaxed);
            )*
        }

        /// Returns the place of a lock function of POSIX threads.
        pub(crate) fn lock_function(name: &[u8]) -> Option<&'static Slot> {
            $(
                if $name.as_bytes() == name {
                    return Some(&$slot);
                }
            )*
            None
        }

        /// Hands each function that a library defines before the recorder to `each`, with what a
        /// reference to it finds.
        pub(crate) fn bound_elsewhere(own: usize, mut each: impl FnMut(&str, *mut c_void)) {
            $(
                let found = bound($name);
                let is_ours = object_of(found.addr()).is_none_or(|object| object.base.addr() == own);
                if !is_ours && !found.is_null() {
                    each($name, found);
                }
            )*
        }
    };
}

functions!(slots);

/// The function that tells a semaphore's value, which is not recorded itself; null if it is
/// nowhere.
pub(crate) static SEMAPHORE_VALUE: Slot = AtomicPtr::new(null_mut());

/// Returns this library.
pub(crate) fn own() -> Option<Object> {
    object_of((&raw const FINDER).addr())
}

/// Stands for a function that is nowhere. A program that has a reference to it would not start.
unsafe extern "C" fn absent() -> c_int {
    const NOT_IMPLEMENTED: c_int = 38;
    NOT_IMPLEMENTED
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
pub(crate) unsafe extern "C" fn nothing() -> c_int {
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

/// Returns a function of six arguments.
pub(crate) fn six(slot: &'static Slot) -> Six {
    // SAFETY: the callers name functions of six arguments.
    unsafe { core::mem::transmute::<*mut c_void, Six>(address(slot)) }
}
