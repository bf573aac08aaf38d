//! Calls by which locks go past the recorder: a library that the loader binds otherwise, a function
//! that is asked for by name, another library that comes first; and locks of other kinds. They are
//! noted, so that no report claims to have all.

use crate::notes::{self, SEMAPHORES, now};
use crate::real;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};
use lockyard_interpose::{bound, object_of};
use lockyard_records::note;

unsafe extern "C" {
    fn getauxval(of: usize) -> usize;
}

/// Notes the first call of a lock that is not recorded.
pub(crate) extern "C" fn uses(mark: &AtomicU32) {
    real::address(&real::SEMAPHORE_WAIT);
    mark.store(1, Ordering::Relaxed);
    let is_semaphore = core::ptr::eq(mark, &raw const SEMAPHORES);
    let kind = if is_semaphore { note::SEMAPHORES } else { note::STANDARD };
    notes::add(&now(kind), [b"", b""]);
}

/// Returns a text of the program.
unsafe fn text<'t>(of: *const c_char) -> &'t [u8] {
    if of.is_null() {
        return b"";
    }
    // SAFETY: the caller's text ends with a zero.
    unsafe { CStr::from_ptr(of) }.to_bytes()
}

/// Notes a library that is opened so that its references find its own libraries first.
pub(crate) unsafe extern "C" fn opens(file: *const c_char, flags: c_int) {
    const DEEP: c_int = 8;
    real::address(&real::DLOPEN);
    if flags & DEEP != 0 && !file.is_null() {
        // SAFETY: the program's argument.
        notes::add(&now(note::DEEP), [unsafe { text(file) }, b""]);
    }
}

/// Notes a library in a namespace of its own, which has its own C library.
pub(crate) unsafe extern "C" fn opens_in_namespace(namespace: usize, file: *const c_char) {
    const BASE: usize = 0;
    real::address(&real::DLMOPEN);
    if namespace != BASE && !file.is_null() {
        // SAFETY: the program's argument.
        notes::add(&now(note::NAMESPACE), [unsafe { text(file) }, b""]);
    }
}

/// Notes a lock function that is asked for by name and found behind the recorder.
pub(crate) unsafe extern "C" fn searches(
    handle: *mut c_void,
    name: *const c_char,
    _: usize,
    caller: usize,
) {
    let search = real::address(&real::DLSYM);
    // SAFETY: the program's argument.
    let name = unsafe { text(name) };
    if handle.is_null() || !name.starts_with(b"pthread_") {
        return;
    }
    let Some(slot) = real::lock_function(name) else { return };
    let Some(from) = object_of(caller) else { return };
    let is_past = if handle.addr() == usize::MAX {
        // The objects after the caller's. A library that stands between the recorder and the C
        // library calls on what it finds, and so does a program that comes before the recorder.
        let of = |address: usize| object_of(address).map(|object| object.base);
        let name = core::str::from_utf8(name).unwrap_or_default();
        let seen = [real::address(slot).addr(), bound(name).addr(), program()];
        !seen.into_iter().any(|address| of(address) == Some(from.base))
    } else {
        // SAFETY: the function of this name has this type, and the arguments are the program's.
        let found = unsafe {
            let search = core::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(*mut c_void, *const u8) -> *mut c_void,
            >(search);
            search(handle, name.as_ptr())
        };
        !found.is_null()
            && object_of(found.addr())
                .is_some_and(|of| Some(of.base) != real::own().map(|own| own.base))
    };
    if is_past {
        // SAFETY: the loader's text.
        notes::add(&now(note::SEARCHED), [name, unsafe { text(from.file) }]);
    }
}

/// Returns an address in the program.
fn program() -> usize {
    const PROGRAM_HEADERS: usize = 3;
    // SAFETY: the call has no preconditions.
    unsafe { getauxval(PROGRAM_HEADERS) }
}

/// Notes a program or library that defines lock functions itself, and comes before the recorder.
/// At the start of the process.
pub(crate) fn look_before() {
    let Some(own) = real::own() else { return };
    let mut last = null_mut();
    real::bound_elsewhere(own.base.addr(), |name, found| {
        if let Some(object) = object_of(found.addr())
            && name.starts_with("pthread_")
            && object.base != last
        {
            last = object.base;
            // SAFETY: the loader's text.
            notes::add(&now(note::BEFORE), [name.as_bytes(), unsafe { text(object.file) }]);
        }
    });
}
