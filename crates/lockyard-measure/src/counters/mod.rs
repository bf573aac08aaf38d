//! The processor's counters: cycles, instructions, references to the last-level cache and its
//! misses, branches and those that were predicted wrongly, of the measuring threads.
//!
//! They are read through a [`Source`]: the operating system's (`system.rs`), or a reading that was
//! recorded (`recorded.rs`), so that what is made of them is tested where there are none. Many
//! virtual machines have none, and then the result says why. Counting has a pass of its own: where
//! counters are shared with others it may disturb.
//!
//! Only what the operating system names portably is counted. Events such as a hit in another core's
//! modified line have another number on each model of processor, and are left to tools that know
//! them (`perf c2c`).

mod counts;
pub mod recorded;
#[cfg(target_os = "linux")]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported.rs"]
mod system;
mod why;

pub use counts::{Count, Counted, Counters, Event, Reading, Source, available};
pub use recorded::Recorded;
pub use system::{System, record};
pub use why::{Surroundings, why};
