//! The library preloaded into programs.
#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod as_glibc;
mod conformance;
mod programs;
mod support;
