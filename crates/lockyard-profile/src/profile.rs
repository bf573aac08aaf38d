//! A whole run: the program, how it ended, its processes.

use crate::process::{Access, Lock, Process};

/// Share of the time that a lock was held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldShare {
    /// The share. For a group of locks it is the sum, so that it may be above 1.
    pub share: f64,
    /// Error that comes from the sample of holds, up or down; `None` if it is not known.
    pub error: Option<f64>,
}

/// A run of a program.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Program and arguments.
    pub command: Vec<String>,
    /// End of the program, in words: `exit code 0`, `killed by SIGKILL`.
    pub end: String,
    /// Exit code, as a shell gives it.
    pub code: u8,
    /// Duration in seconds.
    pub seconds: f64,
    /// Processor time of the program and its children in seconds.
    pub cpu_seconds: f64,
    /// Ticks in a nanosecond.
    pub ticks_per_ns: f64,
    /// End of the run in ticks.
    pub end_ticks: u64,
    /// Mean number of holds for each one that is timed; 1 if all are.
    pub every: u64,
    /// Cost of recording an acquisition and a release, in nanoseconds: for a lock in the nearest
    /// cache, and for one of thousands of locks.
    pub cost_ns: Option<[f64; 2]>,
    /// Processes that took a lock; the process with the most acquisitions comes first.
    pub processes: Vec<Process>,
    /// True if there was no sign of locks that bypassed the recorder.
    pub saw_all: bool,
    /// Notes on conditions that spoil the figures, and on omissions.
    pub warnings: Vec<String>,
}

impl Profile {
    /// Returns a number of ticks in nanoseconds.
    pub fn ns(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_ns
    }

    /// Returns the time from a process's start to the end of the run, in nanoseconds.
    pub fn duration_ns(&self, process: &Process) -> f64 {
        let ticks = self.end_ticks.saturating_sub(process.start);
        self.ns(ticks).min(self.seconds * 1e9).max(1.0)
    }

    /// Returns the share of the time that a lock was held, without the time for which its holder
    /// was preempted. Readers hold a lock together, so there is no share for a lock that was read.
    pub fn held_share(&self, process: &Process, lock: &Lock) -> Option<HeldShare> {
        let of = |ticks: f64| ticks / self.ticks_per_ns / self.duration_ns(process);
        let holds = &lock.counts.holds;
        (lock.counts.reads == 0)
            .then(|| HeldShare { share: of(holds.total()).min(1.0), error: holds.error().map(of) })
    }

    /// Returns the mean number of threads that hold a lock with one kind of access; for writers,
    /// this is the share of the time.
    pub fn held_by(&self, process: &Process, access: &Access) -> HeldShare {
        let of = |ticks: f64| ticks / self.ticks_per_ns / self.duration_ns(process);
        HeldShare { share: of(access.holds.total()), error: access.holds.error().map(of) }
    }

    /// Returns the time that recording took, as shares of the processor time: with the lower and
    /// with the higher cost of a pair.
    pub fn overhead(&self) -> Option<[f64; 2]> {
        let pairs: u64 = self.processes.iter().map(Process::recorded).sum();
        let share = |cost: f64| (cost * pairs as f64 / 1e9 / self.cpu_seconds).min(1.0);
        (self.cpu_seconds > 0.0).then_some(self.cost_ns?.map(share))
    }

    /// Returns the number of events that had no room.
    pub fn lost(&self) -> u64 {
        self.processes.iter().map(|process| process.lost).sum()
    }
}
