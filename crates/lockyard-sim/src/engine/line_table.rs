//! Finding the state of a line, and of a core's copy of it. Both are created at first use.

use super::line::{CoreLine, NO_CORE_LINE};
use super::state::Engine;

impl Engine {
    /// Number of a core's copy of a line, created at first use.
    #[inline(always)]
    pub(super) fn core_line(&mut self, line: u32, core: u16) -> u32 {
        match self.directory.line(line).core_line(core) {
            Some(core_line) => core_line,
            None => self.new_core_line(line, core),
        }
    }

    #[cold]
    fn new_core_line(&mut self, line: u32, core: u16) -> u32 {
        let core_line = self.core_lines.len() as u32;
        assert!(core_line != NO_CORE_LINE, "no host has memory for this many");
        self.core_lines.push(CoreLine::new(line, core));
        self.directory.line_mut(line).set_core_line(core, core_line);
        core_line
    }

    /// A core's copy of the line of `address`, if the core has used it before. Only then can the
    /// line cost more than its miss.
    pub(super) fn core_line_if_used(&self, address: usize, core: u16) -> Option<u32> {
        let line = self.places.line(address - self.arena.base());
        self.directory.find(line).and_then(|line| self.directory.line(line).core_line(core))
    }

    /// Index of a line's state, created at first use.
    pub(super) fn line_index(&mut self, address: usize) -> u32 {
        let line = self.places.line(address - self.arena.base());
        match self.directory.find(line) {
            Some(index) => index,
            None => self.new_line(line),
        }
    }

    /// Number of compare-exchanges of the line at `address` that succeeded after 0, 1, ... failures
    /// in a row. Empty if the line was not used.
    pub(crate) fn failure_streaks(&self, address: usize) -> Vec<u64> {
        let number = self.places.line(address.wrapping_sub(self.arena.base()));
        self.directory.find(number).map_or(Vec::new(), |line| self.ledger.failure_streaks(line))
    }

    /// Names of the lines, by their indices.
    pub(crate) fn line_names(&self) -> Vec<String> {
        self.directory
            .numbers()
            .into_iter()
            .map(|number| self.shared.name_of_line(number))
            .collect()
    }

    #[cold]
    fn new_line(&mut self, line: usize) -> u32 {
        let home = self.arena.home_of(line) as u16;
        let at_home = self.arena.was_laid_out(line) && self.draw_if_cached(home);
        self.ledger.add_line();
        self.directory.add(line, home, at_home)
    }
}
