//! Shared parts of libraries that take the place of the C library's functions: the search for these
//! functions, data of the running thread without a call, and system calls by instruction.

#![no_std]
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod next;
mod system_call;
mod thread_data;

pub use next::{Object, bound, find, object_of};
pub use system_call::call;
