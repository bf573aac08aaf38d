//! Where CPU time goes, by phase: threads say what they are doing, and a sampler looks, and weighs
//! what it sees with the CPU time that passed.
//!
//! A thread stores the number of its phase in a line of its own ([`enter`]): a store to memory that
//! nobody else writes, with no clock. One more thread wakes up at random intervals, reads each
//! thread's CPU-time clock, and gives what passed since it last looked to the phases that it found
//! ([`Sampler`]). A thread that was not running has used no CPU time, so what it was doing then has
//! no weight: shares are of CPU time and not of time, on a loaded host too.
//!
//! | file | what |
//! | --- | --- |
//! | `line` | saying what a thread does |
//! | `sampler` | looking |
//! | `tally` | what was seen, and how sure that is |
//! | `stage` | the phases of scenarios |
//! | `accounted` | the regions that the library and scripts name, beside them |

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
