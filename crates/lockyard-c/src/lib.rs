//! The C interface of lockyard: `liblockyard.so`, `liblockyard.a` and `lockyard.h`.
//!
//! Each function takes a pointer to a C object, checks it in debug builds, and calls the library.
//! The header is made from the comments here: see `tests/it/header.rs`. A section *Safety* becomes
//! its sentence "Requires".
//!
//! | file | contents |
//! | --- | --- |
//! | `in_c.rs` | objects of C as objects of Rust; what debug builds check |
//! | `simple.rs` | the operations of a lock without a token, for each such lock |
//! | `value.rs` | pointers of C as values of tables |
//! | `hook.rs` | what the header tells the thread sanitizer |
//! | the others | a type of C each |
//!
//! No panic leaves a function: a panic in an `extern "C"` function ends the program.
// The names follow C's conventions.
#![allow(non_camel_case_types)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the layouts of lockyard.h are those of 64-bit systems");

mod abi;
pub mod bufs;
pub mod cond;
pub mod conns;
pub mod hook;
pub mod ids;
mod in_c;
pub mod lockref;
pub mod mutex;
pub mod pageref;
pub mod pvqspin;
pub mod pvticket;
pub mod qspin;
pub mod reclaim;
mod simple;
pub mod stats;
pub mod tas;
pub mod ticket;
pub mod value;
pub mod version;
