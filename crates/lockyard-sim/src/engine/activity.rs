//! Activity of a thread, as the threads that share its core see it.

/// Activity of a thread, for its siblings and for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    Running,
    /// The core belongs to its siblings. The thread waits for a line or for its store buffer,
    /// sleeps in a waiting loop, is parked, or pauses.
    Yielding,
    /// Its code has returned, and stores are still in its buffer.
    Draining,
    Finished,
}
