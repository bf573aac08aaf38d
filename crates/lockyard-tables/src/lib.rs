#![doc = include_str!("../README.md")]
#![no_std]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod buffers;
pub mod connections;
pub mod handle_table;
pub mod id_table;
mod memory;
pub mod on;
mod seed;
pub mod statistics;
#[cfg(feature = "std")]
mod with_slots;

pub use handle_table::Handle;
pub use memory::AllocationFailed;
pub use statistics::Counts;
#[cfg(feature = "std")]
pub use with_slots::*;
