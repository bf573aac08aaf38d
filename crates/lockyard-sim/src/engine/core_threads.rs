//! The threads of one core, and each thread's current work.

use super::activity::Activity;

/// Work in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// Cycles of work left at `since`, at the pace of a thread that does not share its core.
    pub left: f64,
    pub since: u64,
    /// `true` if another thread of the core has competed since then.
    pub slowed: bool,
    /// Number of the planned end that is valid. Earlier planned ends are ignored.
    pub plan: u32,
}

impl Work {
    /// Cycles of work left at `now`. A competing sibling makes work take `slowdown` times as long.
    pub(super) fn left_at(self, now: u64, slowdown: f64) -> f64 {
        let pace = if self.slowed { slowdown } else { 1.0 };
        // (Signed numbers are converted faster, and no time reaches their sign bit.)
        (self.left - (now - self.since) as i64 as f64 / pace).max(0.0)
    }
}

/// The threads of a core.
#[derive(Clone, Debug, Default)]
pub(super) struct CoreThreads {
    pub threads: Vec<u32>,
    /// Number of threads that are [`Activity::Running`].
    pub running: u32,
    /// Number of threads that have [`Work`].
    pub working: u32,
    /// Cycles of work that each thread can run ahead (see `out_of_order.rs`).
    pub reach: u64,
}

impl CoreThreads {
    /// Returns `true` if another thread slows down the work of a thread with this activity.
    #[inline(always)]
    pub(super) fn is_slowed(&self, activity: Activity) -> bool {
        self.running > u32::from(activity == Activity::Running)
    }

    /// Counts a change of one thread's activity: the thread may start or stop competing for the
    /// core. Returns `true` if the pace of another thread's work may have changed.
    #[inline(always)]
    pub(super) fn update_running(&mut self, before: Activity, now: Activity) -> bool {
        let [before, now] = [before, now].map(|activity| u32::from(activity == Activity::Running));
        self.running = self.running + now - before;
        (self.working > 0) & (before != now)
    }
}
