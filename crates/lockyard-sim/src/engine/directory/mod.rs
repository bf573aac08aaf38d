//! The directory: the state of all lines, and of the agents of the domains.
//!
//! Its tables are private, and so are the fields of a [`Line`] and of an [`Agent`]. They decide
//! what is served, and return it. Times and messages are in `agents.rs` and `home_agent.rs` of the
//! engine.

pub(super) mod agent;
mod line;

use super::line::State;
use agent::Agent;
use line::Line;

/// Marks a line of the arena that has no state.
const UNUSED: u32 = u32::MAX;

/// State of the lines and of their agents.
pub(crate) struct Directory {
    lines: Vec<Line>,
    /// The agents of all lines: one for each domain, in the order of the lines.
    agents: Vec<Agent>,
    domains: usize,
    /// Index in `lines` of each line of the arena.
    index_of: Vec<u32>,
}

impl Directory {
    pub(crate) fn new(domains: usize) -> Self {
        Directory { lines: Vec::new(), agents: Vec::new(), domains, index_of: Vec::new() }
    }

    /// Number of lines that have a state.
    pub(crate) fn lines(&self) -> u32 {
        self.lines.len() as u32
    }

    /// Index of the line with this number in the arena, if it has a state.
    #[inline(always)]
    pub(crate) fn find(&self, number: usize) -> Option<u32> {
        self.index_of.get(number).copied().filter(|&index| index != UNUSED)
    }

    /// Adds the line with this number in the arena. Returns its index.
    pub(crate) fn add(&mut self, number: usize, home: u16, at_home: bool) -> u32 {
        if self.index_of.len() <= number {
            self.index_of.resize(number + 1, UNUSED);
        }
        let index = self.lines();
        self.index_of[number] = index;
        self.lines.push(Line::new(home, at_home));
        let domains = self.domains;
        self.agents.extend((0..domains).map(|_| Agent::new(domains, at_home)));
        index
    }

    /// Numbers of the lines in the arena, by their indices.
    pub(crate) fn numbers(&self) -> Vec<usize> {
        let mut numbers = vec![0; self.lines.len()];
        for (number, &index) in self.index_of.iter().enumerate() {
            if index != UNUSED {
                numbers[index as usize] = number;
            }
        }
        numbers
    }

    #[inline(always)]
    pub(crate) fn line(&self, line: u32) -> &Line {
        &self.lines[line as usize]
    }

    #[inline(always)]
    pub(crate) fn line_mut(&mut self, line: u32) -> &mut Line {
        &mut self.lines[line as usize]
    }

    #[inline(always)]
    fn place(&self, line: u32, domain: u16) -> usize {
        line as usize * self.domains + domain as usize
    }

    /// The agent of a domain for the line.
    #[inline(always)]
    pub(crate) fn agent(&self, line: u32, domain: u16) -> &Agent {
        &self.agents[self.place(line, domain)]
    }

    #[inline(always)]
    pub(crate) fn agent_mut(&mut self, line: u32, domain: u16) -> &mut Agent {
        let place = self.place(line, domain);
        &mut self.agents[place]
    }

    #[inline(always)]
    pub(crate) fn line_and_agent(&mut self, line: u32, domain: u16) -> (&mut Line, &mut Agent) {
        let place = self.place(line, domain);
        (&mut self.lines[line as usize], &mut self.agents[place])
    }

    /// The agents of all domains for the line.
    pub(crate) fn agents(&self, line: u32) -> &[Agent] {
        let first = self.place(line, 0);
        &self.agents[first..first + self.domains]
    }

    /// Returns `true` if a domain has the line.
    pub(crate) fn is_anywhere(&self, line: u32) -> bool {
        self.agents(line).iter().any(|agent| agent.permission() != State::Invalid)
    }
}
