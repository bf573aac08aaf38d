//! Where the cycles of a run went: by what threads were doing, and by line.
//!
//! Counting changes nothing in a run. Every thread is in one phase at a time; a phase that is spent on a line is added to the
//! line. A *hand-over* of a line is an operation that needs it exclusively by another thread than the last one; a *move* is a
//! hand-over or a load that missed. A move is *needless* if nobody else has touched the 64-bit unit that is asked for: the line
//! moved for what stands beside it, which is false sharing.

use super::threads::Activity;
use super::{Engine, Op};
use std::ops::{Add, Sub};

/// What a thread spends its cycles on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its own work, and operations whose line is there.
    Working,
    /// An operation waits for its line.
    Moving,
    /// An operation waits until the store buffer is empty.
    Draining,
    /// A waiting loop, from its first poll that failed; a pause; parked.
    Waiting,
}

impl Phase {
    /// All phases, in the order of their numbers.
    pub const ALL: [Phase; 4] = [Phase::Working, Phase::Moving, Phase::Draining, Phase::Waiting];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Working => "working",
            Phase::Moving => "moving lines",
            Phase::Draining => "draining stores",
            Phase::Waiting => "waiting",
        }
    }
}

/// How far a line was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// To another thread of the core.
    Core,
    /// To another core of the complex.
    Complex,
    /// To another complex of the socket.
    Socket,
    /// To another socket.
    Remote,
}

impl Distance {
    /// All distances, in the order of their numbers.
    pub const ALL: [Distance; 4] =
        [Distance::Core, Distance::Complex, Distance::Socket, Distance::Remote];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Distance::Core => "same core",
            Distance::Complex => "same complex",
            Distance::Socket => "same socket",
            Distance::Remote => "another socket",
        }
    }
}

/// What was counted of one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Cycles of threads, by [`Phase`]: waiting for this line, or for its word to change.
    pub cycles: [u64; 4],
    /// Hand-overs by [`Distance`].
    pub hand_overs: [u64; 4],
    /// Hand-overs and loads that missed.
    pub moves: u64,
    /// Moves for a unit that nobody else has touched.
    pub needless: u64,
    /// Loads of waiting loops that missed.
    pub missed_polls: u64,
    /// Times that the line became modified at a core.
    pub ownerships: u64,
    /// Read-modify-writes.
    pub rmws: u64,
    /// Compare-exchanges that succeeded.
    pub exchanged: u64,
    /// Compare-exchanges that failed.
    pub failed: u64,
    /// Requests that arrived at an agent.
    pub requests: u64,
    /// Sum of the queue's length when they arrived, with themselves.
    pub queue_length: u64,
}

impl LineCounts {
    /// Cycles that threads lost on the line.
    pub fn lost(&self) -> u64 {
        self.cycles.iter().sum()
    }
}

impl Sub for LineCounts {
    type Output = LineCounts;

    fn sub(self, before: LineCounts) -> LineCounts {
        let less = |a: [u64; 4], b: [u64; 4]| std::array::from_fn(|i| a[i] - b[i]);
        LineCounts {
            cycles: less(self.cycles, before.cycles),
            hand_overs: less(self.hand_overs, before.hand_overs),
            moves: self.moves - before.moves,
            needless: self.needless - before.needless,
            missed_polls: self.missed_polls - before.missed_polls,
            ownerships: self.ownerships - before.ownerships,
            rmws: self.rmws - before.rmws,
            exchanged: self.exchanged - before.exchanged,
            failed: self.failed - before.failed,
            requests: self.requests - before.requests,
            queue_length: self.queue_length - before.queue_length,
        }
    }
}

impl Add for LineCounts {
    type Output = LineCounts;

    fn add(self, other: LineCounts) -> LineCounts {
        let more = |a: [u64; 4], b: [u64; 4]| std::array::from_fn(|i| a[i] + b[i]);
        LineCounts {
            cycles: more(self.cycles, other.cycles),
            hand_overs: more(self.hand_overs, other.hand_overs),
            moves: self.moves + other.moves,
            needless: self.needless + other.needless,
            missed_polls: self.missed_polls + other.missed_polls,
            ownerships: self.ownerships + other.ownerships,
            rmws: self.rmws + other.rmws,
            exchanged: self.exchanged + other.exchanged,
            failed: self.failed + other.failed,
            requests: self.requests + other.requests,
            queue_length: self.queue_length + other.queue_length,
        }
    }
}

/// Where the cycles of a run went so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// Cycles of all threads, by [`Phase`].
    pub cycles: [u64; 4],
    /// The lines that were used, in the order of their first use, with their names.
    pub lines: Vec<(String, LineCounts)>,
}

impl Attribution {
    /// What came after `before`, an earlier attribution of the same run.
    #[must_use]
    pub fn since(&self, before: &Attribution) -> Attribution {
        let lines = self.lines.iter().enumerate().map(|(index, (name, counts))| {
            let before = before.lines.get(index).map_or(LineCounts::default(), |(_, c)| *c);
            (name.clone(), *counts - before)
        });
        Attribution {
            cycles: std::array::from_fn(|i| self.cycles[i] - before.cycles[i]),
            lines: lines.collect(),
        }
    }
}

/// What is remembered of a line to count its moves.
#[derive(Clone, Debug)]
pub(super) struct LineTrace {
    pub counts: LineCounts,
    last: Option<u32>,
    /// The thread that last touched each 64-bit unit, for up to 128 bytes.
    units: [Option<u32>; 16],
}

impl LineTrace {
    pub(super) fn new() -> Self {
        LineTrace { counts: LineCounts::default(), last: None, units: [None; 16] }
    }
}

/// What a thread is doing, since when, and for which line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spending {
    /// `None` before a thread begins and after it ends.
    pub phase: Option<Phase>,
    pub since: u64,
    pub line: Option<u32>,
}

impl Engine {
    /// The thread's cycles from now on are spent on `phase`, for `line`.
    pub(super) fn spends(&mut self, thread: u32, phase: Option<Phase>, line: Option<u32>) {
        let now = self.now();
        let spending = Spending { phase, since: now, line };
        let before = std::mem::replace(&mut self.threads[thread as usize].spending, spending);
        if let Some(phase) = before.phase {
            let cycles = now - before.since;
            self.cycles[phase as usize] += cycles;
            if matches!(phase, Phase::Moving | Phase::Draining) {
                self.shared.stalls(thread, cycles);
            }
            if let Some(line) = before.line {
                self.traces[line as usize].counts.cycles[phase as usize] += cycles;
            }
        }
    }

    /// The thread's pending operation waits for `line`: for people, a poll is part of waiting.
    pub(super) fn waits_for(&mut self, thread: u32, line: u32) {
        let polls =
            matches!(self.threads[thread as usize].pending, Some(Op::Load { poll: true, .. }));
        let phase = if polls { Phase::Waiting } else { Phase::Moving };
        self.becomes(thread, Activity::Yielding);
        self.spends(thread, Some(phase), Some(line));
    }

    /// The thread's operation waits until its store buffer is empty.
    pub(super) fn waits_for_stores(&mut self, thread: u32) {
        let oldest = self.threads[thread as usize].stores.front().map(|&(address, ..)| address);
        let line = oldest.map(|address| self.line_index(address));
        self.becomes(thread, Activity::Yielding);
        self.spends(thread, Some(Phase::Draining), line);
    }

    fn unit(&self, address: usize) -> usize {
        (address - self.arena.base()) % self.machine.line_bytes() / 8
    }

    /// A read-modify-write or a store of `thread` happens at `address`.
    pub(super) fn touched(&mut self, thread: u32, line: u32, address: usize) {
        let unit = self.unit(address);
        let last = self.traces[line as usize].last;
        let distance = last.filter(|&last| last != thread).map(|last| self.distance(thread, last));
        let trace = &mut self.traces[line as usize];
        if let Some(distance) = distance {
            trace.counts.hand_overs[distance as usize] += 1;
            trace.counts.moves += 1;
            trace.counts.needless += u64::from(trace.units[unit].is_none_or(|t| t == thread));
        }
        trace.last = Some(thread);
        trace.units[unit] = Some(thread);
    }

    /// A load of `thread` at `address` missed.
    pub(super) fn missed(&mut self, thread: u32, line: u32, address: usize, poll: bool) {
        let unit = self.unit(address);
        let trace = &mut self.traces[line as usize];
        trace.counts.moves += 1;
        trace.counts.needless += u64::from(trace.units[unit].is_none_or(|t| t == thread));
        trace.counts.missed_polls += u64::from(poll);
    }

    fn distance(&self, a: u32, b: u32) -> Distance {
        let core = |thread: u32| self.threads[thread as usize].core;
        let (domain_a, domain_b) = (self.domain_of(core(a)), self.domain_of(core(b)));
        let socket = |domain: u16| u64::from(domain) / self.machine.numbers().complexes;
        if core(a) == core(b) {
            Distance::Core
        } else if domain_a == domain_b {
            Distance::Complex
        } else if socket(domain_a) == socket(domain_b) {
            Distance::Socket
        } else {
            Distance::Remote
        }
    }

    /// Where the cycles went so far.
    pub(crate) fn attribution(&mut self) -> Attribution {
        for thread in 0..self.threads.len() as u32 {
            let Spending { phase, line, .. } = self.threads[thread as usize].spending;
            self.spends(thread, phase, line);
        }
        let mut lines = vec![(String::new(), LineCounts::default()); self.traces.len()];
        for (number, &index) in self.line_of.iter().enumerate() {
            if index != u32::MAX {
                let name = self.shared.name_of_line(number);
                lines[index as usize] = (name, self.traces[index as usize].counts);
            }
        }
        Attribution { cycles: self.cycles, lines }
    }
}
