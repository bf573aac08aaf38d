//! The phase that a thread is in.

use super::phase::CyclePhase;

/// The phase of a thread, with its start and its line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spending {
    /// `None` before a thread begins and after it ends.
    pub phase: Option<CyclePhase>,
    pub since: u64,
    pub line: Option<u32>,
    /// The load that missed, until it is complete.
    pub missed: Option<Missed>,
}

/// A load that missed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missed {
    pub line: u32,
    /// The 64-bit unit of the line.
    pub unit: u32,
}
