//! Attribution of CPU time to phases. Threads record their phase. A sampler reads it, and weights
//! each sample by the CPU time that has passed.
//!
//! A thread stores its phase number in its own line ([`enter`]). The store needs no clock, and no
//! other thread writes that line.
//!
//! A separate sampling thread wakes at random intervals ([`Sampler`]). It reads each thread's
//! CPU-time clock, and attributes the time since its last look to the phases that it found. A
//! thread that did not run has used no CPU time, so its phase gets no weight. The shares are
//! therefore shares of CPU time, not of elapsed time, even on a loaded host.
//!
//! | file | content |
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
