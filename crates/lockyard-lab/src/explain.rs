//! Why a predicted figure is what it is: where the cycles of all threads went, by phase and by line, and one sentence that
//! names the cost that dominates.
//!
//! The rules of the sentence, in this order; shares are of the cycles of all threads:
//!
//! 1. At least 60 % are the threads' own work: *local work*.
//! 2. Of the rest the largest share decides. *Draining stores*: operations wait for the store buffer.
//! 3. *Waiting*: a lock that is held, by holders that mostly work, for at least half of the time: *late holders*. At least
//!    three re-reads by waiters for each hand-over of the line: *wake-up storm*. Else the hand-over.
//! 4. *Moving lines*: at least half of the moves of the line are for a unit that nobody else touches: *false sharing*. At
//!    least one failed compare-exchange for each that succeeds: *failed compare-exchanges*. Else the hand-over.
//! 5. A hand-over is *remote* if at least half of the line's hand-overs are to another socket.

use crate::rows::Detail;
use lockyard_sim::{Attribution, Distance, LineCounts, Machine, Phase};
use std::collections::BTreeMap;

/// So many lines are shown.
const SHOWN: usize = 6;

/// Where the cycles of a cell went, all runs together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// Nanoseconds of all threads by [`Phase`].
    pub nanoseconds: [f64; 4],
    /// Lines by name; queue nodes of all threads are one entry.
    pub lines: BTreeMap<String, LineCounts>,
    /// Nanoseconds in which locks were held, all locks together.
    pub held: f64,
    /// Those of them in which the holder's operations waited for lines.
    pub held_stalled: f64,
    /// Nanoseconds that were counted.
    pub window: f64,
    /// Operations that were finished in them.
    pub operations: u64,
    /// Nanoseconds of a cycle.
    pub cycle: f64,
}

/// What dominates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The threads' own work.
    LocalWork,
    /// Operations that wait until the store buffer is empty.
    StoreBuffer,
    /// Waiters wait for holders that work, or that were not running.
    LateHolder,
    /// Waiters re-read a line whenever it changes.
    WakeUpStorm,
    /// A line moves for what stands beside it.
    FalseSharing,
    /// Compare-exchanges that fail, and are repeated.
    FailedExchange,
    /// Lines that move between sockets.
    RemoteHandOver,
    /// Lines that move within a socket.
    HandOver,
}

impl Cause {
    /// For results.
    pub fn name(self) -> &'static str {
        match self {
            Cause::LocalWork => "local work",
            Cause::StoreBuffer => "store-buffer drain",
            Cause::LateHolder => "late holder",
            Cause::WakeUpStorm => "wake-up storm",
            Cause::FalseSharing => "false sharing",
            Cause::FailedExchange => "failed compare-exchange",
            Cause::RemoteHandOver => "remote hand-over",
            Cause::HandOver => "hand-over",
        }
    }
}

impl Costs {
    /// Adds what one run spent in a window of `window` cycles, in which locks were held for so many cycles, and for so
    /// many of these by a holder whose operations waited for lines.
    pub fn add(
        &mut self,
        machine: &Machine,
        spent: &Attribution,
        (held, held_stalled): (u64, u64),
        window: u64,
    ) {
        for (sum, cycles) in self.nanoseconds.iter_mut().zip(spent.cycles) {
            *sum += machine.nanoseconds(cycles);
        }
        for (name, counts) in &spent.lines {
            let name = if name.starts_with("queue nodes") { "queue nodes" } else { name };
            let sum = self.lines.entry(name.to_owned()).or_default();
            *sum = *sum + *counts;
        }
        self.held += machine.nanoseconds(held);
        self.held_stalled += machine.nanoseconds(held_stalled);
        self.window += machine.nanoseconds(window);
        self.cycle = machine.nanoseconds(1_000_000) / 1e6;
    }

    /// The share of a phase, 0 to 1.
    pub fn share(&self, phase: Phase) -> f64 {
        let total: f64 = self.nanoseconds.iter().sum();
        if total > 0.0 { self.nanoseconds[phase as usize] / total } else { 0.0 }
    }

    /// The share of the time in which locks were held; above 1 with several locks.
    pub fn held_share(&self) -> f64 {
        if self.window > 0.0 { self.held / self.window } else { 0.0 }
    }

    /// The lines, those first on which threads lost most.
    fn worst(&self) -> Vec<(&str, &LineCounts)> {
        let mut lines: Vec<_> = self.lines.iter().map(|(name, c)| (name.as_str(), c)).collect();
        lines.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.lost()));
        lines
    }

    /// The line on which threads lost most in a phase.
    fn worst_in(&self, phase: Phase) -> Option<(&str, &LineCounts)> {
        self.lines
            .iter()
            .map(|(name, counts)| (name.as_str(), counts))
            .max_by_key(|(_, counts)| counts.cycles[phase as usize])
            .filter(|(_, counts)| counts.cycles[phase as usize] > 0)
    }

    /// What dominates, and the line on which it shows.
    pub fn cause(&self) -> (Cause, Option<&str>) {
        let late = self.held_share() >= 0.5;
        if self.share(Phase::Working) >= 0.6 {
            return (Cause::LocalWork, None);
        }
        let lost = [Phase::Moving, Phase::Draining, Phase::Waiting];
        let most = lost.into_iter().max_by(|&a, &b| self.share(a).total_cmp(&self.share(b)));
        let phase = most.unwrap_or(Phase::Moving);
        let Some((name, line)) = self.worst_in(phase) else {
            return (Cause::LocalWork, None);
        };
        let hand_overs = line.hand_overs.iter().sum::<u64>().max(1);
        let remote = 2 * line.hand_overs[Distance::Remote as usize] >= hand_overs;
        let hand_over = if remote { Cause::RemoteHandOver } else { Cause::HandOver };
        let cause = match phase {
            Phase::Draining => Cause::StoreBuffer,
            Phase::Waiting if late && self.held_stalled < self.held / 2.0 => Cause::LateHolder,
            Phase::Waiting if line.missed_polls >= 3 * hand_overs => Cause::WakeUpStorm,
            Phase::Waiting => hand_over,
            _ if 2 * line.needless >= line.moves.max(1) => Cause::FalseSharing,
            _ if line.failed >= line.exchanged.max(1) => Cause::FailedExchange,
            _ => hand_over,
        };
        (cause, Some(name))
    }

    /// One sentence for people.
    pub fn sentence(&self) -> String {
        let (cause, name) = self.cause();
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let line = name.and_then(|name| self.lines.get(name)).copied().unwrap_or_default();
        let name = name.unwrap_or_default();
        let hand_overs = line.hand_overs.iter().sum::<u64>().max(1) as f64;
        let per = |a: u64, b: u64| a as f64 / b.max(1) as f64;
        match cause {
            Cause::LocalWork => format!(
                "Local work dominates: threads spend {} of their cycles on work of their own.",
                percent(self.share(Phase::Working))
            ),
            Cause::StoreBuffer => format!(
                "Store-buffer drain dominates: {} of all cycles go by while operations wait until earlier stores, most to \
                 `{name}`, are in the cache.",
                percent(self.share(Phase::Draining))
            ),
            Cause::LateHolder => format!(
                "Late holders dominate: locks are held for {} of the time by threads that do their own work (or do not run), \
                 and {} of all cycles are spent waiting for them on `{name}`; a faster lock would change little.",
                percent(self.held_share()),
                percent(self.share(Phase::Waiting))
            ),
            Cause::WakeUpStorm => format!(
                "A wake-up storm dominates: each hand-over of `{name}` is followed by {:.1} re-reads by waiters, one after \
                 another, and {} of all cycles are spent waiting.",
                line.missed_polls as f64 / hand_overs,
                percent(self.share(Phase::Waiting))
            ),
            Cause::FalseSharing => format!(
                "False sharing dominates: {} of the moves of the line of `{name}` are for a word that nobody else touches, and \
                 {} of all cycles are spent on moving lines; put what is in the line into lines of its own.",
                percent(per(line.needless, line.moves)),
                percent(self.share(Phase::Moving))
            ),
            Cause::FailedExchange => format!(
                "Failed compare-exchanges dominate: {:.1} on `{name}` fail for each that succeeds, and each takes the line all \
                 the same; {} of all cycles are spent on moving lines.",
                per(line.failed, line.exchanged),
                percent(self.share(Phase::Moving))
            ),
            Cause::RemoteHandOver => format!(
                "Remote hand-overs dominate: {} of the hand-overs of `{name}` are to another socket, and {} of all cycles are \
                 spent waiting for lines.",
                percent(line.hand_overs[Distance::Remote as usize] as f64 / hand_overs),
                percent(self.share(Phase::Moving) + self.share(Phase::Waiting))
            ),
            Cause::HandOver => format!(
                "Hand-overs within a socket dominate: `{name}` is handed over {:.1} times an operation, and {} of all cycles \
                 are spent waiting for lines.",
                hand_overs / self.operations.max(1) as f64,
                percent(self.share(Phase::Moving) + self.share(Phase::Waiting))
            ),
        }
    }

    /// For programs.
    pub fn detail(&self, detail: &mut BTreeMap<String, Detail>) {
        let mut put = |name: String, value: f64| {
            detail.insert(name, Detail::Number(value));
        };
        for phase in Phase::ALL {
            put(format!("share_{}", phase.name().replace(' ', "_")), self.share(phase));
        }
        put("share_lock_held".to_owned(), self.held_share());
        let operations = self.operations.max(1) as f64;
        for (name, line) in self.worst().into_iter().take(SHOWN) {
            let key = |what: &str| format!("line {name}: {what}");
            put(key("lost_ns_per_operation"), line.lost() as f64 * self.cycle / operations);
            for distance in Distance::ALL {
                let count = line.hand_overs[distance as usize] as f64;
                let what =
                    format!("hand_overs_{}_per_operation", distance.name().replace(' ', "_"));
                put(key(&what), count / operations);
            }
            put(
                key("failed_exchanges_per_success"),
                line.failed as f64 / line.exchanged.max(1) as f64,
            );
            put(key("rmws_per_ownership"), line.rmws as f64 / line.ownerships.max(1) as f64);
            put(key("queue_length"), line.queue_length as f64 / line.requests.max(1) as f64);
            put(key("needless_moves"), line.needless as f64 / line.moves.max(1) as f64);
            put(key("missed_polls_per_operation"), line.missed_polls as f64 / operations);
        }
        let (cause, _) = self.cause();
        detail.insert("dominating_cost".to_owned(), Detail::Text(cause.name().to_owned()));
        detail.insert("explanation".to_owned(), Detail::Text(self.sentence()));
    }

    /// A table for people: a line of shares, the lines on which threads lost most, the sentence.
    pub fn table(&self, heading: &str) -> String {
        let shares: Vec<String> = Phase::ALL
            .iter()
            .map(|&phase| format!("{} {:.1} %", phase.name(), self.share(phase) * 100.0))
            .collect();
        let operations = self.operations.max(1) as f64;
        let mut text = format!(
            "{heading}\n  cycles of all threads: {}; locks held {:.1} % of the time\n",
            shares.join(", "),
            self.held_share() * 100.0
        );
        text.push_str(&format!(
            "  {:<28} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n",
            "line",
            "lost ns",
            "core",
            "complex",
            "socket",
            "remote",
            "failed",
            "RMWs",
            "queue",
            "needless",
            "re-reads"
        ));
        for (name, line) in self.worst().into_iter().take(SHOWN) {
            let per_operation = |count: u64| format!("{:.3}", count as f64 / operations);
            let ratio = |a: u64, b: u64| {
                if b > 0 { format!("{:.2}", a as f64 / b as f64) } else { "-".to_owned() }
            };
            let short: String = name.chars().take(28).collect();
            text.push_str(&format!(
                "  {short:<28} {:>9.1} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n",
                line.lost() as f64 * self.cycle / operations,
                per_operation(line.hand_overs[0]),
                per_operation(line.hand_overs[1]),
                per_operation(line.hand_overs[2]),
                per_operation(line.hand_overs[3]),
                ratio(line.failed, line.exchanged),
                ratio(line.rmws, line.ownerships),
                ratio(line.queue_length, line.requests),
                ratio(line.needless, line.moves),
                per_operation(line.missed_polls)
            ));
        }
        text.push_str(&format!("  {}\n", self.sentence()));
        text
    }
}

/// What the columns of [`Costs::table`] mean.
pub const LEGEND: &str = "Explanations: `lost ns`: nanoseconds that threads lost on the line, an operation; hand-overs an \
    operation, to another thread of the same core, complex, socket, or a remote one; `failed`: compare-exchanges for each that \
    succeeded; `RMWs`: an ownership; `queue`: mean length at the agent when a request arrives; `needless`: share of the moves for \
    a word that nobody else touches; `re-reads`: polls of waiting loops that missed, an operation.";
