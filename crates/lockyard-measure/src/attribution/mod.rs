//! Attributes CPU time to phases. Threads record their phase; a sampler reads it and weights each
//! sample by the CPU time that passed.
//!
//! A thread stores the number of its phase in its own line ([`enter`]). That is a store to memory
//! that no other thread writes, without a clock. A further thread wakes at random intervals
//! ([`Sampler`]). It reads each thread's CPU-time clock and assigns the time since its last look to
//! the phases that it found. A thread that was not running has used no CPU time, and its phase then
//! has no weight. Shares are therefore of CPU time and not of elapsed time, on a loaded host too.
//!
//! | file | what |
//! | --- | --- |
//! | `line` | recording a thread's activity |
//! | `sampler` | sampling the threads |
//! | `tally` | the samples, and their uncertainty |
//! | `stage` | the phases of scenarios |
//! | `accounted` | the phases, with the regions that the library and scripts name |

mod accounted;
mod line;
mod sampler;
mod stage;
mod tally;

pub use accounted::{Accounted, by_activity, by_phase, numbers};
pub use line::{Registered, Watched, enter};
pub use sampler::{INTERVAL, Sampler};
pub use stage::OnHostAttributed;
pub use tally::{Attribution, Tally, listing};
