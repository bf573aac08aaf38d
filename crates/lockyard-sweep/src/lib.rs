//! Sweeps: many cells of scenarios on simulated machines, one file for each.
//!
//! A cell is a pure function: a scenario, a machine, a number of threads, a seed and changed
//! parameters give a row. It takes seconds, is deterministic and shares no state. So anything can
//! run cells: one process, shards on many machines, or tasks of another program. This crate has no
//! scheduler. It has the plan that numbers the cells, the function that runs one, and the files
//! that hold the rows.
//!
//! | module | contents |
//! | --- | --- |
//! | [`plan`] | the cells of a plan, by number |
//! | [`read`] | a plan file, and all files that it names |
//! | [`cell`] | one cell: its inputs, and its id |
//! | [`run`] | the row of a cell |
//! | [`store`] | a directory of rows |
//! | [`sweep`] | the cells of a shard, in one process |
//! | [`merge`] | the rows of a directory as one file |
//! | [`change`] | changed numbers of scenarios and machines |
//! | [`version`] | the version of the program that computes rows |

pub mod cell;
pub mod change;
mod files;
pub mod merge;
pub mod plan;
pub mod read;
pub mod run;
mod source;
pub mod store;
pub mod sweep;
mod values;
pub mod version;

pub use files::Bundle;
pub use version::SCHEMA;
