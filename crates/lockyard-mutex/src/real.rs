//! The C library's functions, found when the library starts. An earlier call, from within the
//! search, finds its function itself: before glibc 2.34 the search allocates, and an allocator may
//! initialise a mutex, or register fork handlers.

use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use lockyard_interpose::find;

/// A function of the C library.
pub(crate) struct Slot {
    /// Null if there is no such function, or before the search.
    address: AtomicPtr<c_void>,
    name: &'static str,
    version: Option<&'static CStr>,
}

impl Slot {
    /// Finds the function, and returns its address. Null if the C library does not have it.
    fn find(&self) -> *mut c_void {
        let found = find(self.name, self.version);
        // Relaxed: the state of `start.rs` publishes it, or the caller is the thread that uses it.
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

type One = unsafe extern "C-unwind" fn(usize) -> c_int;
type Two = unsafe extern "C-unwind" fn(usize, usize) -> c_int;
type Three = unsafe extern "C-unwind" fn(usize, usize, usize) -> c_int;
type Four = unsafe extern "C-unwind" fn(usize, usize, usize, usize) -> c_int;
type Five = unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize) -> c_int;

macro_rules! functions {
    ($($slot:ident, $name:literal, $version:expr;)*) => {
        $(
            #[doc = concat!("The function `", $name, "`.")]
            pub(crate) static $slot: Slot =
                Slot { address: AtomicPtr::new(null_mut()), name: $name, version: $version };
        )*

        /// Finds all functions.
        pub(crate) fn find_all() {
            $($slot.find();)*
        }
    };
}

/// Version of the functions for conditions that have their present layout: the unversioned look-up
/// might find those of 2002.
#[cfg(target_arch = "x86_64")]
const PRESENT: Option<&CStr> = Some(c"GLIBC_2.3.2");
/// There is only one version.
#[cfg(not(target_arch = "x86_64"))]
const PRESENT: Option<&CStr> = None;

/// Version of the function that reads a clock, so that the program's own function is not used.
const CLOCK: Option<&CStr> = Some(c"GLIBC_2.17");

functions! {
    MUTEX_INIT, "pthread_mutex_init", None;
    MUTEX_DESTROY, "pthread_mutex_destroy", None;
    MUTEX_LOCK, "pthread_mutex_lock", None;
    MUTEX_TRYLOCK, "pthread_mutex_trylock", None;
    MUTEX_TIMEDLOCK, "pthread_mutex_timedlock", None;
    MUTEX_CLOCKLOCK, "pthread_mutex_clocklock", None;
    MUTEX_UNLOCK, "pthread_mutex_unlock", None;
    SPIN_INIT, "pthread_spin_init", None;
    SPIN_DESTROY, "pthread_spin_destroy", None;
    SPIN_LOCK, "pthread_spin_lock", None;
    SPIN_TRYLOCK, "pthread_spin_trylock", None;
    SPIN_UNLOCK, "pthread_spin_unlock", None;
    CONDITION_INIT, "pthread_cond_init", PRESENT;
    CONDITION_DESTROY, "pthread_cond_destroy", PRESENT;
    CONDITION_WAIT, "pthread_cond_wait", PRESENT;
    CONDITION_TIMEDWAIT, "pthread_cond_timedwait", PRESENT;
    CONDITION_CLOCKWAIT, "pthread_cond_clockwait", None;
    CONDITION_SIGNAL, "pthread_cond_signal", PRESENT;
    CONDITION_BROADCAST, "pthread_cond_broadcast", PRESENT;
    CLOCK_GETTIME, "clock_gettime", CLOCK;
    CANCEL, "pthread_cancel", None;
    EXIT, "pthread_exit", None;
    REGISTER_ATFORK, "__register_atfork", None;
    CONTROL, "prctl", None;
    ATTRIBUTE_POLICY, "pthread_attr_setschedpolicy", None;
    THREAD_POLICY, "pthread_setschedparam", None;
    PROCESS_POLICY, "sched_setscheduler", None;
}

/// Stands for a function that this C library does not have.
unsafe extern "C-unwind" fn missing() -> c_int {
    libc::ENOSYS
}

fn address(slot: &Slot) -> *mut c_void {
    let mut found = slot.address.load(Ordering::Relaxed);
    if found.is_null() {
        found = slot.find();
    }
    if found.is_null() { missing as *mut c_void } else { found }
}

/// Calls a function of one argument.
///
/// # Safety
///
/// The function must have one argument, and the caller must keep its contract.
pub(crate) unsafe fn one(slot: &Slot, a: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { transmute::<*mut c_void, One>(address(slot))(a) }
}

/// Calls a function of two arguments.
///
/// # Safety
///
/// The function must have two arguments, and the caller must keep its contract.
pub(crate) unsafe fn two(slot: &Slot, a: usize, b: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { transmute::<*mut c_void, Two>(address(slot))(a, b) }
}

/// Calls a function of three arguments.
///
/// # Safety
///
/// The function must have three arguments, and the caller must keep its contract.
pub(crate) unsafe fn three(slot: &Slot, a: usize, b: usize, c: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { transmute::<*mut c_void, Three>(address(slot))(a, b, c) }
}

/// Calls a function of four arguments.
///
/// # Safety
///
/// The function must have four arguments, and the caller must keep its contract.
pub(crate) unsafe fn four(slot: &Slot, a: usize, b: usize, c: usize, d: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { transmute::<*mut c_void, Four>(address(slot))(a, b, c, d) }
}

/// Calls a function of five arguments.
///
/// # Safety
///
/// The function must have five arguments, and the caller must keep its contract.
pub(crate) unsafe fn five(slot: &Slot, a: usize, b: usize, c: usize, d: usize, e: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { transmute::<*mut c_void, Five>(address(slot))(a, b, c, d, e) }
}
