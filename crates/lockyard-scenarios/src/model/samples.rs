//! Consecutive samples of a run, and disturbances during it.

use super::step::Step;

/// Consecutive samples of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Samples {
    /// Number of samples.
    pub number: usize,
    /// Length of each sample, in seconds.
    pub seconds: f64,
    /// Length of each sample on a simulated machine, in seconds. Figures are also per second there.
    pub simulated_seconds: f64,
}

/// Steps that an additional task performs once, during a run with samples.
///
/// A disturbance only works, pauses, and takes and releases locks. So the state after a run depends
/// only on the operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Disturbance {
    /// Start time, counted in samples from the start of the first sample.
    pub sample: f64,
    /// Steps of the disturbance.
    pub steps: Vec<Step>,
}

/// The tasks whose operations in a sample count towards a figure.
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
    /// All values, with the names that published tables use.
    pub const ALL: [(&'static str, OfTasks); 3] =
        [("min", OfTasks::Least), ("max", OfTasks::Most), ("total", OfTasks::Total)];
}
