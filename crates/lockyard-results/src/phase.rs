//! Phases of a native thread that runs a scenario. CPU time is attributed to them.

/// Phase of a thread that runs a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// Between steps: the interpreter, counting, and accesses to words outside any lock.
    Between = 0,
    /// Local work, outside locks.
    Working = 1,
    /// In a call that takes a lock, or takes or drops a reference, whether or not it has to wait.
    Waiting = 2,
    /// In a critical section.
    Holding = 3,
    /// In a call that releases a lock.
    Releasing = 4,
}

impl Phase {
    /// Names of the phases, indexed by phase number.
    pub const NAMES: &'static [&'static str] =
        &["between", "working", "waiting", "holding", "releasing"];
}
