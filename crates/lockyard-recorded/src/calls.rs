//! The recorder's functions, found once by name. Without the recorder, or on another system, there
//! are none.

use core::ffi::{CStr, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A function: null before the first look, [`ABSENT`] if not all of them are there.
type Slot = AtomicPtr<c_void>;

const ABSENT: *mut c_void = core::ptr::without_provenance_mut(1);

static TICKS: Slot = AtomicPtr::new(null_mut());
static ACQUIRED: Slot = AtomicPtr::new(null_mut());
static SHARED: Slot = AtomicPtr::new(null_mut());
static RELEASED: Slot = AtomicPtr::new(null_mut());

/// Proof that the recorder is there.
#[derive(Clone, Copy)]
pub(crate) struct Calls(());

/// Returns the recorder's functions, if all of them are there.
#[inline(always)]
pub(crate) fn calls() -> Option<Calls> {
    // Acquire: pairs with the release in `look_by`. This function is stored last, so the others
    // are there.
    let found = ACQUIRED.load(Ordering::Acquire);
    if found == ABSENT {
        return None;
    }
    if found.is_null() { look_by(find) } else { Some(Calls(())) }
}

/// Looks for all functions. If some are missing, none is used: a library may have one of the names
/// by chance, or be of another version.
#[cold]
fn look_by(find: impl Fn(&CStr) -> *mut c_void) -> Option<Calls> {
    let names = [
        (&TICKS, c"lockyard_record_ticks"),
        (&SHARED, c"lockyard_record_shared"),
        (&RELEASED, c"lockyard_record_released"),
        (&ACQUIRED, c"lockyard_record_acquired"),
    ];
    let found = names.map(|(_, name)| find(name));
    let are_all = found.iter().all(|function| !function.is_null());
    for ((slot, _), function) in names.into_iter().zip(found) {
        // Release: the last store publishes the others.
        slot.store(if are_all { function } else { ABSENT }, Ordering::Release);
    }
    are_all.then_some(Calls(()))
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
fn find(name: &CStr) -> *mut c_void {
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const core::ffi::c_char) -> *mut c_void;
    }
    // SAFETY: the name ends with a zero, and null stands for all objects of the program.
    unsafe { dlsym(null_mut(), name.as_ptr()) }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
fn find(_: &CStr) -> *mut c_void {
    null_mut()
}

/// Returns a function that is known to be there: [`Calls`] is the proof.
#[inline(always)]
fn function(slot: &Slot) -> *mut c_void {
    slot.load(Ordering::Relaxed)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_functions_is_none() {
        let some = core::ptr::without_provenance_mut(64);
        for missing in ["ticks", "shared", "released", "acquired"] {
            let without = |name: &CStr| match name.to_bytes().ends_with(missing.as_bytes()) {
                true => null_mut(),
                false => some,
            };
            assert!(look_by(without).is_none(), "{missing}");
            assert!(calls().is_none(), "{missing}: the next look too");
        }
        assert!(look_by(|_| null_mut()).is_none());
    }
}
