//! Shared parts of libraries that take the place of the C library's functions: the search for these
//! functions, and data of the running thread without a call.

#![no_std]
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod next;
mod thread_data;

pub use next::find;
