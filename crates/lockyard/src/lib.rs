#![doc = "Scalable synchronisation primitives; see the crate's README."]
#![no_std]
#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

pub mod platform;
pub use platform::Native;
