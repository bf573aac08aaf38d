//! Events in the course of a run: consecutive samples, and tasks that do something else once.

use super::step::Step;

/// Consecutive samples of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Samples {
    /// Number of samples.
    pub number: usize,
    /// Length of each, in seconds.
    pub seconds: f64,
    /// Length of each on a simulated machine. Figures are per second all the same.
    pub simulated_seconds: f64,
}

/// Steps that another task does once, in the course of a run that has samples.
///
/// A disturbance leaves nothing behind: it works, pauses, and takes and releases locks. What holds
/// after a run therefore follows from the operations alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Disturbance {
    /// The time at which it begins, in samples after the beginning of the first one.
    pub sample: f64,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// The tasks whose operations in a sample are a figure.
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
    /// All, with the names that tables use.
    pub const ALL: [(&'static str, OfTasks); 3] =
        [("min", OfTasks::Least), ("max", OfTasks::Most), ("total", OfTasks::Total)];
}
