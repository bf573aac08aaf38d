//! Events become visits.
//!
//! A visit begins after the release of a thread's last lock: it is the time outside of locks, then
//! an acquisition, and all until that lock is released, with the acquisitions within.

use super::shares::Shares;
use super::today::{Passed, Spent};
use crate::recording::{Costs, Event, How, Recording, Window};
use std::collections::HashMap;

/// A step of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// An acquisition of a lock (after grouping: of a group), at a call site.
    Enter {
        /// The lock or group.
        lock: u32,
        /// The call site.
        site: u32,
        /// True if others may have the lock at the same time, to read.
        shared: bool,
    },
    /// A release of the lock that was acquired last.
    Leave,
}

/// Time between two operations, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Segment {
    /// Time on a CPU, with the cost of the recording.
    pub busy: f64,
    /// Time of sleep.
    pub slept: f64,
}

/// A visit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Visit {
    /// The operations. The first is an `Enter`, and the last one leaves it.
    pub(super) operations: Vec<Operation>,
    /// Time before each operation.
    pub(super) segments: Vec<Segment>,
    /// Time of each acquisition, and the lock.
    pub(super) acquired: Vec<(u64, u32)>,
}

/// Visits of a thread that follow each other.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    pub(super) thread: u32,
    pub(super) begin: u64,
    pub(super) visits: Vec<Visit>,
    /// Sums of times and of counts.
    pub(super) sums: Sums,
    /// Times by lock.
    pub(super) spent: Spent,
}

/// Sums over a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    time: f64,
    preempted: f64,
    acquisitions: u64,
    shared: u64,
    conditions: u64,
    releases: u64,
    unordered: u64,
}

/// Returns the runs of a recording, in the order of their windows.
pub(super) fn runs(recording: &Recording) -> Vec<Run> {
    let mut open: HashMap<u32, Reader> = HashMap::new();
    let mut runs = Vec::new();
    for window in &recording.windows {
        if !window.continues
            && let Some(reader) = open.remove(&window.thread)
        {
            runs.push(reader.run);
        }
        let reader = open.entry(window.thread).or_insert_with(|| Reader::new(window));
        reader.window(recording, window);
    }
    let mut last: Vec<Run> = open.into_values().map(|reader| reader.run).collect();
    last.sort_by_key(|run| (run.begin, run.thread));
    runs.extend(last);
    runs
}

/// Adds the shares of times and counts of all runs.
pub(super) fn add_shares(runs: &[Run], shares: &mut Shares) {
    let sum = |of: fn(&Sums) -> f64| runs.iter().map(|run| of(&run.sums)).sum::<f64>();
    let time = sum(|sums| sums.time).max(1.0);
    let acquisitions = sum(|sums| sums.acquisitions as f64).max(1.0);
    shares.preempted = sum(|sums| sums.preempted) / time;
    shares.shared = sum(|sums| sums.shared as f64) / acquisitions;
    shares.conditions = sum(|sums| sums.conditions as f64) / acquisitions;
    let releases = sum(|sums| sums.releases as f64).max(1.0);
    shares.unordered = sum(|sums| sums.unordered as f64) / releases;
}

/// Next event of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Next {
    /// Lock that is acquired, and true if it is shared.
    acquires: Option<(u32, bool)>,
    /// Wait for the lock.
    wait: u64,
    /// True if the wait is a sleep.
    is_sleep: bool,
}

/// Reader of one run's events.
struct Reader {
    run: Run,
    now: u64,
    /// Time since the operation before.
    segment: Segment,
    /// Time without a CPU since the event before.
    slept: f64,
    preempted: f64,
    /// Locks that the thread holds, and true for those that it shares.
    held: Vec<(u32, bool)>,
    visit: Visit,
    /// True after the first visit's beginning is known.
    begun: bool,
}

impl Reader {
    fn new(window: &Window) -> Reader {
        Reader {
            run: Run { thread: window.thread, begin: window.begin, ..Run::default() },
            now: window.begin,
            segment: Segment::default(),
            slept: 0.0,
            preempted: 0.0,
            held: Vec::new(),
            visit: Visit::default(),
            begun: false,
        }
    }

    fn window(&mut self, recording: &Recording, window: &Window) {
        let costs = &recording.about.costs;
        self.now = self.now.max(window.begin);
        for event in &window.events {
            match *event {
                Event::Recorder { time } => self.now += time,
                Event::OffCpu { time, slept: true } => self.slept += time as f64,
                Event::OffCpu { time, slept: false } => self.preempted += time as f64,
                Event::Released { after, lock } => {
                    self.pass(after, Next::default(), costs);
                    self.released(lock);
                }
                Event::Acquired { after, lock, site, how, wait } => {
                    let shared = how == How::Reads;
                    // A wait for a condition is a sleep.
                    let is_sleep = how == How::Condition;
                    let next = Next { acquires: Some((lock, shared)), wait, is_sleep };
                    self.pass(after, next, costs);
                    let sums = &mut self.run.sums;
                    sums.acquisitions += 1;
                    sums.shared += u64::from(shared);
                    sums.conditions += u64::from(is_sleep);
                    self.acquired(lock, site, shared);
                }
            }
        }
    }

    /// Lets time pass until the next event, of which the last part is a wait.
    fn pass(&mut self, after: u64, next: Next, costs: &Costs) {
        self.now += after;
        let Next { acquires, wait, is_sleep } = next;
        let (after, wait) = (after as f64, wait.min(after) as f64);
        let (slept, preempted) =
            (std::mem::take(&mut self.slept), std::mem::take(&mut self.preempted));
        let before = after - wait;
        // Time without a CPU is first that of the wait.
        let off = (slept + preempted - wait).clamp(0.0, before);
        let by_itself = if slept >= preempted { off } else { 0.0 };
        let (asleep, waited) = if is_sleep { (wait, 0.0) } else { (0.0, wait) };
        let passed = Passed {
            busy: before - off,
            slept: by_itself + asleep,
            preempted: off - by_itself,
            waited,
            holds: self.held.last().copied(),
            enters: acquires,
        };
        self.segment.busy += passed.busy;
        self.segment.slept += passed.slept;
        // The first visit is no visit of the model. Its hold has the beginning of the recorder's
        // window in it, with system calls at which the thread often loses its CPU.
        if self.begun {
            let sums = &mut self.run.sums;
            sums.time += after;
            sums.preempted += passed.preempted;
            self.run.spent.add(passed, costs);
        }
    }

    fn acquired(&mut self, lock: u32, site: u32, shared: bool) {
        self.held.push((lock, shared));
        self.visit.acquired.push((self.now, lock));
        self.push(Operation::Enter { lock, site, shared });
    }

    fn released(&mut self, lock: u32) {
        // A lock that was acquired before the window is not known.
        let Some(place) = self.held.iter().rposition(|(held, _)| *held == lock) else { return };
        let last = self.held.len() - 1;
        self.run.sums.releases += 1;
        self.run.sums.unordered += u64::from(last != place);
        // The replay releases the lock that was acquired last. The other one stays in its place.
        self.held.swap(place, last);
        self.held.pop();
        self.push(Operation::Leave);
        if self.held.is_empty() {
            let visit = std::mem::take(&mut self.visit);
            // The time before the first visit began before the window.
            if self.begun {
                self.run.visits.push(visit);
            }
            self.begun = true;
        }
    }

    fn push(&mut self, operation: Operation) {
        self.visit.operations.push(operation);
        self.visit.segments.push(std::mem::take(&mut self.segment));
    }
}
