//! Registration of fork handlers.
//!
//! A program's child handlers may run before this library's handler: handlers that another library
//! registers in its constructor, if that constructor runs first. They would release mutexes to
//! threads of the parent. So this function registers this library's handler before any other.

use crate::fork::{self, Handler};
use crate::start;
use core::ffi::{c_int, c_void};

/// Registers fork handlers. The `pthread_atfork` of programs and libraries calls this function.
///
/// # Safety
///
/// The requirements of POSIX for `pthread_atfork`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __register_atfork(
    prepare: Handler,
    parent: Handler,
    child: Handler,
    library: *mut c_void,
) -> c_int {
    start::state();
    fork::install();
    fork::register(prepare, parent, child, library)
}
