//! The recorder's functions, found once by name. Without the recorder, or on another system, there
//! are none.

use core::ffi::c_void;
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A function: null before the first look, [`ABSENT`] if there is none.
type Slot = AtomicPtr<c_void>;

const ABSENT: *mut c_void = core::ptr::without_provenance_mut(1);

static TICKS: Slot = AtomicPtr::new(null_mut());
static ACQUIRED: Slot = AtomicPtr::new(null_mut());
static SHARED: Slot = AtomicPtr::new(null_mut());
static RELEASED: Slot = AtomicPtr::new(null_mut());

/// Proof that the recorder is there.
#[derive(Clone, Copy)]
pub(crate) struct Calls(());

/// Returns the recorder's functions.
#[inline(always)]
pub(crate) fn calls() -> Option<Calls> {
    // Relaxed: the pointers lead to code, and each is used by itself.
    let found = ACQUIRED.load(Ordering::Relaxed);
    if found == ABSENT {
        return None;
    }
    if found.is_null() { look() } else { Some(Calls(())) }
}

#[cold]
fn look() -> Option<Calls> {
    let names = [
        (&TICKS, c"lockyard_record_ticks"),
        (&SHARED, c"lockyard_record_shared"),
        (&RELEASED, c"lockyard_record_released"),
        (&ACQUIRED, c"lockyard_record_acquired"),
    ];
    for (slot, name) in names {
        let found = find(name);
        slot.store(if found.is_null() { ABSENT } else { found }, Ordering::Relaxed);
    }
    (ACQUIRED.load(Ordering::Relaxed) != ABSENT).then_some(Calls(()))
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
fn find(name: &core::ffi::CStr) -> *mut c_void {
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const core::ffi::c_char) -> *mut c_void;
    }
    // SAFETY: the name ends with a zero, and null stands for all objects of the program.
    unsafe { dlsym(null_mut(), name.as_ptr()) }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
fn find(_: &core::ffi::CStr) -> *mut c_void {
    null_mut()
}

/// Returns a function that is known to be there. Another thread may have seen only some of the
/// pointers.
#[inline(always)]
fn function(slot: &Slot) -> *mut c_void {
    let found = slot.load(Ordering::Relaxed);
    if found.is_null() {
        look();
        return slot.load(Ordering::Relaxed);
    }
    found
}

impl Calls {
    /// Returns the time in ticks.
    #[inline(always)]
    pub(crate) fn ticks(self) -> u64 {
        // SAFETY: the recorder's function of this name has this type.
        let call = unsafe { transmute::<*mut c_void, extern "C" fn() -> u64>(function(&TICKS)) };
        call()
    }

    /// Records an acquisition. `since` is the time at which the call began to wait, or 0.
    #[inline(always)]
    pub(crate) fn acquired(self, lock: usize, since: u64, shared: bool) {
        let slot = if shared { &SHARED } else { &ACQUIRED };
        // SAFETY: both functions of the recorder have this type.
        let call = unsafe { transmute::<*mut c_void, extern "C" fn(usize, u64)>(function(slot)) };
        call(lock, since);
    }

    /// Records a release, just before it.
    #[inline(always)]
    pub(crate) fn released(self, lock: usize) {
        // SAFETY: the recorder's function of this name has this type.
        let call = unsafe { transmute::<*mut c_void, extern "C" fn(usize)>(function(&RELEASED)) };
        call(lock);
    }
}
