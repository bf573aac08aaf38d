//! Processor counters of the measuring threads: cycles, instructions, references to the last-level
//! cache and its misses, branches and branch mispredictions.
//!
//! They are read through a [`Source`]: the operating system's (`system.rs`), or a recording
//! (`recorded.rs`). With a recording, the evaluation is tested on hosts that have no counters. Many
//! virtual machines have none, and then the result says why. Counting has its own pass, because it
//! may disturb where counters are shared with others.
//!
//! Only events that the operating system names portably are counted. Others, such as a hit in
//! another core's modified line, have a different number on each processor model. They are left to
//! tools that know them (`perf c2c`).

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
