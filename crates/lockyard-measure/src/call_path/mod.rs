//! Cost of calling a lock in different ways: an uncontended lock and unlock on one CPU.
//!
//! The costs cannot be simulated, because the model has no instruction fetch and no branch
//! prediction. They are measured on this host or not at all. The lock is one of the library's
//! kinds, chosen once ([`CHOICE`]).
//!
//! | way | instructions executed |
//! | --- | --- |
//! | `inlined` | no call |
//! | `direct` | a direct call of each operation: the reference for the other ways |
//! | `indirect` | a call through a table in memory |
//! | `patched` | a call through a table, overwritten by a direct call at start-up (`page.rs`) |
//! | `nested` | a direct call of a function whose own call was patched, as in kernels with hooks |

#[cfg_attr(not(all(target_arch = "x86_64", unix)), path = "unsupported.rs")]
pub mod page;
mod report;
mod rounds;
mod way;
// A file of the library's examples: the committed listings show the same functions. A
// crate for both would hide them from the listings.
#[path = "../../../lockyard/examples/common/ways.rs"]
pub mod ways;

pub use report::{
    CallPathReport, EXPERIMENT, is_reference, measure_published, rows, without_measurement,
};
pub use rounds::{CallPathEffort, CallPathMetric, Rounds, measure, measure_with};
pub use way::{CHOICE, Way};
