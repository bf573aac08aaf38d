//! Finding the state of a line, and of a core's copy of it. Both are created at first use.

use super::line::{CoreLine, Line, NO_CORE_LINE};
use super::state::Engine;

impl Engine {
    /// Number of a core's copy of a line, created at first use.
    #[inline(always)]
    pub(super) fn core_line(&mut self, line: u32, core: u16) -> u32 {
        match self.lines[line as usize].core_line(core) {
            Some(core_line) => core_line,
            None => self.new_core_line(line, core),
        }
    }

    #[cold]
    fn new_core_line(&mut self, line: u32, core: u16) -> u32 {
        let core_line = self.core_lines.len() as u32;
        assert!(core_line != NO_CORE_LINE, "no host has memory for this many");
        self.core_lines.push(CoreLine::new(line, core));
        let core_lines = &mut self.lines[line as usize].core_lines;
        if core_lines.len() <= core as usize {
            // Of a million lines, most are used by only one core.
            core_lines.reserve_exact(core as usize + 1 - core_lines.len());
            core_lines.resize(core as usize + 1, NO_CORE_LINE);
        }
        core_lines[core as usize] = core_line;
        core_line
    }

    /// A core's copy of the line of `address`, if the core has used it before. Only then can the
    /// line cost more than its miss.
    pub(super) fn core_line_if_used(&self, address: usize, core: u16) -> Option<u32> {
        let line = self.places.line(address - self.arena.base());
        let line = self.line_of.get(line).filter(|&&line| line != u32::MAX);
        line.and_then(|&line| self.lines[line as usize].core_line(core))
    }

    /// Index of a line's state, created at first use.
    pub(super) fn line_index(&mut self, address: usize) -> u32 {
        let line = self.places.line(address - self.arena.base());
        match self.line_of.get(line) {
            Some(&index) if index != u32::MAX => index,
            _ => self.new_line(line),
        }
    }

    /// Number of compare-exchanges of the line at `address` that succeeded after 0, 1, ... failures
    /// in a row. Empty if the line was not used.
    pub(crate) fn failure_streaks(&self, address: usize) -> Vec<u64> {
        let line = self.line_of.get(self.places.line(address.wrapping_sub(self.arena.base())));
        line.map_or(Vec::new(), |&line| self.ledger.failure_streaks(line))
    }

    /// Numbers of the lines in the arena, by their indices.
    pub(super) fn line_numbers(&self) -> Vec<usize> {
        let mut numbers = vec![0; self.lines.len()];
        for (number, &index) in self.line_of.iter().enumerate() {
            if index != u32::MAX {
                numbers[index as usize] = number;
            }
        }
        numbers
    }

    /// Names of the lines, by their indices.
    pub(crate) fn line_names(&self) -> Vec<String> {
        self.line_numbers().into_iter().map(|number| self.shared.name_of_line(number)).collect()
    }

    #[cold]
    fn new_line(&mut self, line: usize) -> u32 {
        if self.line_of.len() <= line {
            self.line_of.resize(line + 1, u32::MAX);
        }
        let home = self.arena.home_of(line) as u16;
        let at_home = self.arena.was_laid_out(line) && self.draw_if_cached(home);
        self.lines.push(Line::new(home, self.places.domains(), at_home));
        self.ledger.add_line();
        self.line_of[line] = (self.lines.len() - 1) as u32;
        self.line_of[line]
    }
}
