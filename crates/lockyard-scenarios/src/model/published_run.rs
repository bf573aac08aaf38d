//! Facts about the published run that are not in its table.

/// Length of the published run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// The run ended after this many operations of all tasks together.
    Operations(f64),
    /// The run ended after this amount of the metric's unit, for example jobs or records.
    Amount(f64),
    /// The run lasted this many seconds.
    Seconds(f64),
}

impl Length {
    /// Returns the duration in seconds at `throughput` operations per second. `per_operation` is
    /// the amount of the metric's unit per operation.
    pub fn seconds(self, throughput: f64, per_operation: f64) -> f64 {
        match self {
            Length::Operations(operations) => operations / throughput,
            Length::Amount(amount) => amount / (throughput * per_operation),
            Length::Seconds(seconds) => seconds,
        }
    }
}

/// Facts about the published run that are not in its table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishedRun {
    /// Number of tasks. Overrides the number of threads in the table.
    pub tasks: Option<usize>,
    /// Number of tasks for cells of the table that have no number of threads.
    pub tasks_unsaid: Option<usize>,
    /// Length of the run.
    pub length: Option<Length>,
    /// Length in seconds of the time over which the metric is a mean. A long run contains rare
    /// events.
    pub mean_over: Option<f64>,
    /// `true` if all tasks did the same number of operations, and each was timed until it finished.
    pub until_each_is_done: bool,
    /// `true` if CPU times are for one task, `false` if they are for all tasks together.
    pub times_of_one_task: bool,
    /// Machines for which the table divides the wall-clock time of an operation by the number of
    /// tasks.
    pub time_divided_on: Vec<String>,
}
