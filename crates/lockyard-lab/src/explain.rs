//! Why a predicted figure is what it is: where the cycles of all threads went, by phase and by line, and one sentence that
//! names the cost that dominates (its rules: [`Cause`]).

mod cause;

pub use cause::Cause;

use crate::rows::Detail;
use lockyard_scenarios::{Activity, Region};
use lockyard_sim::{Attribution, Distance, LineCounts, Machine, PHASES, Phase};
use std::collections::BTreeMap;

/// So many lines are shown.
const SHOWN: usize = 6;

/// How a lock was held, in cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockTime {
    /// Cycles in which it was held.
    pub held: u64,
    /// Those of them in which the holder's operations waited for lines or for its store buffer.
    pub stalled: u64,
    /// Cycles that threads waited for it, all threads together.
    pub waited: u64,
}

impl std::ops::Div<u64> for LockTime {
    type Output = LockTime;

    fn div(self, of: u64) -> LockTime {
        LockTime { held: self.held / of, stalled: self.stalled / of, waited: self.waited / of }
    }
}

/// Where the cycles of a cell went, all runs together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// Nanoseconds of all threads by [`Phase`].
    pub nanoseconds: [f64; PHASES],
    /// The same on a CPU by what the threads' code says that it does.
    pub doing: Vec<(Activity, f64)>,
    /// Lines by name; queue nodes of all threads are one entry.
    pub lines: BTreeMap<String, LineCounts>,
    /// Locks by the name of their object.
    pub locks: BTreeMap<String, LockTime>,
    /// Nanoseconds that were counted.
    pub window: f64,
    /// Operations that were finished in them.
    pub operations: u64,
    /// Nanoseconds of a cycle.
    pub cycle: f64,
}

impl Costs {
    /// Adds what one run spent in a window of `window` cycles, and how the locks were held in it, by name.
    pub fn add(
        &mut self,
        machine: &Machine,
        spent: &Attribution,
        locks: &[(&str, LockTime)],
        window: u64,
    ) {
        for (sum, cycles) in self.nanoseconds.iter_mut().zip(spent.cycles) {
            *sum += machine.nanoseconds(cycles);
        }
        for (index, (activity, cycles)) in spent.regions.iter().enumerate() {
            let off_cpu = cycles[Phase::OffCpu as usize];
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
            sum.held += time.held;
            sum.stalled += time.stalled;
            sum.waited += time.waited;
        }
        self.window += machine.nanoseconds(window);
        self.cycle = machine.nanoseconds(1_000_000) / 1e6;
    }

    /// The share of a phase, 0 to 1.
    pub fn share(&self, phase: Phase) -> f64 {
        let total: f64 = self.nanoseconds.iter().sum();
        if total > 0.0 { self.nanoseconds[phase as usize] / total } else { 0.0 }
    }

    /// The share of a phase in the cycles that threads had a CPU, 0 to 1. The same as [`share`](Self::share) where each has its
    /// own.
    pub fn share_on_cpu(&self, phase: Phase) -> f64 {
        let on_cpu = 1.0 - self.share(Phase::OffCpu);
        if on_cpu > 0.0 { self.share(phase) / on_cpu } else { 0.0 }
    }

    /// The phases for people and programs: those of threads that share CPUs only where there are such.
    fn phases(&self) -> impl Iterator<Item = Phase> {
        let always = |phase: Phase| !matches!(phase, Phase::Answers | Phase::OffCpu);
        Phase::ALL.into_iter().filter(move |&phase| always(phase) || self.share(phase) > 0.0)
    }

    /// The share of the time in which a lock was held.
    pub fn held_share(&self, lock: &LockTime) -> f64 {
        if self.window > 0.0 { lock.held as f64 * self.cycle / self.window } else { 0.0 }
    }

    /// The same of all locks together; above 1 with several.
    pub fn all_held_share(&self) -> f64 {
        self.locks.values().map(|lock| self.held_share(lock)).sum()
    }

    /// The lines, those first on which threads lost most.
    fn worst(&self) -> Vec<(&str, &LineCounts)> {
        let mut lines: Vec<_> = self.lines.iter().map(|(name, c)| (name.as_str(), c)).collect();
        lines.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.lost()));
        lines
    }

    /// For programs.
    pub fn detail(&self, detail: &mut BTreeMap<String, Detail>) {
        let mut put = |name: String, value: f64| {
            detail.insert(name, Detail::Number(value));
        };
        for phase in self.phases() {
            put(format!("share_{}", phase.name().replace(' ', "_")), self.share(phase));
        }
        put("share_lock_held".to_owned(), self.all_held_share());
        let operations = self.operations.max(1) as f64;
        for (name, lock) in &self.locks {
            put(format!("lock {name}: share_held"), self.held_share(lock));
            put(
                format!("lock {name}: waited_ns_per_operation"),
                lock.waited as f64 * self.cycle / operations,
            );
        }
        for (name, line) in self.worst().into_iter().take(SHOWN) {
            let key = |what: &str| format!("line {name}: {what}");
            put(key("lost_ns_per_operation"), line.lost() as f64 * self.cycle / operations);
            for phase in [Phase::Moving, Phase::Draining, Phase::Waiting] {
                let what = format!("{}_ns_per_operation", phase.name().replace(' ', "_"));
                put(key(&what), line.cycles[phase as usize] as f64 * self.cycle / operations);
            }
            for region in Region::ALL {
                let cycles = line.regions[region as usize];
                if cycles > 0 {
                    let what =
                        format!("lost_in_{}_ns_per_operation", region.name().replace('-', "_"));
                    put(key(&what), cycles as f64 * self.cycle / operations);
                }
            }
            for distance in Distance::ALL {
                let name = distance.name().replace(' ', "_");
                let hand_overs = line.hand_overs[distance as usize] as f64;
                put(key(&format!("hand_overs_{name}_per_operation")), hand_overs / operations);
                let reads = line.reads[distance as usize] as f64;
                put(key(&format!("reads_{name}_per_operation")), reads / operations);
            }
            put(key("moves_per_operation"), line.moves as f64 / operations);
            put(
                key("re_reads_per_hand_over"),
                line.missed_polls as f64 / line.hand_overs.iter().sum::<u64>().max(1) as f64,
            );
            put(
                key("failed_exchanges_per_success"),
                line.failed as f64 / line.exchanged.max(1) as f64,
            );
            put(key("rmws_per_ownership"), line.rmws as f64 / line.ownerships.max(1) as f64);
            put(key("queue_length"), line.queue_length as f64 / line.requests.max(1) as f64);
            put(key("needless_moves"), line.needless() as f64 / line.moves.max(1) as f64);
            put(key("missed_polls_per_operation"), line.missed_polls as f64 / operations);
        }
        let (cause, _) = self.cause();
        detail.insert("dominating_cost".to_owned(), Detail::Text(cause.name().to_owned()));
        detail.insert("explanation".to_owned(), Detail::Text(self.sentence()));
    }

    /// The locks on which threads waited longest, for people; empty if there are none.
    fn held(&self) -> String {
        let mut locks: Vec<_> = self.locks.iter().collect();
        locks.sort_by_key(|(_, lock)| std::cmp::Reverse(lock.waited));
        let one = |(name, lock): &(&String, &LockTime)| {
            format!("`{name}` {:.1} %", self.held_share(lock) * 100.0)
        };
        let shown: Vec<String> = locks.iter().take(SHOWN).map(one).collect();
        if shown.is_empty() {
            String::new()
        } else {
            format!("\n  locks are held: {} of the time", shown.join(", "))
        }
    }

    /// A table for people: a line of shares, the lines on which threads lost most, the sentence.
    pub fn table(&self, heading: &str) -> String {
        let shares: Vec<String> = self
            .phases()
            .map(|phase| format!("{} {:.1} %", phase.name(), self.share(phase) * 100.0))
            .collect();
        let operations = self.operations.max(1) as f64;
        let mut text =
            format!("{heading}\n  cycles of all threads: {}{}\n", shares.join(", "), self.held());
        text.push_str(&format!("  {:<28} {:>9}", "line", "lost ns"));
        for column in [
            "drain ns", "core", "complex", "socket", "remote", "reads", "failed", "RMWs", "queue",
            "needless", "re-reads",
        ] {
            text.push_str(&format!(" {column:>8}"));
        }
        text.push('\n');
        for (name, line) in self.worst().into_iter().take(SHOWN) {
            let per_operation = |count: u64| format!("{:.3}", count as f64 / operations);
            let ratio = |a: u64, b: u64| {
                if b > 0 { format!("{:.2}", a as f64 / b as f64) } else { "-".to_owned() }
            };
            let short: String = name.chars().take(28).collect();
            text.push_str(&format!(
                "  {short:<28} {:>9.1} {:>8.1} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n",
                line.lost() as f64 * self.cycle / operations,
                line.cycles[Phase::Draining as usize] as f64 * self.cycle / operations,
                per_operation(line.hand_overs[0]),
                per_operation(line.hand_overs[1]),
                per_operation(line.hand_overs[2]),
                per_operation(line.hand_overs[3]),
                per_operation(line.reads.iter().sum()),
                ratio(line.failed, line.exchanged),
                ratio(line.rmws, line.ownerships),
                ratio(line.queue_length, line.requests),
                ratio(line.needless(), line.moves),
                per_operation(line.missed_polls)
            ));
        }
        text.push_str(&format!("  {}\n", self.sentence()));
        text
    }
}

/// What the columns of [`Costs::table`] mean.
pub const LEGEND: &str = "Explanations: `lost ns`: nanoseconds that threads lost on the line, an operation; `drain ns`: those of them \
    in which operations waited for the store buffer; hand-overs an operation, to another thread of the same core, complex, socket, \
    or a remote one; `reads`: loads an operation that fetched the line from where another thread had changed it; `failed`: \
    compare-exchanges for each that succeeded; `RMWs`: an ownership; `queue`: mean length at the agent when a request arrives; \
    `needless`: share of the moves that \
    brought nothing that others had done; `re-reads`: polls of waiting loops that missed, \
    without each loop's first, an operation.";
