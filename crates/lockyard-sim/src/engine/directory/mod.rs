//! The directory: the state of all lines, and of the agents of the domains.
//!
//! Its tables are private, and so are the fields of a [`Line`] and of an [`Agent`]. The methods
//! decide which request is served, and return it. Times and messages are in `agents.rs` and
//! `home_agent.rs` of the engine.

pub(super) mod agent;
mod line;

use super::line::State;
use agent::Agent;
use line::Line;

/// Marks a line of the arena that has no state.
const UNUSED: u32 = u32::MAX;

/// Index of the agent that never changes.
const BLANK: u32 = 0;

/// State of the lines and of their agents.
pub(crate) struct Directory {
    lines: Vec<Line>,
    /// One agent that never changes, and then the agents that have changed since their lines were
    /// added. Most lines of a large table are used by only one domain.
    agents: Vec<Agent>,
    /// Number of each line's agent in each domain. Agents that have not changed have number
    /// [`BLANK`].
    numbers: Vec<u32>,
    domains: usize,
    /// Index in `lines` of each line of the arena.
    index_of: Vec<u32>,
}

impl Directory {
    pub(crate) fn new(domains: usize) -> Self {
        Directory {
            lines: Vec::new(),
            agents: vec![Agent::new(domains, true)],
            numbers: Vec::new(),
            domains,
            index_of: Vec::new(),
        }
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
        self.numbers.resize(self.numbers.len() + self.domains, BLANK);
        if self.domains == 1 && !at_home {
            *self.agent_mut(index, 0) = Agent::new(1, false);
        }
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
        &self.agents[self.numbers[self.place(line, domain)] as usize]
    }

    #[inline(always)]
    pub(crate) fn agent_mut(&mut self, line: u32, domain: u16) -> &mut Agent {
        let number = self.number(line, domain);
        &mut self.agents[number]
    }

    #[inline(always)]
    pub(crate) fn line_and_agent(&mut self, line: u32, domain: u16) -> (&mut Line, &mut Agent) {
        let number = self.number(line, domain);
        (&mut self.lines[line as usize], &mut self.agents[number])
    }

    /// Index of an agent that is about to change.
    #[inline(always)]
    fn number(&mut self, line: u32, domain: u16) -> usize {
        let place = self.place(line, domain);
        match self.numbers[place] {
            BLANK => self.add_agent(place),
            number => number as usize,
        }
    }

    #[cold]
    #[inline(never)]
    fn add_agent(&mut self, place: usize) -> usize {
        let number = self.agents.len();
        self.agents.push(Agent::new(self.domains, true));
        self.numbers[place] = number as u32;
        number
    }

    /// The agents of all domains for the line.
    pub(crate) fn agents(&self, line: u32) -> impl Iterator<Item = &Agent> {
        let first = self.place(line, 0);
        let numbers = &self.numbers[first..first + self.domains];
        numbers.iter().map(|&number| &self.agents[number as usize])
    }

    /// Returns `true` if a domain has the line.
    pub(crate) fn is_anywhere(&self, line: u32) -> bool {
        self.agents(line).any(|agent| agent.permission() != State::Invalid)
    }
}
