//! Local work, and what the threads of one core take from each other.
//!
//! Work takes its cycles while no other thread of the core competes, and `smt_slowdown` times as long while one does. A
//! thread competes while it runs: one that waits for a line, sleeps in a waiting loop, pauses or is parked leaves the
//! core to the others. When that changes, what is left of a sibling's work is timed anew.

use super::threads::Activity;
use super::{Engine, Event};

/// Work that is being done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    /// Cycles that are left at `since`, were the thread alone.
    left: f64,
    since: u64,
    /// Another thread of the core competes since then.
    slowed: bool,
    /// Tells the end that counts from ends that were planned before.
    plan: u32,
}

impl Engine {
    /// Begins `cycles` of work.
    pub(super) fn begin_work(&mut self, thread: u32, cycles: u64) {
        let now = self.now();
        if self.alone(thread) {
            self.at(now.saturating_add(cycles), Event::Resume { thread, value: 0 });
            return;
        }
        let plan = self.threads[thread as usize].work_plans;
        let work = Work { left: cycles as f64, since: now, slowed: self.is_slowed(thread), plan };
        self.plan_end(thread, work);
    }

    /// The planned end of a thread's work, if it still counts.
    pub(super) fn end_work(&mut self, thread: u32, plan: u32) {
        if self.threads[thread as usize].work.is_some_and(|work| work.plan == plan) {
            self.threads[thread as usize].work = None;
            self.resume(thread, 0);
        }
    }

    /// The thread is now in another state; its siblings' work goes on at another pace.
    pub(super) fn becomes(&mut self, thread: u32, activity: Activity) {
        let entry = &mut self.threads[thread as usize];
        let competed = entry.activity == Activity::Running;
        entry.activity = activity;
        if competed == (activity == Activity::Running) || self.alone(thread) {
            return;
        }
        let core = self.threads[thread as usize].core as usize;
        for index in 0..self.threads_of_core[core].len() {
            let sibling = self.threads_of_core[core][index];
            if sibling == thread {
                continue;
            }
            let Some(work) = self.threads[sibling as usize].work else { continue };
            let slowed = self.is_slowed(sibling);
            if slowed != work.slowed {
                let now = self.now();
                let done = (now - work.since) as f64 / self.pace(work.slowed);
                let left = (work.left - done).max(0.0);
                let plan = self.threads[sibling as usize].work_plans;
                self.plan_end(sibling, Work { left, since: now, slowed, plan });
            }
        }
    }

    fn plan_end(&mut self, thread: u32, work: Work) {
        let entry = &mut self.threads[thread as usize];
        entry.work_plans = entry.work_plans.wrapping_add(1);
        entry.work = Some(work);
        let length = (work.left * self.pace(work.slowed)).round() as u64;
        let end = work.since.saturating_add(length);
        self.at(end, Event::WorkEnd { thread, plan: work.plan });
    }

    /// Cycles that a cycle of work takes.
    fn pace(&self, slowed: bool) -> f64 {
        if slowed { self.machine.numbers().smt_slowdown } else { 1.0 }
    }

    /// Whether no other thread of the core can make a difference.
    fn alone(&self, thread: u32) -> bool {
        let core = self.threads[thread as usize].core as usize;
        self.threads_of_core[core].len() < 2 || self.machine.numbers().smt_slowdown == 1.0
    }

    fn is_slowed(&self, thread: u32) -> bool {
        let core = self.threads[thread as usize].core as usize;
        self.threads_of_core[core].iter().any(|&other| {
            other != thread && self.threads[other as usize].activity == Activity::Running
        })
    }
}
