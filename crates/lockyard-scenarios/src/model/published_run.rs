//! Facts about the published run that its table does not have.

/// Length of the published run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// Until all tasks together had done this many operations.
    Operations(f64),
    /// Until they had done this amount of the metric's unit: jobs, for example, or records.
    Amount(f64),
    /// This many seconds.
    Seconds(f64),
}

impl Length {
    /// Duration in seconds at `throughput` operations a second. One operation is `per_operation` of
    /// the metric's unit.
    pub fn seconds(self, throughput: f64, per_operation: f64) -> f64 {
        match self {
            Length::Operations(operations) => operations / throughput,
            Length::Amount(amount) => amount / (throughput * per_operation),
            Length::Seconds(seconds) => seconds,
        }
    }
}

/// Facts about the published run that its table does not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PublishedRun {
    /// Number of tasks, whatever number of threads the table has, if any.
    pub tasks: Option<usize>,
    /// Number of tasks for the cells for which the table has no number.
    pub tasks_unsaid: Option<usize>,
    /// Length of the run.
    pub length: Option<Length>,
    /// Seconds over which the metric is a mean. Rare events happen in a long run.
    pub mean_over: Option<f64>,
    /// True if all tasks had the same number of operations, and each was timed until it was done.
    pub until_each_is_done: bool,
    /// True if the CPU times are of one task, false if they are of all.
    pub times_of_one_task: bool,
    /// The machines whose tables divide the wall-clock time of an operation by the number of tasks.
    pub time_divided_on: Vec<String>,
}
