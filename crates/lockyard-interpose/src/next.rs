//! The search for the function that a program would call without this library.
//!
//! A program's reference names a function, and mostly a version of it. The loader takes the first
//! object that defines the name: in this version, or in none. So another library that replaces a
//! function is found here too, whichever version it replaces. Functions of one family, such as the
//! functions of mutexes and of conditions, then come from the same library, as they would without
//! this library.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;

unsafe extern "C" {
    fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    fn dladdr(address: usize, found: *mut Found) -> c_int;
}

/// Facts of the loader about an address (`Dl_info`).
#[repr(C)]
struct Found {
    file: *const c_char,
    base: *mut c_void,
    name: *const c_char,
    symbol: *mut c_void,
}

/// Object with an address.
#[derive(Clone, Copy)]
pub struct Object {
    /// Path of its file; ends with a zero, and stays while the object is loaded.
    pub file: *const c_char,
    /// Its beginning in memory.
    pub base: *mut c_void,
}

/// Returns the object that contains an address, if the loader knows one.
#[must_use]
pub fn object_of(address: usize) -> Option<Object> {
    let mut found =
        Found { file: null_mut(), base: null_mut(), name: null_mut(), symbol: null_mut() };
    // SAFETY: the call writes to a live structure, and does not read at the address.
    let known = unsafe { dladdr(address, &raw mut found) } != 0;
    known.then_some(Object { file: found.file, base: found.base })
}

/// Handle of the objects after this library in the order of search.
const NEXT: *mut c_void = core::ptr::without_provenance_mut(usize::MAX);

/// Handle of all objects.
const ALL: *mut c_void = null_mut();

/// Longest name of a function, with its zero.
const LONGEST: usize = 40;

/// Returns a name, ended by a zero. A name that is too long finds nothing.
fn ended(name: &str) -> [u8; LONGEST] {
    let mut text = [0u8; LONGEST];
    // The last byte stays zero.
    if let Some(room) = text.get_mut(..name.len()).filter(|room| room.len() < LONGEST) {
        room.copy_from_slice(name.as_bytes());
    }
    text
}

fn versioned(name: &[u8; LONGEST], version: &CStr) -> *mut c_void {
    // SAFETY: both texts end with a zero.
    unsafe { dlvsym(NEXT, name.as_ptr().cast(), version.as_ptr()) }
}

/// The search of the C library. A library that takes its place too must not find itself.
type Search = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

/// Returns `dlsym` of the objects after this library.
fn search() -> Option<Search> {
    let name = ended("dlsym");
    let [first, second] = [c"GLIBC_2.34", FIRST_VERSION].map(|version| versioned(&name, version));
    let found = if first.is_null() { second } else { first };
    // SAFETY: the function of this name has this type.
    (!found.is_null()).then(|| unsafe { core::mem::transmute::<*mut c_void, Search>(found) })
}

/// Oldest version of the C library's functions.
#[cfg(target_arch = "x86_64")]
const FIRST_VERSION: &CStr = c"GLIBC_2.2.5";
#[cfg(not(target_arch = "x86_64"))]
const FIRST_VERSION: &CStr = c"GLIBC_2.17";

fn unversioned(handle: *mut c_void, name: &[u8; LONGEST]) -> *mut c_void {
    // SAFETY: the name ends with a zero.
    search().map_or(null_mut(), |search| unsafe { search(handle, name.as_ptr().cast()) })
}

/// Returns the address of the function that a reference to this version, or to none, would find
/// without this library; null if there is none.
#[must_use]
pub fn find(name: &str, version: Option<&CStr>) -> *mut c_void {
    let name = ended(name);
    let first = unversioned(NEXT, &name);
    let Some(version) = version else { return first };
    let exact = versioned(&name, version);
    if exact.is_null() || first.is_null() {
        return if exact.is_null() { first } else { exact };
    }
    // Where the first object with the name has the version too, the version decides: a search
    // without one may return the oldest. Another object comes before that one, and is what the
    // program's reference finds.
    match (object_of(first.addr()), object_of(exact.addr())) {
        (Some(one), Some(other)) if one.base != other.base => first,
        _ => exact,
    }
}

/// Returns the address that a reference without a version finds among all objects; null if there
/// is none.
#[must_use]
pub fn bound(name: &str) -> *mut c_void {
    unversioned(ALL, &ended(name))
}
