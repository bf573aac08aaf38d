//! The search for a function behind this library in the loader's order.

use core::ffi::{CStr, c_char, c_void};
use core::ptr::null_mut;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
}

/// Handle of the objects after this library in the order of search.
const NEXT: *mut c_void = core::ptr::without_provenance_mut(usize::MAX);

/// Returns the address of a function of an object that is loaded after this library, or null. A
/// function of another version is the second choice.
#[must_use]
pub fn find(name: &str, version: Option<&CStr>) -> *mut c_void {
    let mut text = [0u8; 40];
    // The last byte stays zero.
    let Some(room) = text.get_mut(..name.len()).filter(|room| room.len() < 40) else {
        return null_mut();
    };
    room.copy_from_slice(name.as_bytes());
    let name = text.as_ptr().cast();
    // SAFETY: both texts end with a zero.
    unsafe {
        match version {
            Some(version) => {
                let found = dlvsym(NEXT, name, version.as_ptr());
                if found.is_null() { dlsym(NEXT, name) } else { found }
            }
            None => dlsym(NEXT, name),
        }
    }
}
