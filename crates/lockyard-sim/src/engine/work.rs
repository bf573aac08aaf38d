//! Local work, and the slowdown from SMT siblings.
//!
//! Work takes its cycles while no other thread of the core competes, and `smt_slowdown` times as
//! long while one does. A thread competes while it runs. A thread that waits for a line, sleeps in
//! a waiting loop, pauses or is parked leaves the core to its siblings. When this changes, the rest
//! of each sibling's work is timed anew.

use super::activity::Activity;
use super::core_threads::Work;
use super::cycles::whole;
use super::event::Event;
use super::state::Engine;
use super::thread::Thread;

impl Thread {
    /// Plans the end of `left` cycles of this thread's work, which start `now`. Returns the time of
    /// the end, and the event for it.
    #[inline(always)]
    fn plan_end(
        &mut self,
        thread: u32,
        left: f64,
        now: u64,
        slowed: bool,
        slowdown: f64,
    ) -> (u64, Event) {
        let plan = self.work_plans;
        self.work_plans = plan.wrapping_add(1);
        self.work = Some(Work { left, since: now, slowed, plan });
        let length = whole(left * if slowed { slowdown } else { 1.0 });
        (now.saturating_add(length), Event::WorkEnd { thread, plan })
    }
}

impl Engine {
    /// Begins `cycles` of work.
    pub(super) fn begin_work(&mut self, thread: u32, cycles: u64) {
        let now = self.now();
        if self.is_alone(thread) {
            self.at(now.saturating_add(cycles), Event::Resume { thread, value: 0 });
            return;
        }
        self.continue_work(thread, cycles as f64);
    }

    /// Continues work that has `left` cycles left.
    pub(super) fn continue_work(&mut self, thread: u32, left: f64) {
        let now = self.now();
        let slowdown = self.machine.numbers().smt_slowdown;
        let entry = &mut self.threads[thread as usize];
        let core = &mut self.cores[entry.core as usize];
        core.working += 1;
        let slowed = core.is_slowed(entry.activity);
        let (end, event) = entry.plan_end(thread, left, now, slowed, slowdown);
        self.at(end, event);
    }

    /// Takes away the thread's work, because it is done or interrupted.
    #[inline]
    pub(super) fn drop_work(&mut self, thread: u32) -> Option<Work> {
        let entry = &mut self.threads[thread as usize];
        let work = entry.work.take()?;
        self.cores[entry.core as usize].working -= 1;
        Some(work)
    }

    /// Handles the planned end of a thread's work. If the plan is still valid, returns the value
    /// with which the thread resumes.
    pub(super) fn end_work(&mut self, thread: u32, plan: u32) -> Option<u64> {
        let counts =
            self.threads[thread as usize].work.as_ref().is_some_and(|work| work.plan == plan);
        counts.then(|| {
            self.drop_work(thread);
            0
        })
    }

    /// Changes the thread's activity, which may change the speed of its siblings' work.
    pub(super) fn set_activity(&mut self, thread: u32, activity: Activity) {
        let entry = &mut self.threads[thread as usize];
        let before = std::mem::replace(&mut entry.activity, activity);
        let core = entry.core;
        if self.cores[core as usize].update_running(before, activity) && self.siblings_slow {
            self.pace_siblings(thread, core);
        }
    }

    /// Times the rest of the siblings' work anew, if their speed has changed.
    #[inline(never)]
    pub(super) fn pace_siblings(&mut self, thread: u32, core: u16) {
        let now = self.now();
        let slowdown = self.machine.numbers().smt_slowdown;
        let core = &self.cores[core as usize];
        for &sibling in core.threads.iter().filter(|&&sibling| sibling != thread) {
            let entry = &mut self.threads[sibling as usize];
            let Some(work) = entry.work else { continue };
            let slowed = core.is_slowed(entry.activity);
            if slowed != work.slowed {
                let left = work.left_at(now, slowdown);
                let (end, event) = entry.plan_end(sibling, left, now, slowed, slowdown);
                self.wheel.push(end, event.pack());
            }
        }
    }

    /// Returns `true` if no other thread can affect this one: no sibling slows it, and no other
    /// thread can take its CPU.
    fn is_alone(&self, thread: u32) -> bool {
        let core = self.threads[thread as usize].core as usize;
        let siblings = self.siblings_slow && self.cores[core].threads.len() > 1;
        !siblings && self.schedule.is_none()
    }
}
