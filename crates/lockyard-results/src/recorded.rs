//! Answers on a recorded program, beside the rows of its prediction: where its time goes today,
//! which lock saturates at how many threads, which change gives most.

use crate::details::Range;
use crate::growth::Growth;
use crate::open::OpenLoad;
use crate::what_if::{Proof, Scaling, WaitsFor, WhatIf};
use lockyard_support::{share, threads as in_words};
use serde::Serialize;

/// Share of the time from which a lock counts as saturated: it is held, or wanted and not held.
pub const SATURATED_SHARE: f64 = 0.9;

/// Answers on a recorded program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecordedProgram {
    /// Name of the program.
    pub program: String,
    /// Unit of its operations a second.
    pub unit: String,
    /// True if the replay of the recorded run passed the gate.
    pub gated: bool,
    /// The replay of the recorded run beside the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Replay>,
    /// Growth with the number of threads; `None` with one recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// Reason for which predictions are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Advice for that case, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
    /// Shares of the threads' time, as recorded.
    pub today: Today,
    /// Use of each lock on each machine, in the simulation of the recorded program.
    pub saturation: Vec<LockSaturation>,
    /// Best change on each machine.
    pub best_changes: Vec<BestChange>,
    /// Throughput as it is, on each machine.
    pub scaling: Vec<Scaling>,
    /// Open loads: requests that come from outside.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<OpenLoad>,
    /// Changes that were predicted, those of the largest machine and number of threads first. JSON
    /// has them beside the facts.
    #[serde(skip)]
    pub what_if: Vec<WhatIf>,
    /// Threads that wait for others. JSON has them beside the facts.
    #[serde(skip)]
    pub waits_for: Vec<WaitsFor>,
    /// A change that was tried here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Next steps, in sentences without a full stop.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<String>,
}

/// The replay of the recorded run beside the run itself. Nothing is fitted to these figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Replay {
    /// Number of threads.
    pub threads: usize,
    /// Acquisitions a second of the recorded run.
    pub recorded_acquisitions_per_s: f64,
    /// True if this is the rate of the time that no events were written.
    pub outside_windows: bool,
    /// Acquisitions a second of the replay; `None` if the run was not replayed.
    pub predicted_acquisitions_per_s: Option<f64>,
    /// Difference, relative to the recorded figure.
    pub error_share: Option<f64>,
    /// Largest difference that the gate allows.
    pub allowed_share: f64,
    /// Number of sleeps of the threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sleeps: Option<Sleeps>,
    /// True if the gate passed.
    pub passed: bool,
}

/// Number of sleeps for each acquisition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Sleeps {
    /// In the recorded run: its voluntary context switches.
    pub recorded_per_acquisition: f64,
    /// In the replay.
    pub predicted_per_acquisition: f64,
}

impl Replay {
    /// Returns the result in sentences.
    pub fn sentence(&self) -> String {
        let threads = in_words(self.threads);
        let grouped = |rate: f64| lockyard_support::grouped(rate.round() as u64);
        let recorded = grouped(self.recorded_acquisitions_per_s);
        let of = if self.outside_windows { ", while no events were written" } else { "" };
        let (Some(predicted), Some(error)) = (self.predicted_acquisitions_per_s, self.error_share)
        else {
            return format!(
                "Gate: refused. {threads}, recorded {recorded} acquisitions/s{of}; nothing is \
                 predicted."
            );
        };
        let result = if self.passed { "passed" } else { "refused" };
        let sleeps =
            self.sleeps.map_or_else(String::new, |sleeps| format!(" {}", sleeps.sentence()));
        format!(
            "Gate: {result}. On the recording's host with {threads}, predicted {} and recorded \
             {recorded} acquisitions/s{of} ({:+.1} %; allowed: {:.0} %).{sleeps}",
            grouped(predicted),
            error * 100.0,
            self.allowed_share * 100.0
        )
    }
}

impl Sleeps {
    fn sentence(self) -> String {
        let share = |sleeps: f64| format!("{:.2} %", sleeps * 100.0);
        format!(
            "Sleeps, for each acquisition: predicted {}, recorded {}.",
            share(self.predicted_per_acquisition),
            share(self.recorded_per_acquisition)
        )
    }
}

/// Shares of the threads' time. The shares, with those of all locks, are together 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Today {
    /// Mean number of threads.
    pub threads: f64,
    /// Acquisitions a second.
    pub acquisitions_per_s: f64,
    /// Share of time on a CPU, outside of locks.
    pub share_outside: f64,
    /// Share of time asleep, outside of locks.
    pub share_asleep: f64,
    /// Share of time that a thread could run, and another one had the CPU.
    pub share_without_cpu: f64,
    /// Share of time under locks, of all locks.
    pub share_held: f64,
    /// Share of time in waits for locks, of all locks.
    pub share_waited: f64,
    /// Locks, or groups of locks. The one that costs most time comes first.
    pub locks: Vec<LockToday>,
}

/// Time of a lock, or of a group of locks of which a call site takes one at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LockToday {
    /// Name.
    pub lock: String,
    /// Call site that takes it most often: file and line, if they are known.
    pub site: String,
    /// Acquisitions a second.
    pub acquisitions_per_s: f64,
    /// Share of the threads' time under the lock.
    pub share_held: f64,
    /// Share of the threads' time in waits for the lock.
    pub share_waited: f64,
    /// Mean time under the lock each time, in nanoseconds.
    pub held_ns_each_time: f64,
    /// Mean wait each time, in nanoseconds.
    pub waited_ns_each_time: f64,
    /// The parts of reads and of writes, of a reader-writer lock.
    #[serde(flatten)]
    pub accesses: Option<Accesses>,
}

/// Time of a reader-writer lock, by access. Together they are that of the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Accesses {
    /// Of reads, which share the lock.
    pub reads: AccessToday,
    /// Of writes.
    pub writes: AccessToday,
}

/// Time of one kind of access to a lock: as of the whole lock in [`LockToday`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct AccessToday {
    /// Acquisitions a second.
    pub acquisitions_per_s: f64,
    /// Share of the threads' time under the lock.
    pub share_held: f64,
    /// Share of the threads' time in waits for the lock.
    pub share_waited: f64,
    /// Mean time under the lock each time, in nanoseconds.
    pub held_ns_each_time: f64,
    /// Mean wait each time, in nanoseconds.
    pub waited_ns_each_time: f64,
}

impl LockToday {
    /// Returns the times of all accesses together.
    pub fn all(&self) -> AccessToday {
        AccessToday {
            acquisitions_per_s: self.acquisitions_per_s,
            share_held: self.share_held,
            share_waited: self.share_waited,
            held_ns_each_time: self.held_ns_each_time,
            waited_ns_each_time: self.waited_ns_each_time,
        }
    }
}

impl Accesses {
    /// Returns both with their names, in words and in JSON.
    pub fn each(self) -> [(&'static str, AccessToday); 2] {
        [("reads", self.reads), ("writes", self.writes)]
    }
}

/// Use of a lock on a machine. Of a group of locks, it is that of the busiest one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LockSaturation {
    /// Machine.
    pub machine: String,
    /// Name.
    pub lock: String,
    /// First of the predicted numbers of threads at which the lock is saturated.
    pub saturated_at_threads: Option<usize>,
    /// Estimated number of threads from which the lock is never free. The estimate is made at the
    /// largest predicted number at which the lock is not saturated, or at the smallest one.
    pub knee_threads: f64,
    /// Use at the largest number of threads.
    pub at_most: LockUse,
    /// Use at each number of threads.
    pub use_by_threads: Vec<LockUse>,
}

/// Use of a lock at a number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LockUse {
    /// Number of threads.
    pub threads: usize,
    /// Share of the time that the lock was held; of a reader-writer lock, by a writer.
    pub share_held: f64,
    /// Share of the time that the lock was held, or wanted and not held. Of readers, the time
    /// counts in which they acquire or release it.
    pub share_busy: f64,
}

/// Change that gives most at the largest number of threads of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BestChange {
    /// Machine.
    pub machine: String,
    /// Number of threads.
    pub threads: usize,
    /// Number of changes that were predicted.
    pub compared: usize,
    /// Variant with the change.
    pub variant: String,
    /// Change in words.
    pub title: String,
    /// Operations a second with the change.
    pub operations_per_s: f64,
    /// Interval of these.
    pub interval: Option<Range>,
    /// Operations a second without it.
    pub recorded_operations_per_s: f64,
    /// Interval of these.
    pub recorded_interval: Option<Range>,
    /// Gain, relative to the program without the change.
    pub gain_share: f64,
    /// True if the intervals overlap.
    pub within_intervals: bool,
}

impl RecordedProgram {
    /// Returns the mark of figures that are not gated, as the end of a title.
    pub fn mark(&self) -> &'static str {
        if self.gated { "" } else { " (not gated)" }
    }

    /// Returns the answers in sentences: what limits the program today, and on each machine the
    /// lock that saturates first, and the best change.
    pub fn sentences(&self) -> Vec<String> {
        let mut all = vec![self.today.sentence()];
        all.extend(self.waits_for.iter().map(WaitsFor::sentence));
        let facts = all.len();
        all.extend(self.machines().into_iter().map(|machine| self.saturated(machine)));
        all.extend(self.several_saturated());
        all.extend(self.open.iter().map(OpenLoad::sentence));
        all.extend(self.best_changes.iter().map(BestChange::sentence));
        let mark = self.mark();
        all.iter_mut().skip(facts).for_each(|sentence| sentence.push_str(mark));
        all.extend(self.refusal());
        all
    }

    /// Returns the reason why there is no prediction, and what to do, if it is refused.
    pub fn refusal(&self) -> Option<String> {
        let none = self.saturation.is_empty() && self.best_changes.is_empty();
        let why = self.refused.as_ref().filter(|_| none)?;
        let advice: String = self.advice.iter().map(|advice| format!(" {advice}")).collect();
        Some(format!("No prediction: {why}.{advice}"))
    }

    /// Returns a sentence on each machine where several locks are saturated at its largest
    /// number of threads: one of them alone is not the bottleneck.
    pub fn several_saturated(&self) -> Vec<String> {
        let of_machine = |machine: &str| {
            let is_saturated = |of: &&LockSaturation| of.at_most.share_busy >= SATURATED_SHARE;
            let all: Vec<_> = self.on(machine).map(|(_, of)| of).filter(is_saturated).collect();
            let names: Vec<&str> = all.iter().map(|of| of.lock.as_str()).collect();
            let threads = in_words(all.first()?.at_most.threads);
            (all.len() > 1).then(|| {
                format!(
                    "On {machine} with {threads}, {} locks are saturated: {}; a change of one of \
                     them alone gives little.",
                    all.len(),
                    names.join(", ")
                )
            })
        };
        self.machines().into_iter().filter_map(of_machine).collect()
    }

    /// Returns the machines, in their order.
    pub fn machines(&self) -> Vec<&str> {
        let mut machines: Vec<&str> = Vec::new();
        for of in &self.saturation {
            if !machines.contains(&of.machine.as_str()) {
                machines.push(&of.machine);
            }
        }
        machines
    }

    /// Returns the locks of a machine with their places in the list, the busiest first.
    pub fn on<'a>(&'a self, machine: &'a str) -> impl Iterator<Item = (usize, &'a LockSaturation)> {
        self.saturation.iter().enumerate().filter(move |(_, lock)| lock.machine == machine)
    }

    /// Returns the sentence on the first lock that saturates on a machine.
    fn saturated(&self, machine: &str) -> String {
        let on = || self.on(machine).map(|(_, of)| of);
        let first = on().filter_map(|of| Some((of.saturated_at_threads?, of)));
        match first.min_by_key(|(threads, _)| *threads) {
            Some((threads, of)) => {
                format!("On {machine}, {} saturates first, at {}.", of.lock, in_words(threads))
            }
            None => {
                let most = on().map(|of| of.at_most.threads).max().unwrap_or(0);
                format!("On {machine}, no lock saturates up to {}.", in_words(most))
            }
        }
    }
}

impl Today {
    /// Returns the parts of all threads' time: name, share, name in JSON.
    pub fn parts(&self) -> [(&'static str, f64, &'static str); 5] {
        [
            ("outside of locks", self.share_outside, "share_outside"),
            ("under locks", self.share_held, "share_held"),
            ("waiting for locks", self.share_waited, "share_waited"),
            ("asleep", self.share_asleep, "share_asleep"),
            ("without a CPU", self.share_without_cpu, "share_without_cpu"),
        ]
    }

    fn sentence(&self) -> String {
        let parts = self.parts().map(|(name, part, _)| format!("{name} {}", share(part)));
        let most = self.locks.first().map(|lock| {
            let share = share(lock.share_held + lock.share_waited);
            format!(" The costliest lock is {}: {share} held or waited for.", lock.lock)
        });
        format!("Today, the threads' time: {}.{}", parts.join(", "), most.unwrap_or_default())
    }
}

impl BestChange {
    /// Returns the change in a sentence.
    pub fn sentence(&self) -> String {
        let BestChange { machine, threads, compared, variant, title, .. } = self;
        let threads = in_words(*threads);
        let gain = self.gain_share * 100.0;
        let changes = if *compared == 1 { "change" } else { "changes" };
        if self.gain_share <= 0.0 {
            return format!(
                "On {machine} with {threads}, none of {compared} {changes} gives more; the best \
                 is {variant} ({title}), {gain:+.1} %."
            );
        }
        let sure = match (self.within_intervals, self.interval) {
            (true, _) => ", within the intervals: it may give nothing",
            (false, Some(_)) => ", beyond the intervals",
            (false, None) => "",
        };
        format!(
            "On {machine} with {threads}, the best of {compared} {changes} is {variant} \
             ({title}): {gain:+.1} %{sure}."
        )
    }
}
