//! Training: simulation of the tables on which the simulated machine's protocol was fitted.
//!
//! | file | content |
//! | --- | --- |
//! | `programs.rs` | the operations of the benchmarks on shared lines |
//! | `queues.rs` | bounded queues of another benchmark |
//! | `tables.rs` | the cells, with their headers' corrections |
//! | `run.rs` | a cell on its machine, as the benchmarks run it |
//! | `report.rs` | each cell with its simulated figure |
//!
//! No training cell is reported as a prediction. Training and predictions use different tables.

mod programs;
mod queues;
mod report;
mod run;
mod tables;

pub use programs::Program;
pub use queues::{Queue, QueueCell, queue_cells, simulate_queue, simulate_round_trip};
pub use report::{TrainingReport, count, report};
pub use run::{PartTimes, simulate, simulate_for};
pub use tables::{Left, TrainingCell, cells};
