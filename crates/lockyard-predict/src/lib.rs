//! Predictions: cells of scenarios on simulated machines, and explanations of the predicted
//! figures.
//!
//! | module | contents |
//! | --- | --- |
//! | [`request`] | the cells of a scenario on a machine, as rows |
//! | [`simulate`] | one cell |
//! | [`placement`] | places of its tasks |
//! | [`calibration`], [`local_work`] | calibration by a script's calibration cell |
//! | [`detail`] | details of a predicted row beside its figure |
//! | [`explain`] | cycles by phase, lock and line, and the dominating cost |
//! | [`interval`], [`evidence`] | what wrong inputs do to a figure; errors on published tables |
//! | [`sensitivity`] | inputs that move a prediction most |
//! | [`limit`] | upper bound of a recorded program's figures |
//! | [`recorded`] | recorded programs: the gate, and what their predictions assume |
//! | [`growth`] | what grows with threads beyond the replay, from measured rates |
//! | [`trace`] | traces of cells, for viewers |
//! | [`machine`] | machines: pictures, caches, known figures that are not inputs of their files |
//! | [`names`] | finding machines and scenarios, by name or path |

pub mod calibration;
pub mod detail;
pub mod evidence;
pub mod explain;
pub mod failure;
pub mod growth;
mod interruptible;
pub mod interval;
pub mod limit;
pub mod local_work;
pub mod machine;
pub mod names;
pub mod placement;
pub mod recorded;
mod refusal;
pub mod request;
pub mod sensitivity;
pub mod simulate;
pub mod trace;

pub use interruptible::interruptible;
