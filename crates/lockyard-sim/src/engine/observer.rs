//! An observer of a run: it is told what threads wait for, and which core has each line.
//!
//! Observing changes nothing in a run. A run without an observer pays one test for each change.

use super::accounting::phase::CyclePhase;

/// Place of a line's newest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineHolder {
    /// A core has the line exclusively.
    Core(usize),
    /// Cores have shared copies, or had them last.
    Shared,
    /// The line is on its way, or in no core's cache.
    Elsewhere,
}

/// Receiver of a run's changes, in the order of simulated time. All times are in cycles.
pub trait Observer {
    /// Notes that a thread spends its cycles on `phase` from `time` on; `None` after its end. The
    /// phase may be the one before. `line` is the line that the thread waits for, if it waits for
    /// one.
    fn phase(&mut self, time: u64, thread: usize, phase: Option<CyclePhase>, line: Option<usize>);

    /// Notes the place of a line from `time` on.
    fn line(&mut self, time: u64, line: usize, holder: LineHolder);
}
