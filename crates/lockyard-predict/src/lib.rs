//! Predictions: cells of scenarios on simulated machines, and why a prediction is what it is.
//!
//! | module | what |
//! | --- | --- |
//! | [`request`] | the cells of a scenario on a machine, as rows |
//! | [`simulate`] | one cell |
//! | [`placement`] | where its tasks run |
//! | [`calibration`], [`local_work`] | what a script's calibration cell gives |
//! | [`detail`] | what a predicted row says beside its figure |
//! | [`explain`] | where the cycles went, and which cost dominates |
//! | [`sensitivity`] | which input moves a prediction most |
//! | [`machine`] | machines: pictures, caches, figures that are no inputs of their files |
//! | [`names`] | finding machines and scenarios, by name or path |

pub mod calibration;
pub mod detail;
pub mod explain;
pub mod failure;
mod interruptible;
pub mod local_work;
pub mod machine;
pub mod names;
pub mod placement;
pub mod request;
pub mod sensitivity;
pub mod simulate;

pub use interruptible::interruptible;
