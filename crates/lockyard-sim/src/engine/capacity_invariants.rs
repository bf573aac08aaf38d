//! Invariants of the caches: they agree with the state of the lines, and none exceeds its capacity.

use super::line::{NOWHERE, State};
use super::state::Engine;

impl Engine {
    /// Checks that the caches and the lines agree on which core has which line, and that no cache
    /// exceeds its capacity.
    ///
    /// # Errors
    ///
    /// A description of what is wrong.
    pub(super) fn check_caches(&self) -> Result<(), String> {
        for (level, caches) in [(1, &self.capacity.first), (2, &self.capacity.second)] {
            for (core, cache) in caches.iter().enumerate() {
                if cache.lines.len() > cache.room {
                    return Err(format!("core {core}: level {level} has more than it holds"));
                }
                for (place, &core_line) in cache.lines.iter().enumerate() {
                    let entry = &self.core_lines[core_line as usize];
                    let said = if level == 1 { entry.first } else { entry.second };
                    let is_there = said == place as u32 && entry.second != NOWHERE;
                    if !is_there || entry.core as usize != core {
                        let line = entry.line;
                        return Err(format!("core {core}: level {level} has lost line {line}"));
                    }
                }
            }
        }
        for (domain, last) in self.capacity.last.iter().enumerate() {
            let lines = &last.cache.lines;
            if lines.len() as u64 + last.cached > last.cache.room as u64 {
                return Err(format!("complex {domain}: the last level has more than it holds"));
            }
            let lost = |(place, &line): (usize, &u32)| {
                self.directory.agent(line, domain as u16).place() != place as u32
            };
            if lines.iter().enumerate().any(lost) {
                return Err(format!("complex {domain}: the last level has lost a line"));
            }
        }
        for number in 0..self.directory.lines() {
            let core_lines = self.directory.line(number).known_core_lines();
            for cache in core_lines.map(|core_line| &self.core_lines[core_line as usize]) {
                let core = cache.core;
                let domain = self.domain_of(core);
                if cache.state != State::Invalid && cache.second == NOWHERE {
                    return Err(format!("line {number}: core {core} has it in no cache"));
                }
                let agent = self.directory.agent(number, domain);
                let is_owner = agent.owner() == Some(core);
                let shares = agent.is_shared_by(self.places.bit(core));
                if is_owner != (cache.state == State::Modified)
                    || shares != (cache.state == State::Shared)
                {
                    return Err(format!(
                        "line {number}: what core {core} has is not what its agent notes"
                    ));
                }
                let held = !self.capacity.inclusive || agent.place() != NOWHERE;
                if cache.second != NOWHERE && !held {
                    return Err(format!("line {number}: core {core} has what its complex lacks"));
                }
            }
        }
        Ok(())
    }
}
