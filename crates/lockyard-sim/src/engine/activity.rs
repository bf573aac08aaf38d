//! Activity of a thread, as seen by the threads that share its core.

/// Activity of a thread, for its siblings and for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    Running,
    /// The thread leaves the core to its siblings. It waits for a line or its store buffer, sleeps
    /// in a waiting loop, is parked, or pauses.
    Yielding,
    /// The thread's code has returned, and stores are still in its buffer.
    Draining,
    Finished,
}
