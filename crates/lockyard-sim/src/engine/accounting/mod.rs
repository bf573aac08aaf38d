//! Accounting: the counts of a run, and the spending of its cycles.
//!
//! | file | contents |
//! | --- | --- |
//! | `ledger.rs` | the ledger: everything that is counted, with private fields |
//! | `phase.rs`, `distance.rs` | what cycles are spent on; how far a line was handed over |
//! | `spending.rs`, `phases.rs` | the phase that a thread is in; its changes |
//! | `regions.rs` | cycles by region of the threads' code, and by phase |
//! | `attribution.rs` | the sums of a run, and of each line |
//! | `line_trace.rs` | what is remembered of a line to count its moves |
//! | `reads.rs` | the same for a line that was only read, a few times |
//! | `failure_streaks.rs` | compare-exchanges of a line that a thread loses in a row |
//! | `statistics.rs` | counts over all lines and threads |

pub(crate) mod attribution;
pub(crate) mod distance;
pub(crate) mod failure_streaks;
pub(crate) mod ledger;
mod line_trace;
pub(crate) mod phase;
mod phases;
mod reads;
pub(crate) mod regions;
pub(crate) mod spending;
pub(crate) mod statistics;
