//! Registration of handlers of a fork.
//!
//! The handlers of a program in the child may come before this library's: those of a library that
//! registers them in its constructor, which runs before this library's. They would release mutexes
//! to threads of the parent. So this function registers this library's handler before any other.

use crate::fork::{self, Handler};
use crate::start;
use core::ffi::{c_int, c_void};

/// Registers handlers of a fork: `pthread_atfork` of programs and libraries calls this function.
///
/// # Safety
///
/// As POSIX has it, of `pthread_atfork`.
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
