//! Hardware performance counters of the measuring threads: cycles, instructions, references to the
//! last-level cache and its misses, branches and branch mispredictions.
//!
//! Counters are read through a [`Source`]: the operating system (`system.rs`) or a recording
//! (`recorded.rs`). With a recording, the evaluation can be tested on hosts without counters. Many
//! virtual machines have none; the result then says why.
//!
//! Counting has its own pass, because it may disturb the run if other programs use the counters
//! too.
//!
//! Only events with a portable name in the operating system are counted. Other events, such as a
//! hit in another core's modified line, have a different number on each processor model. They are
//! left to tools that know these numbers (`perf c2c`).

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
