//! Consecutive samples of a run, and disturbances during it.

use super::step::Step;

/// Consecutive samples of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Samples {
    /// Number of samples.
    pub number: usize,
    /// Length of each sample, in seconds.
    pub seconds: f64,
    /// Length of each sample on a simulated machine, in seconds. Figures are per second there too.
    pub simulated_seconds: f64,
}

/// Steps that another task does once, during a run with samples.
///
/// A disturbance only works, pauses, and takes and releases locks. The state after a run therefore
/// depends on the operations alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Disturbance {
    /// The time at which it begins, counted in samples from the beginning of the first one.
    pub sample: f64,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// The tasks whose operations in a sample count for a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfTasks {
    /// The task with the fewest operations.
    Least,
    /// The task with the most operations.
    Most,
    /// All tasks together.
    Total,
}

impl OfTasks {
    /// All choices of tasks, with the names that published tables use.
    pub const ALL: [(&'static str, OfTasks); 3] =
        [("min", OfTasks::Least), ("max", OfTasks::Most), ("total", OfTasks::Total)];
}
