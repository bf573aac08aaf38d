//! Local work, and what the threads of one core take from each other.
//!
//! Work takes its cycles while no other thread of the core competes, and `smt_slowdown` times as long while one does. A
//! thread competes while it runs: one that waits for a line, sleeps in a waiting loop, pauses or is parked leaves the
//! core to the others. When that changes, what is left of a sibling's work is timed anew.

use super::event::Event;
use super::threads::Activity;
use super::{Engine, Thread};

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

impl Work {
    /// What is left of it at `now`, where a competing sibling makes it take `slowdown` times as long.
    pub(super) fn left_at(self, now: u64, slowdown: f64) -> f64 {
        let pace = if self.slowed { slowdown } else { 1.0 };
        // (Signed numbers are converted faster, and time is none that has their sign.)
        (self.left - (now - self.since) as i64 as f64 / pace).max(0.0)
    }
}

/// The threads of a core.
#[derive(Clone, Debug, Default)]
pub(super) struct CoreThreads {
    pub threads: Vec<u32>,
    /// How many of them are [`Activity::Running`].
    pub running: u32,
    /// How many of them have [`Work`].
    pub working: u32,
    /// How far each of them can run ahead (see `out_of_order.rs`).
    pub reach: u64,
}

impl Thread {
    /// The thread, which has this number, has `left` cycles of work from `now` on: when they will be done.
    #[inline(always)]
    fn plans_end(
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

impl CoreThreads {
    /// Whether another thread than one that does this slows its work down.
    #[inline(always)]
    fn slows(&self, activity: Activity) -> bool {
        self.running > u32::from(activity == Activity::Running)
    }

    /// One of the threads does something else: it competes for the core from now on, or no longer, or as before. Whether the pace of
    /// another one's work may have changed.
    #[inline(always)]
    pub(super) fn competes(&mut self, before: Activity, now: Activity) -> bool {
        let [before, now] = [before, now].map(|activity| u32::from(activity == Activity::Running));
        self.running = self.running + now - before;
        (self.working > 0) & (before != now)
    }
}

impl Engine {
    /// Begins `cycles` of work.
    pub(super) fn begin_work(&mut self, thread: u32, cycles: u64) {
        let now = self.now();
        if self.alone(thread) {
            self.at(now.saturating_add(cycles), Event::Resume { thread, value: 0 });
            return;
        }
        self.works_on(thread, cycles as f64);
    }

    /// Goes on with work of which `left` cycles are left.
    pub(super) fn works_on(&mut self, thread: u32, left: f64) {
        let now = self.now();
        let slowdown = self.machine.numbers().smt_slowdown;
        let entry = &mut self.threads[thread as usize];
        let core = &mut self.cores[entry.core as usize];
        core.working += 1;
        let slowed = core.slows(entry.activity);
        let (end, event) = entry.plans_end(thread, left, now, slowed, slowdown);
        self.at(end, event);
    }

    /// The thread does not go on with its work: it is done, or interrupted.
    #[inline]
    pub(super) fn drops_work(&mut self, thread: u32) -> Option<Work> {
        let entry = &mut self.threads[thread as usize];
        let work = entry.work.take()?;
        self.cores[entry.core as usize].working -= 1;
        Some(work)
    }

    /// The planned end of a thread's work: with what it goes on, if the plan still counts.
    pub(super) fn end_work(&mut self, thread: u32, plan: u32) -> Option<u64> {
        let counts =
            self.threads[thread as usize].work.as_ref().is_some_and(|work| work.plan == plan);
        counts.then(|| {
            self.drops_work(thread);
            0
        })
    }

    /// The thread is now in another state; its siblings' work goes on at another pace.
    pub(super) fn becomes(&mut self, thread: u32, activity: Activity) {
        let entry = &mut self.threads[thread as usize];
        let before = std::mem::replace(&mut entry.activity, activity);
        let core = entry.core;
        if self.cores[core as usize].competes(before, activity) && self.siblings_slow {
            self.pace_siblings(thread, core);
        }
    }

    /// What is left of the work of the thread's siblings is timed anew, if their pace has changed.
    #[inline(never)]
    pub(super) fn pace_siblings(&mut self, thread: u32, core: u16) {
        let now = self.now();
        let slowdown = self.machine.numbers().smt_slowdown;
        let core = &self.cores[core as usize];
        for &sibling in core.threads.iter().filter(|&&sibling| sibling != thread) {
            let entry = &mut self.threads[sibling as usize];
            let Some(work) = entry.work else { continue };
            let slowed = core.slows(entry.activity);
            if slowed != work.slowed {
                let left = work.left_at(now, slowdown);
                let (end, event) = entry.plans_end(sibling, left, now, slowed, slowdown);
                self.wheel.push(end, event.pack());
            }
        }
    }

    /// Whether no other thread can make a difference: one of the core, or one that wants the CPU.
    fn alone(&self, thread: u32) -> bool {
        let core = self.threads[thread as usize].core as usize;
        let siblings = self.siblings_slow && self.cores[core].threads.len() > 1;
        !siblings && self.schedule.is_none()
    }
}

/// `cycles`, which are not negative, rounded to whole ones, a half up. (`f64::round` is a call on processors of the
/// x86-64 baseline.)
pub(super) fn whole(cycles: f64) -> u64 {
    // (Signed numbers are converted faster.)
    let below = cycles as i64;
    if below == i64::MAX {
        return cycles as u64;
    }
    let more = cycles - below as f64 >= 0.5;
    below as u64 + u64::from(more)
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn cycles_are_rounded_as_the_library_rounds() {
        let mut x: u64 = 1;
        for i in 0..100_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let cycles = (x >> 11) as f64 / f64::from(1u32 << (i % 32)) / f64::from(1u32 << 20);
            for cycles in
                [cycles, (cycles * 2.0).floor() / 2.0, cycles.floor() + 0.5f64.next_down()]
            {
                assert_eq!(whole(cycles), cycles.round() as u64, "{cycles}");
            }
        }
        for cycles in [0.0, 0.5f64.next_down(), 0.5, 1e300, f64::INFINITY] {
            assert_eq!(whole(cycles), cycles.round() as u64, "{cycles}");
        }
    }
}
