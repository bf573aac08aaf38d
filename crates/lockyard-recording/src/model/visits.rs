//! Turns events into visits.
//!
//! A visit begins when a thread has released its last lock, and ends when the thread next holds no
//! lock. It consists of the time outside locks, an acquisition, and everything up to that lock's
//! release, nested acquisitions included. Waits without a lock belong to the next visit. Signals
//! before such a wait belong to the previous visit: they announce the work done there, and a replay
//! thread that begins has done no work yet.

use super::facts::Section;
use super::meetings::Decided;
use super::shares::Shares;
use super::today::{Passed, Spent};
use crate::recording::{Costs, Event, How, Met, Recording, Window};
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
    /// Threads wait for each other, or one ends a wait.
    Meet {
        /// Place in the model's list.
        meeting: u32,
        /// What the thread does.
        what: Meets,
    },
}

/// What a thread does with a condition, a semaphore or a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meets {
    /// It gives a unit, or signals.
    Gives,
    /// The same, to all who wait.
    GivesAll,
    /// It waits, if it has to, without a lock.
    Waits,
    /// It waits in a section, whose lock it releases meanwhile.
    WaitsInside,
    /// It gives one unit, which it does not always signal.
    GivesInside,
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
    /// The operations. Before the first `Enter`, the thread may wait without a lock, and after the
    /// `Leave` it may end waits of others.
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
    met: f64,
}

/// Returns the runs of a recording, in the order of their windows.
pub(super) fn runs(recording: &Recording, decided: &Decided) -> Vec<Run> {
    let mut open: HashMap<u32, Reader> = HashMap::new();
    let mut runs = Vec::new();
    for window in &recording.windows {
        if !window.continues
            && let Some(reader) = open.remove(&window.thread)
        {
            runs.push(reader.run);
        }
        let reader = open.entry(window.thread).or_insert_with(|| Reader::new(window, decided));
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
    shares.met = sum(|sums| sums.met) / time;
    shares.shared = sum(|sums| sums.shared as f64) / acquisitions;
    shares.conditions = sum(|sums| sums.conditions as f64) / acquisitions;
    let releases = sum(|sums| sums.releases as f64).max(1.0);
    shares.unordered = sum(|sums| sums.unordered as f64) / releases;
}

/// Next event of a thread.
#[derive(Clone, Copy, Debug)]
struct Next {
    /// Lock that is acquired, and true if it is shared.
    acquires: Option<(u32, bool)>,
    /// Wait for the lock.
    wait: u64,
    /// True if the wait is a sleep.
    is_sleep: bool,
    /// True if the wait is one that the replay has itself.
    is_met: bool,
    /// True if the event is of no lock.
    of_no_lock: bool,
}

/// An event that acquires nothing.
const NONE: Next =
    Next { acquires: None, wait: 0, is_sleep: false, is_met: false, of_no_lock: false };

/// Reader of one run's events.
struct Reader<'d> {
    decided: &'d Decided,
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
    /// Outermost section that is open, the place of its operation in the visit, and true if it
    /// has waited.
    section: Option<(Section, usize, bool)>,
    /// True while the thread waits in a section.
    waits: bool,
    /// True after the first visit's beginning is known.
    begun: bool,
}

impl<'d> Reader<'d> {
    fn new(window: &Window, decided: &'d Decided) -> Reader<'d> {
        Reader {
            decided,
            section: None,
            waits: false,
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
        for (index, event) in window.events.iter().enumerate() {
            match *event {
                Event::Recorder { time } => self.now += time,
                Event::OffCpu { time, slept: true } => self.slept += time as f64,
                Event::OffCpu { time, slept: false } => self.preempted += time as f64,
                Event::Met { after, meeting, what, wait, .. } => {
                    let place = self.decided.places.get(&meeting).copied();
                    let is_met = place.is_some() || self.waits;
                    let next = Next { wait, is_sleep: true, is_met, of_no_lock: true, ..NONE };
                    self.pass(after, next, costs);
                    self.met(place, what);
                }
                Event::Released { after, lock } => {
                    self.pass(after, NONE, costs);
                    match self.wait_after(lock, &window.events[index + 1..]) {
                        Some(meeting) => self.waits_inside(meeting),
                        None => self.released(lock),
                    }
                }
                Event::Acquired { after, lock, site, how, wait } => {
                    let shared = how == How::Reads;
                    // A wait for a condition is a sleep.
                    let is_sleep = how == How::Condition;
                    let is_met = std::mem::take(&mut self.waits);
                    let acquires = (!is_met).then_some((lock, shared));
                    self.pass(after, Next { acquires, wait, is_sleep, is_met, ..NONE }, costs);
                    let sums = &mut self.run.sums;
                    sums.acquisitions += 1;
                    sums.shared += u64::from(shared);
                    sums.conditions += u64::from(is_sleep);
                    if !is_met {
                        self.acquired(lock, site, shared);
                    }
                }
            }
        }
    }

    /// Lets time pass until the next event, of which the last part is a wait.
    fn pass(&mut self, after: u64, next: Next, costs: &Costs) {
        self.now += after;
        let Next { acquires, wait, is_sleep, is_met, of_no_lock } = next;
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
            of_no_lock,
        };
        self.segment.busy += passed.busy;
        self.segment.slept += if is_met { by_itself } else { passed.slept };
        // The first visit is no visit of the model. Its hold has the beginning of the recorder's
        // window in it, with system calls at which the thread often loses its CPU.
        if self.begun {
            let sums = &mut self.run.sums;
            sums.time += after;
            sums.preempted += passed.preempted;
            sums.met += if is_met { asleep } else { 0.0 };
            self.run.spent.add(passed, costs);
        }
    }

    /// Returns the condition for which a thread is about to wait, if the replay has it: after the
    /// release of its only lock, it says so, and takes the lock again.
    fn wait_after(&self, lock: u32, next: &[Event]) -> Option<u32> {
        let (section, ..) = self.section.filter(|_| self.held.len() == 1)?;
        let mut next =
            next.iter().filter(|of| !matches!(of, Event::Recorder { .. } | Event::OffCpu { .. }));
        let Some(&Event::Met { meeting, what: Met::Waits, .. }) = next.next() else { return None };
        let again = matches!(next.next(), Some(&Event::Acquired { lock: of, how, .. })
            if of == lock && how == How::Condition);
        let place = self.decided.places.get(&meeting).copied();
        let of_section = self.decided.waits.get(&section).copied();
        place.filter(|_| again && section.0 == lock && place == of_section)
    }

    /// A section's wait: one for all that follow each other.
    fn waits_inside(&mut self, meeting: u32) {
        self.waits = true;
        if let Some((.., waited)) = &mut self.section
            && !std::mem::replace(waited, true)
        {
            self.push(Operation::Meet { meeting, what: Meets::WaitsInside });
        }
    }

    /// Adds what a thread does with what is no lock.
    fn met(&mut self, place: Option<u32>, what: Met) {
        let Some(meeting) = place else { return };
        let what = match what {
            Met::Signals | Met::Gives => Meets::Gives,
            Met::Broadcasts => Meets::GivesAll,
            Met::Takes { .. } | Met::Passes { .. } => Meets::Waits,
            Met::Waits => return,
        };
        let operation = Operation::Meet { meeting, what };
        if what == Meets::Waits || !self.visit.operations.is_empty() {
            return self.push(operation);
        }
        // What follows the visit that is left out is left out too.
        if let Some(before) = self.run.visits.last_mut() {
            before.operations.push(operation);
            before.segments.push(std::mem::take(&mut self.segment));
        }
    }

    /// Adds what a section does that ends: one that has not waited could have done so.
    fn ends(&mut self) {
        let Some((section, place, waited)) = self.section.take() else { return };
        let waits = self.decided.waits.get(&section).filter(|_| !waited);
        if let Some(&meeting) = waits {
            let what = Meets::WaitsInside;
            self.visit.operations.insert(place + 1, Operation::Meet { meeting, what });
            self.visit.segments.insert(place + 1, Segment::default());
        }
        for &meeting in self.decided.gives.get(&section).into_iter().flatten() {
            self.push(Operation::Meet { meeting, what: Meets::GivesInside });
        }
    }

    fn acquired(&mut self, lock: u32, site: u32, shared: bool) {
        if self.held.is_empty() {
            self.section = Some(((lock, site), self.visit.operations.len(), false));
        }
        self.held.push((lock, shared));
        self.visit.acquired.push((self.now, lock));
        self.push(Operation::Enter { lock, site, shared });
    }

    fn released(&mut self, lock: u32) {
        // A lock that was acquired before the window is not known.
        let Some(place) = self.held.iter().rposition(|(held, _)| *held == lock) else { return };
        let last = self.held.len() - 1;
        if last == 0 {
            self.ends();
        }
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
