//! An observer of a run. It receives the threads' waits, and the location of each line.
//!
//! Observing changes nothing in a run. Without an observer, a run pays one test for each change.

use super::accounting::phase::CyclePhase;

/// Location of a line's newest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineHolder {
    /// A core has the line exclusively.
    Core(usize),
    /// Cores have shared copies, or were the last to have them.
    Shared,
    /// The line is on its way, or in no core's cache.
    Elsewhere,
}

/// Receiver of a run's changes, in the order of simulated time. All times are in cycles.
pub trait Observer {
    /// Reports that a thread spends its cycles on `phase` from `time` on; `None` after its end. The
    /// phase may be the same as before. `line` is the line for which the thread waits, if any.
    fn phase(&mut self, time: u64, thread: usize, phase: Option<CyclePhase>, line: Option<usize>);

    /// Reports the location of a line from `time` on.
    fn line(&mut self, time: u64, line: usize, holder: LineHolder);
}
