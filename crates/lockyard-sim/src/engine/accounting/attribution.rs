//! Account of a run's cycles: by phase, by region of the threads' code, and by line.
//!
//! Counting changes nothing in a run. Every thread is in one phase and one region at a time. Cycles
//! of a phase that are spent on a line are also added to that line.
//!
//! - A *hand-over* of a line is an operation that needs the line exclusively, by a different thread
//!   than the previous such operation.
//! - A *move* is a hand-over, or a load that missed.
//! - A move is *needed* if the thread then uses a 64-bit unit that another thread has touched since
//!   its own last use. Other moves are false sharing: they brought the line for the data of its
//!   other units (M. Dubois and others, *The Detection and Elimination of Useless Misses in
//!   Multiprocessors*, ISCA 1993).
//! - A hand-over of a unit that another thread touched last is also needed, even if its value was
//!   read before. So is a thread's first move.

use super::phase::PHASES;
use lockyard::platform::{Activity, Region};
use std::ops::Add;

/// Counts of one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Cycles for which threads waited for this line, or for its word to change, by
    /// [`CyclePhase`](crate::CyclePhase).
    pub cycles: [u64; PHASES],
    /// The same cycles, by [`Region`].
    pub regions: [u64; Region::COUNT],
    /// Hand-overs by [`LineDistance`](crate::LineDistance).
    pub hand_overs: [u64; 4],
    /// Loads that missed, by [`LineDistance`](crate::LineDistance) from the thread that last had
    /// the line exclusively. Loads of a line that no other thread had are only in `moves`.
    pub reads: [u64; 4],
    /// Hand-overs and loads that missed.
    pub moves: u64,
    /// Moves that brought data which other threads had changed. A move counts as needed only when
    /// its data is used, so the count of a window may include a move from before it.
    pub needed: u64,
    /// Misses of waiting loops' loads, except the first load of each loop.
    pub missed_polls: u64,
    /// Number of times that the line became modified at a core.
    pub ownerships: u64,
    /// Read-modify-writes.
    pub rmws: u64,
    /// Compare-exchanges that succeeded.
    pub exchanged: u64,
    /// Compare-exchanges that failed.
    pub failed: u64,
    /// Requests that arrived at an agent.
    pub requests: u64,
    /// Sum, over requests, of the length of the agent's queue at their arrival. A request counts
    /// itself.
    pub queue_length: u64,
}

impl LineCounts {
    /// Cycles that threads lost waiting for the line.
    pub fn lost(&self) -> u64 {
        self.cycles.iter().sum()
    }

    /// Moves that were made only for other data of the line.
    pub fn needless(&self) -> u64 {
        self.moves.saturating_sub(self.needed)
    }
}

impl Add for LineCounts {
    type Output = LineCounts;

    fn add(self, other: LineCounts) -> LineCounts {
        let more = |a: [u64; 4], b: [u64; 4]| std::array::from_fn(|i| a[i] + b[i]);
        LineCounts {
            cycles: std::array::from_fn(|i| self.cycles[i] + other.cycles[i]),
            regions: std::array::from_fn(|i| self.regions[i] + other.regions[i]),
            hand_overs: more(self.hand_overs, other.hand_overs),
            reads: more(self.reads, other.reads),
            moves: self.moves + other.moves,
            needed: self.needed + other.needed,
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

/// Account of a run's cycles, since its start or since
/// [`begin_attribution`](crate::Simulation::begin_attribution).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CycleAttribution {
    /// Cycles of all threads, by [`CyclePhase`](crate::CyclePhase).
    pub cycles: [u64; PHASES],
    /// Cycles of all threads in system calls, which are a part of
    /// [`Working`](crate::CyclePhase::Working).
    pub system_calls: u64,
    /// Cycles by [`CyclePhase`](crate::CyclePhase) for each region of the threads' code, followed
    /// by those for the regions' parts. Every cycle is in exactly one of these entries.
    pub regions: Vec<(Activity, [u64; PHASES])>,
    /// The lines that were used, with their names, ordered by first use. The lines of
    /// [`setup_contents`](crate::Simulation::setup_contents) are one entry.
    pub lines: Vec<(String, LineCounts)>,
}
