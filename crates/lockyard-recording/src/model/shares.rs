//! What the model leaves out, or changes.

/// Shares of what is left out or changed, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// Acquisitions by threads that take few locks.
    pub other_threads: f64,
    /// Acquisitions that share a reader-writer lock with others. They are replayed so.
    pub shared: f64,
    /// Acquisitions that end a wait for a condition.
    pub conditions: f64,
    /// Thread time in waits for other threads that are replayed as such, not as sleep.
    pub met: f64,
    /// Thread time without a CPU because another thread had it.
    pub preempted: f64,
    /// Share of the CPU time that the threads could have used and had.
    pub cpu: f64,
    /// The same of all the program's threads, with those that are left out.
    pub cpu_of_program: f64,
    /// Releases in another order than that of the acquisitions.
    pub unordered: f64,
    /// Acquisitions of nested locks that are replayed as work, because the order would be a circle.
    pub circular: f64,
    /// Visits of a rare kind that are replayed as a frequent one.
    pub merged: f64,
    /// Share of the run's time that is replayed.
    pub replayed: f64,
}
