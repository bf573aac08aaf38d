//! Where the cycles of a run went: by what threads were doing, by region of their code, and by line.
//!
//! Counting changes nothing in a run. Every thread is in one phase at a time, and in one region (`regions.rs`); a phase that is
//! spent on a line is added to the line. A *hand-over* of a line is an operation that needs it exclusively by another thread than the last one; a *move* is a
//! hand-over or a load that missed. A move is *needed* if, while the thread then has the line, it uses a 64-bit unit that another
//! has touched since it last did so; the others moved the line for what stands beside it, which is false sharing (M. Dubois and
//! others, *The Detection and Elimination of Useless Misses in Multiprocessors*, ISCA 1993). A hand-over of a unit that another
//! touched last is needed too, though its value was read before, and so is a thread's first move.

use super::failure_streaks::Tries;
use super::places::Places;
use super::sparse::Sparse;
use super::threads::Activity;
use super::{Engine, Op, Thread};
use lockyard::platform::{Activity as Doing, Region};
use std::ops::{Add, Sub};

/// How many [`Phase`]s there are.
pub const PHASES: usize = 6;

/// What a thread spends its cycles on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Its own work, operations whose line is there, and the wait for the right instructions after a wrong guess.
    Working,
    /// An operation waits for its line.
    Moving,
    /// An operation waits until the store buffer is empty.
    Draining,
    /// A waiting loop, from its first poll that failed; a pause; parked.
    Waiting,
    /// It has interrupted others, and waits for their answers.
    Answers,
    /// It could run, and another thread has its CPU (see `schedule.rs`).
    OffCpu,
}

impl Phase {
    /// All phases, in the order of their numbers.
    pub const ALL: [Phase; PHASES] = [
        Phase::Working,
        Phase::Moving,
        Phase::Draining,
        Phase::Waiting,
        Phase::Answers,
        Phase::OffCpu,
    ];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Working => "working",
            Phase::Moving => "moving lines",
            Phase::Draining => "draining stores",
            Phase::Waiting => "waiting",
            Phase::Answers => "waiting for answers",
            Phase::OffCpu => "off the cpu",
        }
    }
}

/// How far a line was handed over; the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    pub cycles: [u64; PHASES],
    /// The same, by [`Region`].
    pub regions: [u64; Region::COUNT],
    /// Hand-overs by [`Distance`].
    pub hand_overs: [u64; 4],
    /// Loads that missed, by [`Distance`] from the thread that last had the line exclusively; those that nobody else had are
    /// in `moves` only.
    pub reads: [u64; 4],
    /// Hand-overs and loads that missed.
    pub moves: u64,
    /// Moves that brought what others had done. Known when it is used, so a window's may include a move before it.
    pub needed: u64,
    /// Loads of waiting loops that missed, but for each loop's first.
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

    /// Moves for what stands beside what was asked for.
    pub fn needless(&self) -> u64 {
        self.moves.saturating_sub(self.needed)
    }
}

impl Sub for LineCounts {
    type Output = LineCounts;

    fn sub(self, before: LineCounts) -> LineCounts {
        let less = |a: [u64; 4], b: [u64; 4]| std::array::from_fn(|i| a[i] - b[i]);
        LineCounts {
            cycles: std::array::from_fn(|i| self.cycles[i] - before.cycles[i]),
            regions: std::array::from_fn(|i| self.regions[i] - before.regions[i]),
            hand_overs: less(self.hand_overs, before.hand_overs),
            reads: less(self.reads, before.reads),
            moves: self.moves - before.moves,
            needed: self.needed - before.needed,
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

/// Where the cycles of a run went so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// Cycles of all threads, by [`Phase`].
    pub cycles: [u64; PHASES],
    /// The same by what the threads' code says that it does, each with its cycles by [`Phase`]: all regions, and then their parts.
    /// Every cycle is of one of them.
    pub regions: Vec<(Doing, [u64; PHASES])>,
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
        let regions = self.regions.iter().enumerate().map(|(index, (doing, cycles))| {
            let before = before.regions.get(index).map_or([0; PHASES], |(_, cycles)| *cycles);
            (*doing, std::array::from_fn(|i| cycles[i] - before[i]))
        });
        Attribution {
            cycles: std::array::from_fn(|i| self.cycles[i] - before.cycles[i]),
            regions: regions.collect(),
            lines: lines.collect(),
        }
    }
}

/// What is remembered of a line to count its moves.
#[derive(Clone, Debug)]
pub(super) struct LineTrace {
    pub counts: LineCounts,
    last: Option<u32>,
    /// Operations that needed the line exclusively so far.
    touches: u64,
    /// The last one for each 64-bit unit, for up to 128 bytes: its number, from 1, and its thread. Made at the first one.
    units: Option<Box<[(u64, u32); 16]>>,
    /// What each thread knows of the line.
    copies: Sparse<Copied>,
    pub tries: Tries,
}

/// What a thread knows of a line.
#[derive(Clone, Copy, Debug)]
struct Copied {
    /// How many touches there were when a move was last needed.
    used: u64,
    /// How many there were when the line last came, or was last touched by the thread.
    since: u64,
    /// The last move has not been needed yet.
    open: bool,
}

impl LineTrace {
    pub(super) fn new() -> Self {
        let counts = LineCounts::default();
        let never = Copied { used: u64::MAX, since: u64::MAX, open: false };
        let copies = Sparse::new(never);
        LineTrace { counts, last: None, touches: 0, units: None, copies, tries: Tries::default() }
    }

    /// How far the thread is from the one that last had the line exclusively, if that was another.
    #[inline(always)]
    fn distance_from_last(
        &self,
        thread: u32,
        threads: &[Thread],
        places: &Places,
    ) -> Option<Distance> {
        let last = self.last.filter(|&last| last != thread)?;
        let core = |thread: u32| threads[thread as usize].core;
        Some(places.distance(core(thread), core(last)))
    }

    /// The last operation at `unit` that needed the line exclusively: its number and its thread.
    fn last_at(&self, unit: usize) -> (u64, u32) {
        self.units.as_ref().map_or((0, 0), |units| units[unit])
    }

    /// An operation of `thread` at `unit` needed the line exclusively; `distance` from the thread that had it so last, if that
    /// was another.
    #[inline(always)]
    fn touched(&mut self, thread: u32, unit: usize, distance: Option<Distance>) {
        let LineTrace { counts, last, touches, units, copies, .. } = self;
        let units = units.get_or_insert_default();
        let by = units[unit];
        let copy = &mut copies[thread as usize];
        if distance.is_none() || copy.since == *touches {
            // It had the line already, if only to read.
            copy.used(counts, *touches, thread, by);
        }
        if let Some(distance) = distance {
            counts.hand_overs[distance as usize] += 1;
            copy.moved(counts, *touches, by.0 > 0 && by.1 != thread);
        }
        *last = Some(thread);
        *touches += 1;
        units[unit] = (*touches, thread);
        copy.since = *touches;
    }

    /// A load of `thread` at `unit` finds the line.
    fn found(&mut self, thread: u32, unit: usize) {
        let by = self.last_at(unit);
        self.copies[thread as usize].used(&mut self.counts, self.touches, thread, by);
    }

    /// The data of a load of `thread` at `unit` that missed is there.
    fn arrived(&mut self, thread: u32, unit: usize, distance: Option<Distance>) {
        if let Some(distance) = distance {
            self.counts.reads[distance as usize] += 1;
        }
        self.copies[thread as usize].moved(&mut self.counts, self.touches, false);
        self.found(thread, unit);
    }
}

impl Copied {
    /// Counts that the line moved to the thread, after so many touches; `needed` if that is known already.
    #[inline(always)]
    fn moved(&mut self, counts: &mut LineCounts, touches: u64, needed: bool) {
        let first = self.since == u64::MAX;
        let needed = needed || first;
        self.used = if needed { touches } else { self.used };
        self.since = touches;
        self.open = !needed;
        counts.moves += 1;
        counts.needed += u64::from(needed);
    }

    /// The thread uses a unit of the line that it has, after so many touches; `last` was the last one of the unit, and by whom.
    /// Was the move that brought it needed?
    #[inline(always)]
    fn used(&mut self, counts: &mut LineCounts, touches: u64, thread: u32, last: (u64, u32)) {
        if self.open && last.0 > self.used && last.1 != thread {
            self.open = false;
            self.used = touches;
            counts.needed += 1;
        }
    }
}

/// What a thread is doing, since when, and for which line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spending {
    /// `None` before a thread begins and after it ends.
    pub phase: Option<Phase>,
    pub since: u64,
    pub line: Option<u32>,
    /// A load that missed and is not complete: its line and unit.
    missed: Option<(u32, u32)>,
}

impl Thread {
    /// Adds what the thread has spent so far; from `now` on it spends cycles on `phase`, for `line`. Returns the line and the unit of a
    /// load that missed, if that is complete now.
    #[inline(always)]
    fn spends(
        &mut self,
        now: u64,
        phase: Option<Phase>,
        line: Option<u32>,
        traces: &mut [LineTrace],
    ) -> Option<(u32, u32)> {
        let spending = &mut self.spending;
        let before = std::mem::replace(&mut spending.phase, phase);
        let cycles = now - std::mem::replace(&mut spending.since, now);
        let on = std::mem::replace(&mut spending.line, line);
        if let Some(before) = before {
            self.spent[before as usize] += cycles;
            let stalls = matches!(before, Phase::Moving | Phase::Draining);
            self.waited += if stalls { cycles } else { 0 };
            if let Some(line) = on {
                let counts = &mut traces[line as usize].counts;
                counts.cycles[before as usize] += cycles;
                counts.regions[self.doing.region as usize] += cycles;
            }
        }
        let works = phase == Some(Phase::Working);
        if works { spending.missed.take() } else { None }
    }
}

impl Engine {
    /// The thread works from now on, as most threads do most of the time.
    #[inline(always)]
    pub(super) fn works(&mut self, thread: u32) {
        let Thread { spending, activity, .. } = &self.threads[thread as usize];
        let works = spending.phase == Some(Phase::Working);
        debug_assert_eq!(works, *activity == Activity::Running, "who works competes for the core");
        debug_assert!(!works || spending.missed.is_none(), "a load that missed waits");
        if !works {
            self.turns(thread, Activity::Running, Phase::Working, None);
        }
    }

    /// The thread leaves its core to its siblings from now on; its cycles are spent on `phase`, for `line`.
    #[inline(always)]
    pub(super) fn waits(&mut self, thread: u32, phase: Phase, line: Option<u32>) {
        self.turns(thread, Activity::Yielding, phase, line);
    }

    /// What the thread is doing changes for its siblings and for whoever asks where its cycles went.
    #[inline(never)]
    fn turns(&mut self, thread: u32, activity: Activity, phase: Phase, line: Option<u32>) {
        let now = self.now();
        let entry = &mut self.threads[thread as usize];
        let before = std::mem::replace(&mut entry.activity, activity);
        let core = entry.core;
        let paces = self.cores[core as usize].competes(before, activity) & self.siblings_slow;
        let arrived = entry.spends(now, Some(phase), line, &mut self.traces);
        // (Each call is the last thing done, so that nothing has to be kept meanwhile.)
        if let Some((line, unit)) = arrived {
            self.turns_as_data_arrives(thread, line, unit, paces);
        } else if paces {
            self.pace_siblings(thread, core);
        }
    }

    #[inline(never)]
    fn turns_as_data_arrives(&mut self, thread: u32, line: u32, unit: u32, paces: bool) {
        self.arrived(thread, line, unit as usize);
        if paces {
            self.pace_siblings(thread, self.threads[thread as usize].core);
        }
    }

    /// The thread's code has run, and does something else from now on.
    #[inline(never)]
    pub(super) fn does(&mut self, thread: u32, doing: Doing) {
        self.adds_up(thread);
        self.threads[thread as usize].doing = doing;
    }

    /// Adds all that the thread has spent so far to what it does.
    fn adds_up(&mut self, thread: u32) {
        let Spending { phase, line, .. } = self.threads[thread as usize].spending;
        self.spends(thread, phase, line);
        if phase.is_some() {
            self.closes(thread);
        }
    }

    /// Adds what the thread has spent to what it does.
    fn closes(&mut self, thread: u32) {
        let entry = &mut self.threads[thread as usize];
        self.regions.add(entry.doing, &mut entry.spent);
    }

    /// The thread's cycles from now on are spent on `phase`, for `line`.
    pub(super) fn spends(&mut self, thread: u32, phase: Option<Phase>, line: Option<u32>) {
        let now = self.now();
        let arrived = self.threads[thread as usize].spends(now, phase, line, &mut self.traces);
        if phase.is_none() {
            self.closes(thread);
        }
        if let Some((line, unit)) = arrived {
            self.arrived(thread, line, unit as usize);
        }
    }

    /// The thread's pending operation waits for `line`: for people, a poll after the first is part of waiting.
    pub(super) fn waits_for(&mut self, thread: u32, line: u32) {
        let polls =
            matches!(self.threads[thread as usize].pending(), Some(Op::Load { poll: true, .. }));
        let phase = if polls { Phase::Waiting } else { Phase::Moving };
        self.waits(thread, phase, Some(line));
    }

    /// The thread's operation waits until its store buffer is empty.
    pub(super) fn waits_for_stores(&mut self, thread: u32) {
        let oldest = self.threads[thread as usize].stores.front().map(|&(address, ..)| address);
        let line = oldest.map(|address| self.line_index(address));
        self.waits(thread, Phase::Draining, line);
    }

    #[inline(always)]
    fn unit(&self, address: usize) -> usize {
        self.places.unit(address - self.arena.base())
    }

    /// A read-modify-write or a store of `thread` happens at `address`.
    #[inline(always)]
    pub(super) fn touched(&mut self, thread: u32, line: u32, address: usize) {
        let unit = self.unit(address);
        let Engine { traces, threads, places, .. } = self;
        let trace = &mut traces[line as usize];
        let distance = trace.distance_from_last(thread, threads, places);
        trace.touched(thread, unit, distance);
    }

    /// A load of `thread` at `address` finds the line.
    pub(super) fn found(&mut self, thread: u32, line: u32, address: usize) {
        if self.threads[thread as usize].spending.missed.is_none() {
            let unit = self.unit(address);
            self.traces[line as usize].found(thread, unit);
        }
    }

    /// A load of `thread` at `address` missed. What moved the line is judged when the load is complete: until then others may
    /// have the line that asked for it earlier.
    pub(super) fn missed(&mut self, thread: u32, line: u32, address: usize, poll: bool) {
        let unit = self.unit(address) as u32;
        self.threads[thread as usize].spending.missed = Some((line, unit));
        self.traces[line as usize].counts.missed_polls += u64::from(poll);
    }

    /// The data of a load that missed is there.
    #[inline(never)]
    fn arrived(&mut self, thread: u32, line: u32, unit: usize) {
        let Engine { traces, threads, places, .. } = self;
        let trace = &mut traces[line as usize];
        let distance = trace.distance_from_last(thread, threads, places);
        trace.arrived(thread, unit, distance);
    }

    /// Where the cycles went so far.
    pub(crate) fn attribution(&mut self) -> Attribution {
        for thread in 0..self.threads.len() as u32 {
            self.adds_up(thread);
        }
        let mut lines = vec![(String::new(), LineCounts::default()); self.traces.len()];
        for (number, &index) in self.line_of.iter().enumerate() {
            if index != u32::MAX {
                let name = self.shared.name_of_line(number);
                lines[index as usize] = (name, self.traces[index as usize].counts);
            }
        }
        let regions = self.regions.all().to_vec();
        Attribution { cycles: self.regions.phases(), regions, lines }
    }
}
