//! Cycles of a cell by phase, activity, line and lock. They are sums over the cell's runs, shown as
//! tables and details.

use super::bound::Bound;
use super::lock_time::LockTime;
use comfy_table::{Table, presets};
use lockyard_results::details::{
    CostsDetail, GainDetail, IdealLocksDetail, LineDetail, LockDetail, TransfersDetail,
};
use lockyard_results::render::{Screen, new_table};
use lockyard_scenarios::{Activity, Region};
use lockyard_sim::{CycleAttribution, CyclePhase, LineCounts, LineDistance, Machine, PHASES};
use lockyard_support::share;
use std::collections::BTreeMap;

/// Number of lines in the table.
const SHOWN: usize = 6;

/// Name of the share of the kernel's calls.
const SYSTEM_CALLS: &str = "system calls";

/// Cycles of a cell by phase, activity, line and lock, summed over all runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// Nanoseconds of all threads by [`CyclePhase`].
    pub nanoseconds: [f64; PHASES],
    /// Nanoseconds of all threads in the kernel's calls; a part of [`CyclePhase::Working`].
    pub system_calls: f64,
    /// Nanoseconds on a CPU by activity. The threads' code declares its activity.
    pub doing: Vec<(Activity, f64)>,
    /// Counts of lines by name. The queue nodes of all threads are one entry.
    pub lines: BTreeMap<String, LineCounts>,
    /// Locks by object name.
    pub locks: BTreeMap<String, LockTime>,
    /// Length of the counted windows in nanoseconds.
    pub window: f64,
    /// Number of operations that finished in the windows.
    pub operations: u64,
    /// Nanoseconds per cycle.
    pub cycle: f64,
    /// Number of guests; 0 counts as 1. The times in `locks` are those of one guest.
    pub guests: u64,
    /// `true` if the operations of a thread differ in their local work.
    pub work_varies: bool,
    /// `true` if a lock that was taken belongs to a lockref, where it shares a word with a count.
    pub locks_in_counts: bool,
    /// Failed compare-exchanges of the script's steps per operation; `None` if it has no such
    /// steps.
    pub failed_exchanges: Option<f64>,
}

impl Costs {
    /// Adds the cycles of one run in a window of `window` cycles, and the use of locks in it, by
    /// name.
    pub fn add(
        &mut self,
        machine: &Machine,
        spent: &CycleAttribution,
        locks: &[(&str, LockTime)],
        window: u64,
    ) {
        for (sum, cycles) in self.nanoseconds.iter_mut().zip(spent.cycles) {
            *sum += machine.nanoseconds(cycles);
        }
        // A call that goes on at the end of a window counts as a whole.
        let working = spent.cycles[CyclePhase::Working as usize];
        self.system_calls += machine.nanoseconds(spent.system_calls.min(working));
        for (index, (activity, cycles)) in spent.regions.iter().enumerate() {
            let off_cpu = cycles[CyclePhase::OffCpu as usize];
            let on_cpu = machine.nanoseconds(cycles.iter().sum::<u64>() - off_cpu);
            if index == self.doing.len() {
                self.doing.push((*activity, 0.0));
            }
            let (doing, sum) = &mut self.doing[index];
            if on_cpu > 0.0 {
                (*doing, *sum) = (*activity, *sum + on_cpu);
            }
        }
        for (name, counts) in &spent.lines {
            let name = if name.starts_with("queue nodes") { "queue nodes" } else { name };
            let sum = self.lines.entry(name.to_owned()).or_default();
            *sum = *sum + *counts;
        }
        for (name, time) in locks.iter().filter(|(_, time)| *time != LockTime::default()) {
            let sum = self.locks.entry((*name).to_owned()).or_default();
            *sum = *sum + *time;
        }
        self.window += machine.nanoseconds(window);
        self.cycle = machine.nanoseconds(1_000_000) / 1e6;
    }

    /// Returns the share of a phase, from 0 to 1.
    pub fn share(&self, phase: CyclePhase) -> f64 {
        let total: f64 = self.nanoseconds.iter().sum();
        if total > 0.0 { self.nanoseconds[phase as usize] / total } else { 0.0 }
    }

    /// Returns the share of the threads' own work, and of the kernel's calls, from 0 to 1.
    pub(super) fn work_and_calls(&self) -> (f64, f64) {
        let working = self.nanoseconds[CyclePhase::Working as usize];
        let share = self.share(CyclePhase::Working);
        let calls = if working > 0.0 { share * self.system_calls / working } else { 0.0 };
        (share - calls, calls)
    }

    /// Returns the shares of the cycles by name: those of the phases, with the kernel's calls, if
    /// there are any, apart from the threads' own work.
    fn shares(&self) -> Vec<(&'static str, f64)> {
        let (work, calls) = self.work_and_calls();
        let mut all = Vec::new();
        for phase in self.phases() {
            match phase {
                CyclePhase::Working => {
                    all.push((phase.name(), work));
                    all.extend((calls > 0.0).then_some((SYSTEM_CALLS, calls)));
                }
                _ => all.push((phase.name(), self.share(phase))),
            }
        }
        all
    }

    /// Returns the share of a phase in the cycles in which threads had a CPU, from 0 to 1. If each
    /// thread has its own CPU, it equals [`share`](Self::share).
    pub fn share_on_cpu(&self, phase: CyclePhase) -> f64 {
        let on_cpu = 1.0 - self.share(CyclePhase::OffCpu);
        if on_cpu > 0.0 { self.share(phase) / on_cpu } else { 0.0 }
    }

    /// Returns the phases for display and for programs. Those of shared CPUs are included only if
    /// threads share CPUs.
    pub(super) fn phases(&self) -> impl Iterator<Item = CyclePhase> {
        let always = |phase: CyclePhase| !matches!(phase, CyclePhase::Answers | CyclePhase::OffCpu);
        CyclePhase::ALL.into_iter().filter(move |&phase| always(phase) || self.share(phase) > 0.0)
    }

    /// Returns the lines, ordered by the time that threads lost on them, longest first.
    pub(super) fn worst(&self) -> Vec<(&str, &LineCounts)> {
        let mut lines: Vec<_> = self.lines.iter().map(|(name, c)| (name.as_str(), c)).collect();
        lines.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.lost()));
        lines
    }

    /// Returns the details of a row.
    pub fn detail(&self) -> CostsDetail {
        let shares = self.shares().into_iter();
        let gain = |bound: Bound| GainDetail {
            operations_per_s: bound.throughput,
            gain_share: bound.gain,
        };
        CostsDetail {
            share: shares.map(|(name, share)| (name.replace(' ', "_"), share)).collect(),
            share_lock_held: self.all_held_share(),
            dominating_cost: self.cause().0.name().to_owned(),
            bottleneck_lock: self.bottleneck().map(|(lock, _)| lock.to_owned()),
            explanation: self.sentence(),
            locks: self.locks.iter().map(|(name, lock)| self.lock_detail(name, lock)).collect(),
            lines: self
                .worst()
                .into_iter()
                .take(SHOWN)
                .map(|(name, line)| self.line_detail(name, line))
                .collect(),
            ideal_locks: self.ideal().map(|bound| IdealLocksDetail {
                operations_per_s: bound.throughput,
                at_most_operations_per_s: bound.at_most,
                gain_share: bound.gain,
            }),
            half_section: self.half_section().map(gain),
            second_lock: self.second_lock().map(gain),
            hold_bound_operations_per_s: self.hold_bound(),
        }
    }

    fn lock_detail(&self, name: &str, lock: &LockTime) -> LockDetail {
        LockDetail {
            lock: name.to_owned(),
            share_held: self.held_share(lock),
            share_handed_over: self.handed_over_share(lock),
            share_serial: self.share_of_time(lock.serial),
            share_held_alone: self.share_of_time(lock.alone),
            held_ns_each_time: self.each_time(lock, lock.held),
            held_stalled_ns_each_time: self.each_time(lock, lock.stalled),
            handed_over_ns_each_time: self.each_time(lock, lock.handed_over()),
            waited_ns_each_time: self.each_time(lock, lock.waited),
            waited_ns_per_operation: self.ns_per_operation(lock.waited),
            knee_threads: self.knee(lock),
        }
    }

    fn line_detail(&self, name: &str, line: &LineCounts) -> LineDetail {
        let over = |of: u64, by: u64| of as f64 / by.max(1) as f64;
        let per_operation = |count: u64| over(count, self.operations);
        let by_distance = |counts: &[u64; 4]| TransfersDetail {
            same_core: per_operation(counts[LineDistance::Core as usize]),
            same_complex: per_operation(counts[LineDistance::Complex as usize]),
            same_socket: per_operation(counts[LineDistance::Socket as usize]),
            another_socket: per_operation(counts[LineDistance::Remote as usize]),
        };
        let in_phase = |phase| self.ns_per_operation(line.cycles[phase as usize]);
        let in_region = |region: Region| {
            let cycles = line.regions[region as usize];
            let name = region.name().replace('-', "_");
            (cycles > 0).then(|| (name, self.ns_per_operation(cycles)))
        };
        LineDetail {
            line: name.to_owned(),
            lost_ns_per_operation: self.ns_per_operation(line.lost()),
            lost_in_ns_per_operation: Region::ALL.into_iter().filter_map(in_region).collect(),
            moving_lines_ns_per_operation: in_phase(CyclePhase::Moving),
            draining_stores_ns_per_operation: in_phase(CyclePhase::Draining),
            waiting_ns_per_operation: in_phase(CyclePhase::Waiting),
            hand_overs_per_operation: by_distance(&line.hand_overs),
            reads_per_operation: by_distance(&line.reads),
            moves_per_operation: per_operation(line.moves),
            needless_moves: over(line.needless(), line.moves),
            missed_polls_per_operation: per_operation(line.missed_polls),
            re_reads_per_hand_over: over(line.missed_polls, line.hand_overs.iter().sum()),
            failed_exchanges_per_success: over(line.failed, line.exchanged),
            rmws_per_ownership: over(line.rmws, line.ownerships),
            queue_length: over(line.queue_length, line.requests),
        }
    }

    fn ns_per_operation(&self, cycles: u64) -> f64 {
        cycles as f64 * self.cycle / self.operations.max(1) as f64
    }

    /// Returns a table of the locks with the longest waits, for display; `None` if there are no
    /// locks.
    fn locks_table(&self) -> Option<Table> {
        let mut locks: Vec<_> = self.locks.iter().collect();
        locks.sort_by_key(|(_, lock)| std::cmp::Reverse(lock.waited));
        let header = ["lock", "held", "handed", "free", "hold ns", "hand ns", "wait ns"];
        let mut table = new_table(&presets::NOTHING, &header, 1);
        for (name, lock) in locks.into_iter().take(SHOWN) {
            let (held, handed) = (self.held_share(lock), self.handed_over_share(lock));
            let mut cells = vec![short(name)];
            let shares = [held, handed, (1.0 - held - handed).max(0.0)];
            cells.extend(shares.map(share));
            let times = [lock.held, lock.handed_over(), lock.waited];
            cells.extend(times.map(|cycles| format!("{:.0}", self.each_time(lock, cycles))));
            table.add_row(cells);
        }
        (!table.is_empty()).then_some(table)
    }

    /// Returns a table of the lines on which threads lost most, for display.
    fn lines_table(&self) -> Table {
        let header = [
            "line", "lost ns", "drain ns", "core", "complex", "socket", "remote", "reads",
            "failed", "RMWs", "queue", "needless", "re-reads",
        ];
        let operations = self.operations.max(1) as f64;
        let mut table = new_table(&presets::NOTHING, &header, 1);
        for (name, line) in self.worst().into_iter().take(SHOWN) {
            let ns = |cycles: u64| format!("{:.1}", cycles as f64 * self.cycle / operations);
            let per_operation = |count: u64| format!("{:.3}", count as f64 / operations);
            let ratio = |a: u64, b: u64| {
                if b > 0 { format!("{:.2}", a as f64 / b as f64) } else { "-".to_owned() }
            };
            let mut cells =
                vec![short(name), ns(line.lost()), ns(line.cycles[CyclePhase::Draining as usize])];
            cells.extend(line.hand_overs.map(per_operation));
            cells.extend([
                per_operation(line.reads.iter().sum()),
                ratio(line.failed, line.exchanged),
                ratio(line.rmws, line.ownerships),
                ratio(line.queue_length, line.requests),
                ratio(line.needless(), line.moves),
                per_operation(line.missed_polls),
            ]);
            table.add_row(cells);
        }
        table
    }

    /// Returns tables for display on a screen of the usual width.
    pub fn table(&self, heading: &str) -> String {
        self.table_on(heading, &Screen::default())
    }

    /// Returns tables for display: a line of shares, the locks, the worst lines, the sentences.
    pub fn table_on(&self, heading: &str, screen: &Screen) -> String {
        let shares = self.shares().into_iter();
        let shares: Vec<String> =
            shares.map(|(name, part)| format!("{name} {}", share(part))).collect();
        let shares = prose(&format!("cycles of all threads: {}", shares.join(", ")));
        let mut text = format!("{heading}\n{shares}\n");
        for table in self.locks_table().into_iter().chain([self.lines_table()]) {
            text.push_str(&format!("\n{}\n", screen.figures(&table, 1)));
        }
        text.push_str(&format!("\n{}\n", prose(&self.sentence())));
        screen.wrap(&text)
    }
}

/// Returns the start of a name that is too long for its column.
pub(super) fn short(name: &str) -> String {
    name.chars().take(28).collect()
}

/// Returns text below a heading, wrapped on a screen.
fn prose(text: &str) -> String {
    format!("  {text}")
}

/// Returns the meaning of the columns of [`Costs::table`].
pub fn legend() -> String {
    LEGEND.to_owned()
}

const LEGEND: &str = "Explanations. A lock is `held`, or `handed` over (wanted and not held), \
                      or `free`. `hold ns`, `hand ns`, `wait ns`: \
                      nanoseconds each time that it was taken. `lost ns`: \
                      nanoseconds per operation that threads lost on the line. `drain ns`: \
                      the part of them in which operations waited for the store buffer. \
                      Hand-overs per operation, to another thread of the same `core`, `complex`, \
                      `socket`, or a `remote` one. `reads`: loads per operation that fetched the \
                      line from where another thread had changed it. `failed`: \
                      failed compare-exchanges per success. `RMWs`: per ownership. `queue`: \
                      mean length at the agent when a request arrives. `needless`: \
                      share of the moves that brought nothing that other threads wrote. \
                      `re-reads`: polls of waiting loops that missed, without each loop's first, \
                      per operation.";
