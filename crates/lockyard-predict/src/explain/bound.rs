//! Throughput of a changed program.

/// Throughput with other locks or other critical sections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Operations per second of all threads of one guest.
    pub throughput: f64,
    /// Upper bound: no operation ever waits for another one, or a lock is never free.
    pub at_most: f64,
    /// Gain relative to the present throughput.
    pub gain: f64,
}
