//! The ledger: everything that is counted in a run. Other files report events to the ledger, and
//! read sums. Nothing here changes a run.

use super::attribution::{CycleAttribution, LineCounts};
use super::distance::LineDistance;
use super::failure_streaks::FailureStreaks;
use super::line_trace::LineTrace;
use super::reads::{Read, Reads};
use super::regions::{Regions, Spent};
use super::statistics::RunStatistics;
use crate::op::Noted;
use lockyard::platform::Activity;
use std::collections::HashMap;

/// A line of gathered memory has an entry of its own if threads lose more than one part in this
/// many of all cycles on it.
const MUCH: u64 = 100;

/// Everything that is counted in a run.
pub(crate) struct Ledger {
    /// Record of each line, by its index.
    lines: Vec<LineRecord>,
    /// Cycles of all threads, by region and phase.
    regions: Regions,
    statistics: RunStatistics,
    hash: u64,
}

/// Record of a line.
enum LineRecord {
    /// The line was only read so far, and not often.
    Reads(Reads),
    Full(Box<LineTrace>),
}

/// Name of a line in an attribution.
pub(crate) enum EntryName {
    /// The line has an entry of its own.
    Own(String),
    /// The line, with this number, is part of gathered memory with this name.
    Gathered(usize, String),
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Ledger {
            lines: Vec::new(),
            regions: Regions::new(),
            statistics: RunStatistics::default(),
            hash: 0,
        }
    }

    /// Adds the next line.
    pub(crate) fn add_line(&mut self) {
        self.lines.push(LineRecord::Reads(Reads::NONE));
    }

    #[inline(always)]
    pub(crate) fn statistics(&self) -> &RunStatistics {
        &self.statistics
    }

    /// The counts of the run, to be increased.
    #[inline(always)]
    pub(crate) fn count(&mut self) -> &mut RunStatistics {
        &mut self.statistics
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// Counts an operation that a thread requested at `now`, and adds it to the run's hash.
    #[inline(always)]
    pub(crate) fn operation(&mut self, now: u64, thread: u32, noted: Noted) {
        let Noted { kind, place, value } = noted;
        self.statistics.platform_operations += 1;
        self.statistics.loads += u64::from(kind == Noted::LOAD);
        for word in [now, u64::from(thread) << 8 | kind, place, value] {
            self.hash = (self.hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    /// Counts a request for the line that arrives at an agent. `length` requests then wait,
    /// including this one.
    #[inline(always)]
    pub(crate) fn request(&mut self, line: u32, length: u64) {
        self.statistics.queue_length += length;
        self.statistics.requests += 1;
        match &mut self.lines[line as usize] {
            LineRecord::Full(trace) => trace.count_request(length),
            // A queue has at most one request for each core of its domain, and one more.
            LineRecord::Reads(_) => self.read(line, Read::Request { length: length as u32 }),
        }
    }

    /// Counts the arrival of the line's data at a core.
    #[inline(always)]
    pub(crate) fn fill(&mut self, line: u32, exclusive: bool) {
        if exclusive {
            self.statistics.exclusive_fills += 1;
            self.counts(line).ownerships += 1;
        } else {
            self.statistics.shared_fills += 1;
        }
    }

    /// Counts a read-modify-write.
    #[inline(always)]
    pub(crate) fn rmw(&mut self, line: u32) {
        self.statistics.rmws += 1;
        self.counts(line).rmws += 1;
    }

    /// Counts a compare-exchange that succeeded after `failures` lost ones in a row.
    #[inline(always)]
    pub(crate) fn exchange(&mut self, line: u32, failures: u32) {
        self.statistics.compare_exchanges += 1;
        let trace = self.trace(line);
        trace.counts.exchanged += 1;
        trace.streaks.count(failures);
    }

    /// Counts a compare-exchange that failed.
    #[inline(always)]
    pub(crate) fn failed_exchange(&mut self, line: u32) {
        self.statistics.failed_compare_exchanges += 1;
        self.counts(line).failed += 1;
    }

    /// Counts a missed load of a waiting loop, if `poll`.
    #[inline(always)]
    pub(crate) fn missed_poll(&mut self, line: u32, poll: bool) {
        if poll {
            self.counts(line).missed_polls += 1;
        }
    }

    #[inline(always)]
    fn counts(&mut self, line: u32) -> &mut LineCounts {
        &mut self.trace(line).counts
    }

    /// The full record of the line.
    #[inline(always)]
    fn trace(&mut self, line: u32) -> &mut LineTrace {
        match &mut self.lines[line as usize] {
            LineRecord::Full(trace) => trace,
            record => record.complete(),
        }
    }

    /// Counts an event of a line that was only read so far. If the list of its reads has no room,
    /// the line gets a full record.
    #[cold]
    #[inline(never)]
    fn read(&mut self, line: u32, event: Read) {
        let record = &mut self.lines[line as usize];
        if let LineRecord::Reads(reads) = record
            && reads.add(event)
        {
            return;
        }
        event.count(record.complete());
    }

    /// Adds cycles that a thread spent in a phase on the line, while its code was in the region of
    /// `doing`.
    #[inline(always)]
    pub(super) fn spend(&mut self, line: u32, phase: usize, doing: Activity, cycles: u64) {
        let region = doing.region as usize;
        match &mut self.lines[line as usize] {
            LineRecord::Full(trace) => trace.count_cycles(phase, region, cycles),
            LineRecord::Reads(_) => match u32::try_from(cycles) {
                Ok(cycles) => {
                    let (phase, region) = (phase as u8, region as u8);
                    self.read(line, Read::Spend { phase, region, cycles });
                }
                Err(_) => self.trace(line).count_cycles(phase, region, cycles),
            },
        }
    }

    /// Adds the cycles that a thread has spent on `doing`, and resets them to 0.
    pub(super) fn charge(&mut self, doing: Activity, spent: &mut Spent) {
        self.regions.add(doing, spent);
    }

    /// Thread that last needed the line exclusively, unless it is `thread`.
    #[inline(always)]
    pub(super) fn last_other(&self, line: u32, thread: u32) -> Option<u32> {
        match &self.lines[line as usize] {
            LineRecord::Full(trace) => trace.last_other(thread),
            LineRecord::Reads(_) => None,
        }
    }

    /// Counts an operation of `thread` at `unit` that needed the line exclusively.
    #[inline(always)]
    pub(super) fn touch(
        &mut self,
        line: u32,
        thread: u32,
        unit: usize,
        distance: Option<LineDistance>,
    ) {
        self.trace(line).count_touch(thread, unit, distance);
    }

    /// Counts a load of `thread` at `unit` that hits.
    #[inline(always)]
    pub(super) fn hit(&mut self, line: u32, thread: u32, unit: usize) {
        // A hit changes nothing as long as no operation has needed the line exclusively.
        if let LineRecord::Full(trace) = &mut self.lines[line as usize] {
            trace.count_hit(thread, unit);
        }
    }

    /// Counts a load of `thread` at `unit` that missed. Called when its data arrives.
    #[inline(always)]
    pub(super) fn arrival(
        &mut self,
        line: u32,
        thread: u32,
        unit: usize,
        distance: Option<LineDistance>,
    ) {
        match &mut self.lines[line as usize] {
            LineRecord::Full(trace) => trace.count_arrival(thread, unit, distance),
            LineRecord::Reads(_) => {
                self.read(line, Read::Arrival { unit: unit as u8, distance, thread });
            }
        }
    }

    /// Number of compare-exchanges of the line that succeeded after 0, 1, ... failures in a row.
    pub(crate) fn failure_streaks(&self, line: u32) -> Vec<u64> {
        match self.lines.get(line as usize) {
            Some(LineRecord::Full(trace)) => trace.streaks.counts(),
            Some(LineRecord::Reads(_)) => FailureStreaks::default().counts(),
            None => Vec::new(),
        }
    }

    /// Forgets the cycles and the counts of lines so far.
    pub(super) fn begin_attribution(&mut self) {
        self.regions.clear();
        for line in &mut self.lines {
            match line {
                LineRecord::Full(trace) => trace.counts = LineCounts::default(),
                LineRecord::Reads(reads) => reads.begin_attribution(),
            }
        }
    }

    /// Returns the account of cycles. `names` has the names of the lines, by their indices.
    pub(super) fn attribution(&self, names: impl Iterator<Item = EntryName>) -> CycleAttribution {
        let (cycles, regions) = (self.regions.phases(), self.regions.all().to_vec());
        let much = cycles.iter().sum::<u64>() / MUCH;
        let mut lines = Vec::new();
        // Index in `lines` of each gathered entry.
        let mut gathered: HashMap<String, usize> = HashMap::new();
        for (name, line) in names.zip(&self.lines) {
            let counts = line.counts();
            match name {
                EntryName::Own(name) => lines.push((name, counts)),
                EntryName::Gathered(number, _) if counts.lost() > much => {
                    lines.push((format!("line {number}"), counts));
                }
                EntryName::Gathered(_, name) => {
                    let place = *gathered.entry(name).or_insert_with_key(|name| {
                        lines.push((name.clone(), LineCounts::default()));
                        lines.len() - 1
                    });
                    lines[place].1 = lines[place].1 + counts;
                }
            }
        }
        CycleAttribution { cycles, system_calls: 0, regions, lines }
    }
}

impl LineRecord {
    /// Makes the full record of a line that was only read.
    #[cold]
    #[inline(never)]
    fn complete(&mut self) -> &mut LineTrace {
        if let LineRecord::Reads(reads) = self {
            *self = LineRecord::Full(Box::new(reads.replay()));
        }
        match self {
            LineRecord::Full(trace) => trace,
            LineRecord::Reads(_) => unreachable!("completed above"),
        }
    }

    fn counts(&self) -> LineCounts {
        match self {
            LineRecord::Full(trace) => trace.counts,
            LineRecord::Reads(reads) => reads.replay().counts,
        }
    }
}
