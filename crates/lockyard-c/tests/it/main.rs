//! The library as C, C++ and Python use it.
#![cfg(target_os = "linux")]

mod compilers;
mod header;
mod installing;
mod misuse;
mod programs;
mod sanitizers;
mod support;
