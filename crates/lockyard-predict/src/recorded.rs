//! Predictions of recorded programs: numbers of the recording's host, the gate, and what the model
//! leaves out.
//!
//! The gate replays the program as it was recorded: on the host's own machine file, with as many
//! threads. The figure must be the recorded one within [`GATE`]: the rate of the time in which no
//! events were written, from exact counts of acquisitions. Nothing is fitted to it. The replay has
//! its times from the events of a few windows, less the cost of these events.

mod answers;
mod asleep;
mod bound;
mod calls;
mod gate;
mod notes;
mod replay;
mod several;
#[cfg(test)]
mod tests;

use gate::LEAST_REPLAYED;
pub use gate::{GATE, Gate, LEAST_CPU, too_little};
pub use replay::on;
use replay::{replay, replay_as_row};
use several::OPERATIONS;
pub use several::{Fitted, Several, widen};

use crate::growth::{FITTED, Replayed};
use crate::limit::Limit;
use crate::simulate::SimulationError;
use lockyard_recording::model::{Group, GroupTime, Model};
use lockyard_recording::recording::{Kind, Recording};
use lockyard_recording::runs::Runs;
use lockyard_recording::script::what_if::WhatIf;
use lockyard_recording::script::{self, HostNumbers, RECORDED, Version};
use lockyard_results::recorded::{RecordedProgram, Sleeps};
use lockyard_results::row::Row;
use lockyard_scenarios::Script;
use lockyard_sim::Machine;

/// Share of threads' time, or of acquisitions, from which something is named as left out.
const NAMED: f64 = 0.2;

/// Share of threads' time and of acquisitions from which sleeps for other reasons than locks are
/// too many for a comparison.
const OTHER_SLEEPS: f64 = 0.02;

/// What to do when the host or the run spoils a recording, or the recording has no host.
const QUIETER: &str = "Record it again when nothing else runs on the host.";
const STEADY: &str = "Record a run in which the same threads work nearly all the time.";
const LONGER: &str = "Record for longer (some seconds), and with other numbers of threads.";
const HOST_FILE: &str = "Give a machine file of that host with --host-machine; `lockyard machines \
                         calibrate` makes one there.";

/// What to do when the largest number of threads is not predicted.
const MORE_NUMBERS: &str = "Record more numbers of threads, up to as many as this host has CPUs.";
const MORE_CPUS: &str = "As many threads as this host has CPUs are recorded: a host with more CPUs \
                         would say more.";

/// What one recording does not say.
const NOT_MEASURED: &str = "What grows with threads was not measured: one recording shows one \
                            number of threads. Record several (docs/use/predict-your-program.md).";

/// A recording that is ready for predictions.
#[derive(Debug)]
pub struct Recorded {
    /// The recording.
    pub recording: Recording,
    /// Its statistics.
    pub model: Model,
    /// Its scenario.
    pub script: Script,
    /// Changes of the program that the scenario has.
    pub changes: Vec<WhatIf>,
    /// The machine of the host, if it was measured.
    host: Option<Machine>,
    /// Numbers of the host.
    pub numbers: HostNumbers,
    /// Recordings with other numbers of threads. Then `recording` is that with the fewest.
    pub several: Option<Several>,
}

impl Recorded {
    /// Prepares a recording.
    ///
    /// # Errors
    ///
    /// The recording cannot be replayed, or its machine file is broken: one line.
    pub fn new(recording: Recording) -> Result<Recorded, String> {
        Recorded::with_host(recording, None)
    }

    /// Prepares a recording. `host` is the machine of its host, in place of that of its file.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_host(recording: Recording, host: Option<Machine>) -> Result<Recorded, String> {
        Recorded::for_threads(recording, host, &[])
    }

    /// Replaces the changes that the scenario has by those of these groups of locks. Returns the
    /// names of their variants.
    ///
    /// # Errors
    ///
    /// The recording has no visits.
    pub fn change(&mut self, groups: &[usize]) -> Result<Vec<String>, String> {
        let Recorded { recording, model, script, changes, numbers, .. } = self;
        *changes = script::change(script, recording, model, *numbers, groups)?;
        Ok(changes.iter().map(|of| of.name.clone()).collect())
    }

    /// Prepares recordings of one program. That with the fewest threads is replayed.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn of_runs(runs: Runs, host: Option<Machine>) -> Result<Recorded, String> {
        let (recording, several) = Several::of(runs)?;
        let others: Vec<usize> = several.iter().flat_map(|of| of.others()).collect();
        let mut recorded = Recorded::for_threads(recording, host, &others)?;
        if let Some(several) = &several
            && several.unit() == OPERATIONS
        {
            recorded.script.operation = "an operation is what the given rates count".to_owned();
        }
        Ok(Recorded { several, ..recorded })
    }

    /// Returns the machine of the host.
    ///
    /// # Errors
    ///
    /// There is none: the reason, in one line.
    pub fn host(&self) -> Result<&Machine, String> {
        self.host.as_ref().ok_or_else(|| {
            let why = self.recording.about.no_host.as_deref();
            lockyard_support::escaped(
                why.unwrap_or("the recording has no machine file of its host"),
            )
        })
    }

    /// Returns the simulated rate of the recorded program with this many threads of a machine.
    ///
    /// # Errors
    ///
    /// The simulation fails.
    pub fn replayed(&self, machine: &Machine, threads: usize) -> Result<Replayed, SimulationError> {
        let found = replay_as_row(machine, &self.script, threads)?;
        Ok(Replayed::of(found.throughput, &found.costs.detail()))
    }

    /// Predicts the recorded run, and compares.
    ///
    /// # Errors
    ///
    /// The simulation fails.
    pub fn gate(&self) -> Result<Gate, SimulationError> {
        if let Some(several) = &self.several {
            return self.gate_of(several);
        }
        let threads = self.model.whole_threads();
        let recorded = self.model.undisturbed_rate() / self.model.threads * threads as f64;
        let mut gate = Gate::of(threads, recorded, self.model.rate_outside.is_some());
        let apart = (self.model.threads / threads as f64 - 1.0).abs();
        if self.model.shares.cpu < LEAST_CPU {
            gate.refuse(self.busy_host(), &[]);
            return Ok(gate);
        }
        let replayed = self.model.shares.replayed;
        if replayed < LEAST_REPLAYED {
            let why = format!(
                "the threads took locks in {:.0} % of the run only (at least {:.0} % is needed)",
                replayed * 100.0,
                LEAST_REPLAYED * 100.0
            );
            gate.refuse(why, &[STEADY]);
            return Ok(gate);
        }
        let host = match self.host() {
            Ok(host) => host,
            Err(why) => {
                gate.refuse(why, &[HOST_FILE]);
                return Ok(gate);
            }
        };
        let version = Version { recorder: true, ..Version::default() };
        let title = "with the recorder".to_owned();
        let variant =
            script::variant(&self.recording, &self.model, self.numbers, RECORDED, title, version)
                .map_err(SimulationError::new)?;
        let variant = on(host, variant, threads);
        let found = replay(host, &variant, threads)?;
        let predicted = found.throughput;
        let error = gate.replayed(predicted);
        gate.replay.sleeps = self.sleeps(found.sleeps);
        if apart > GATE {
            let why = format!(
                "threads come and go: {:.1} of them at a time on average",
                self.model.threads
            );
            gate.refuse(why, &[STEADY]);
        } else if error.abs() > GATE {
            let why = format!(
                "the replay of the recorded run is off by {:+.1} % ({predicted:.0} predicted, \
                 {recorded:.0} recorded acquisitions/s); allowed: {:.0} %{}",
                error * 100.0,
                GATE * 100.0,
                self.likely_reason()
            );
            gate.refuse(why, &[QUIETER, LONGER]);
        } else if let Some(why) =
            gate.replay.sleeps.and_then(|sleeps| self.sleeps_apart(sleeps, host))
        {
            gate.refuse(why, &[LONGER]);
        }
        Ok(gate)
    }

    /// Predicts the largest recorded number of threads from the smaller ones.
    fn gate_of(&self, several: &Several) -> Result<Gate, SimulationError> {
        let mut gate = Gate::of(self.model.whole_threads(), 0.0, false);
        if let Some((threads, share)) = several.busiest(LEAST_CPU) {
            let why = format!(
                "the run with {} had {:.0} % of the CPUs that it could use (at least {:.0} % is \
                 needed)",
                lockyard_support::threads(threads),
                too_little(share),
                LEAST_CPU * 100.0
            );
            gate.refuse(why, &[QUIETER]);
        }
        match self.host() {
            Ok(host) => {
                let fitted = several.fitted(&self.script, host)?;
                if let Some(why) = fitted.refusal().filter(|_| gate.refused.is_none()) {
                    let has_all = several.most_threads() >= self.recording.about.cpus;
                    gate.refuse(why, &[if has_all { MORE_CPUS } else { MORE_NUMBERS }]);
                }
                gate.fitted = Some(Box::new(fitted));
            }
            Err(why) => gate.refuse(why, &[HOST_FILE]),
        }
        Ok(gate)
    }

    /// Returns how often a thread slept for an acquisition, in the recorded run and in the replay.
    /// Threads that take no locks are not replayed, so their sleeps do not count if they are known.
    /// Returns `None` if the system did not count it, or if threads slept for other reasons than
    /// locks: the replay has these sleeps as times.
    fn sleeps(&self, predicted: f64) -> Option<Sleeps> {
        let (shares, today) = (&self.model.shares, &self.model.today);
        let others = today.slept + today.slept_held + shares.conditions;
        let of_program = || {
            let acquired = Model::acquisitions(&self.recording).values().sum();
            Some((self.recording.about.switches?, acquired))
        };
        let of_threads = self.model.used.map(|used| (used.switches, used.acquired));
        let (switches, acquired) = of_threads.or_else(of_program)?;
        if others >= OTHER_SLEEPS {
            return None;
        }
        Some(Sleeps {
            recorded_per_acquisition: switches.voluntary as f64 / acquired.max(1) as f64,
            predicted_per_acquisition: predicted,
        })
    }

    /// Returns the reason for which the replay is not the recorded run, if the sleeps that it has
    /// too many or too few take more of the threads' time than the gate allows.
    fn sleeps_apart(&self, sleeps: Sleeps, host: &Machine) -> Option<String> {
        let Sleeps { recorded_per_acquisition, predicted_per_acquisition } = sleeps;
        let wakeup = host.number("kernel.wakeup")?;
        let cycle = 1e9 * self.model.threads / self.model.undisturbed_rate().max(1.0);
        let apart = (predicted_per_acquisition - recorded_per_acquisition).abs() * wakeup / cycle;
        (apart > GATE).then(|| {
            format!(
                "threads of the replay sleep in {:.2} % of acquisitions, those of the recorded run \
                 in {:.2} %: {:.0} % of the time; allowed: {:.0} %",
                predicted_per_acquisition * 100.0,
                recorded_per_acquisition * 100.0,
                apart * 100.0,
                GATE * 100.0
            )
        })
    }

    /// Returns the reason for which times of a busy host say nothing.
    fn busy_host(&self) -> String {
        let share = too_little(self.model.shares.cpu);
        let Recording { about, .. } = &self.recording;
        let wanted = self.model.threads.min(about.cpus.max(1) as f64);
        if self.model.shares.cpu_of_program >= LEAST_CPU {
            let of = if wanted < 1.5 { "a CPU" } else { "the CPUs that they could use" };
            return format!(
                "the threads that take locks had {share:.0} % of {of} (at least {:.0} % is \
                 needed); the program as a whole had enough",
                LEAST_CPU * 100.0
            );
        }
        let of = if wanted < 1.5 { "a CPU" } else { "the CPUs that it could use" };
        format!(
            "this host gave the program {share:.0} % of {of} (at least {:.0} % is needed); record \
             it again on a quieter host",
            LEAST_CPU * 100.0
        )
    }

    /// Adds the variant whose requests come from outside, this many a second.
    ///
    /// # Errors
    ///
    /// Bad input: the recorded threads hardly sleep for input. One line.
    pub fn open(&mut self, rate: f64) -> Result<(), String> {
        let open = script::open(&self.recording, &self.model, self.numbers, rate)?;
        self.script.variants.push(open);
        Ok(())
    }

    /// Returns the upper bound of predicted figures.
    pub fn limit(&self, gate: &Gate) -> Limit {
        bound::of(&self.recording, &self.model, gate.refused.is_none())
    }

    /// Returns the most likely reason of a wrong replay, as the end of a sentence.
    fn likely_reason(&self) -> String {
        let (shares, today) = (&self.model.shares, &self.model.today);
        let costs = self.recording.about.costs;
        let cycle = 1e9 * self.model.threads / self.model.rate.max(1.0);
        let of_recorder = (costs.hold + costs.think - costs.plain) / cycle;
        let reasons = [
            (today.preempted, "threads lost their CPU to others"),
            (today.slept + today.slept_held, "threads slept"),
            (today.waited(), "threads waited for locks, with the kernel's sleeps and wake-ups"),
            (of_recorder, "events cost much of the time between two locks"),
            (shares.merged, "visits were of rare kinds"),
        ];
        let most = reasons.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        most.filter(|(share, _)| *share > 0.05).map_or_else(String::new, |(share, what)| {
            format!("; {what} ({:.0} % of the time)", share * 100.0)
        })
    }

    /// Returns the number of threads of the recorded run, or the largest of several.
    pub fn threads(&self) -> usize {
        let several = self.several.as_ref();
        several.map_or_else(|| self.model.whole_threads(), Several::most_threads)
    }

    /// Returns the share of the time in which each group of locks is busy on a machine, at the
    /// largest predicted number of threads: held, or wanted and not held.
    pub fn uses(&self, rows: &[Row], machine: &str) -> Vec<(usize, f64)> {
        answers::uses(&self.facts(), rows, machine)
    }

    /// Returns what answers are made of.
    fn facts(&self) -> answers::Facts<'_> {
        let Recorded { recording, model, script, changes, several, .. } = self;
        let last = several.as_ref().and_then(Several::last);
        let today = several.as_ref().map_or(recording, Several::largest);
        answers::Facts { today, model, script, changes, last }
    }

    /// Returns the answers that the predicted rows give. The rows' variants have the names of the
    /// script.
    pub fn answers(&self, rows: &[Row], gate: &Gate) -> RecordedProgram {
        let of = answers::of(&self.facts(), rows, gate.refused.is_none());
        let (refused, advice) = (gate.refused.clone(), gate.advice.clone());
        let replay = self.several.is_none().then(|| gate.replay.clone());
        let growth = gate.fitted.as_ref().map(|fitted| fitted.growth.clone());
        RecordedProgram { gate: replay, growth, refused, advice, ..of }
    }

    /// Returns what predictions assume and leave out, in sentences.
    pub fn assumptions(&self) -> Vec<String> {
        let (shares, today) = (&self.model.shares, &self.model.today);
        let mut all = vec![
            format!(
                "Recorded: {:.1} thread{} in {}, {:.0} acquisitions a second in {:.0} % of \
                 the run.",
                self.model.threads,
                if (self.model.threads - 1.0).abs() < 0.05 { "" } else { "s" },
                lockyard_support::count(self.model.classes.len(), "class"),
                self.model.undisturbed_rate(),
                shares.replayed * 100.0
            ),
            "Assumed: more threads are clones of the recorded ones, class by class; times outside \
             of locks and under them are those of the recording's host, with any number of \
             threads; each thread goes on when its lock is free (closed load)."
                .to_owned(),
        ];
        all.push(match &self.several {
            None => NOT_MEASURED.to_owned(),
            Some(several) => format!(
                "Figures are {}: the replay of the smallest recording, in proportion to the \
                 measured rates. With few waiters a hand-over takes up to {:.0} ns less than in \
                 the replay, with many {:.0} ns more, as on one host of 16 cores.",
                several.unit(),
                FITTED.few_ns,
                FITTED.full_ns
            ),
        });
        let times = script::class_times(&self.model, &self.script.variants[0]);
        for (times, number) in times.iter().zip(1..) {
            let sleep = match times.slept {
                slept if slept > 0.5 => format!(", {slept:.0} ns asleep"),
                _ => String::new(),
            };
            all.push(format!(
                "Class {number}, {}: a visit has {:.1} ns outside of locks{sleep}, and {:.1} ns \
                 under them.",
                lockyard_support::threads(times.threads),
                times.outside,
                times.held
            ));
        }
        let mut left = Vec::new();
        for (share, what) in [
            (today.slept, "of the threads' time is sleep outside of locks (conditions, I/O)"),
            (today.slept_held, "of the threads' time is sleep under locks"),
            (today.preempted, "of the threads' time another thread had the CPU"),
            (shares.conditions, "of the acquisitions end a wait for a condition"),
            (shares.other_threads, "of the acquisitions are by threads that are left out"),
            (shares.merged, "of the visits are of rare kinds, replayed as frequent ones"),
            (shares.circular, "of the acquisitions are replayed as work"),
            (shares.unordered, "of the releases are in another order"),
        ] {
            if share >= 0.005 {
                left.push(format!("{:.1} % {what}", share * 100.0));
            }
        }
        if !left.is_empty() {
            all.push(format!("Changed or left out: {}.", left.join("; ")));
        }
        let met = shares.met.min(today.slept);
        all.extend(notes::of_waits(&self.recording, &self.model));
        let slept = today.slept + today.slept_held - met;
        if slept > NAMED {
            all.push(format!(
                "Sleep is {:.0} %: what it depends on is not in the model, so a prediction holds \
                 only if it stays as it is.",
                slept * 100.0
            ));
        }
        let groups = &self.model.groups;
        if groups.iter().any(|group| group.kind == Kind::RwLock) {
            all.push(format!(
                "Reader-writer locks are replayed as a plain pthread_rwlock_t; {:.1} % of all \
                 acquisitions read.",
                shares.shared * 100.0
            ));
            let taken_off = |(group, time): (&Group, &GroupTime)| {
                let reads = time.shared.acquired;
                let [of_writes, of_reads] = group.calls.map(|calls| calls.taken_off);
                (time.acquired - reads) * of_writes + reads * of_reads
            };
            let taken_off: f64 = groups.iter().zip(&today.groups).map(taken_off).sum();
            if taken_off >= 1.0 {
                all.push(format!(
                    "Of each acquisition, {taken_off:.0} ns of the recorded time are those of the \
                     lock's own calls, by the replay of the recorded run: its word comes from \
                     another core, and threads are woken."
                ));
            }
        }
        if groups.iter().any(|group| group.exclusive.data.is_none() && group.shared < 1.0) {
            all.push(
                "Of some locks, hand-overs are too few to tell the cost of their data: one line \
                 each is assumed."
                    .to_owned(),
            );
        }
        all.extend(self.recording.about.notes.iter().map(|note| format!("Recording: {note}.")));
        all
    }
}
