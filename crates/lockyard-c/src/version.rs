//! The library that runs: its version, and its kind.

use core::ffi::{CStr, c_char};

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version has no zero byte"),
    };

/// Returns the version of the library that runs, such as "0.1.0". Never fails.
#[unsafe(no_mangle)]
pub extern "C" fn ly_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Returns true if the library is a debug build, which ends the program with a message when it
/// detects misuse. Never fails.
#[unsafe(no_mangle)]
pub extern "C" fn ly_is_checked() -> bool {
    cfg!(debug_assertions)
}
