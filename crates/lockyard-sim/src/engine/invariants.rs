//! Invariants of every line at every moment. Debug builds check them where state changes; tests
//! check them at the end of a run.
//!
//! - At most one core has a line modified. Then no other core has the line at all:
//!   [`Engine::check_owner`], at every fill.
//! - An agent knows every core of its domain that shares a line, except while an invalidation is on
//!   its way (no lost sharer): [`Engine::check_sharers`], at every fill and demotion.
//! - Each answer belongs to a miss, and each miss is answered (requests are conserved):
//!   [`Engine::check_answer`] at every fill, [`Engine::check_quiet`] at the end.
//! - A line that a core has is in that core's second-level cache. It is also in the complex's last
//!   level, if that is inclusive. No cache exceeds its capacity once nothing is under way.
//!   [`Engine::check_caches`], at the end.
//! - Time never goes back: the queue of events.
//! - A CPU has one thread at a time, a thread is in one place, and no runnable thread is lost:
//!   [`Engine::check_schedule`], at every switch. With more than 32 threads, at one switch in 64.
//! - A thread that has not finished waits for something that will happen: [`Engine::check_quiet`].
//!   A run without events is reported as stuck.

use super::line::{Miss, State};
use super::state::Engine;

impl Engine {
    /// Checks that no other core has the line of `core_line`, which is about to be modified there.
    pub(super) fn check_owner(&self, core_line: u32) {
        let line = self.core_lines[core_line as usize].line;
        let mut core_lines = self.directory.line(line).known_core_lines();
        let elsewhere = core_lines.any(|other| {
            other != core_line && self.core_lines[other as usize].state != State::Invalid
        });
        debug_assert!(!elsewhere, "a line is modified at one core and valid at another");
    }

    /// Checks that the agents know which cores share the line.
    pub(super) fn check_sharers(&self, line: u32) {
        let entry = self.directory.line(line);
        for cache in entry.known_core_lines().map(|core_line| &self.core_lines[core_line as usize])
        {
            // If a core has requested a higher permission, the agent already records the new one.
            if cache.state == State::Invalid || cache.invalidations > 0 || cache.miss != Miss::None
            {
                continue;
            }
            let core = cache.core;
            let agent = self.directory.agent(line, self.domain_of(core));
            let known = agent.is_shared_by(self.places.bit(core));
            match cache.state {
                State::Shared => debug_assert!(known, "an agent has lost a sharer"),
                // The agent may already record the next owner, while the snoop is on its way.
                State::Modified => debug_assert!(
                    known || agent.owner() == Some(core) || agent.is_busy(),
                    "an agent has lost an owner"
                ),
                State::Invalid => {}
            }
        }
    }

    /// Checks that arriving data was requested.
    pub(super) fn check_answer(&self, core_line: u32) {
        let cache = &self.core_lines[core_line as usize];
        debug_assert!(cache.miss != Miss::None, "an answer to no request");
    }

    /// Checks every CPU and thread. Called at every switch.
    pub(super) fn check_schedule(&self) {
        if let Some(schedule) = &self.schedule {
            schedule.check(|thread| self.threads[thread as usize].work.is_some());
        }
    }

    /// Checks that no request and no line is left half-way. Called after a run, when no event is
    /// left.
    ///
    /// # Errors
    ///
    /// A description of what is left.
    pub(crate) fn check_quiet(&self) -> Result<(), String> {
        if !self.is_idle() {
            return Err("events are left".to_owned());
        }
        for number in 0..self.directory.lines() {
            let line = self.directory.line(number);
            let wrong = |what: &str| Err(format!("line {number}: {what}"));
            if !line.is_idle() {
                return wrong("the home agent has not finished");
            }
            for agent in self.directory.agents(number) {
                if !agent.is_idle() {
                    return wrong("an agent has a request that was not answered");
                }
            }
            let core_lines =
                || line.known_core_lines().map(|core_line| &self.core_lines[core_line as usize]);
            let owners = core_lines().filter(|cache| cache.state == State::Modified).count();
            let sharers = core_lines().filter(|cache| cache.state == State::Shared).count();
            if owners > 1 || (owners == 1 && sharers > 0) {
                return wrong("it has an owner, and another core has it too");
            }
            for cache in core_lines() {
                if cache.miss != Miss::None || !cache.waiters.is_empty() {
                    return wrong("a core waits for it");
                }
                if cache.parked_snoop.is_some() || cache.invalidations > 0 {
                    return wrong("a core has not answered");
                }
                let core = cache.core;
                let agent = self.directory.agent(number, self.domain_of(core));
                let known = agent.is_shared_by(self.places.bit(core));
                let owned = agent.owner() == Some(core);
                if (cache.state == State::Shared && !known)
                    || (cache.state == State::Modified && !owned)
                {
                    return wrong("its agent does not know which core has it");
                }
            }
        }
        self.check_caches()
    }
}
