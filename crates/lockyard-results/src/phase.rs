//! Phases of a native thread that performs a scenario, by which its CPU time is counted.

/// Activity of a thread of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// Between steps: the interpreter, counting, words that belong to no lock.
    Between = 0,
    /// Local work, outside locks.
    Working = 1,
    /// In the call that takes a lock, or takes or drops a reference; with and without a wait.
    Waiting = 2,
    /// Under a lock.
    Holding = 3,
    /// In the call that releases a lock.
    Releasing = 4,
}

impl Phase {
    /// Names of the phases, by number.
    pub const NAMES: &'static [&'static str] =
        &["between", "working", "waiting", "holding", "releasing"];
}
