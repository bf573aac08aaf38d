//! Predictions of recorded programs: numbers of the recording's host, the gate, and what the model
//! leaves out.
//!
//! The gate replays the program as it was recorded: on the host's own machine file, with as many
//! threads, and with the cost of the recorder. The figure must be the recorded one within
//! [`GATE`]. Nothing is fitted to that figure. The exact counts of acquisitions make it, and the
//! replay has its times from the events of a few bursts.

mod answers;

use crate::placement::MachinePlacement;
use crate::simulate::{CellSpec, RunPlan, SimulationEffort, SimulationError, simulate};
use lockyard_recording::model::Model;
use lockyard_recording::recording::Recording;
use lockyard_recording::script::{self, HostNumbers, RECORDED, Version};
use lockyard_results::recorded::RecordedProgram;
use lockyard_results::row::Row;
use lockyard_scenarios::{Order, Script, Step, Variant};
use lockyard_sim::Machine;
use std::path::Path;

/// Largest difference between the predicted and the recorded rate, relative to the recorded one.
pub const GATE: f64 = 0.1;

/// Share of threads' time, or of acquisitions, from which something is named as left out.
const NAMED: f64 = 0.2;

/// Number of lines by which the cost of a line is found.
const LINES: usize = 4;

/// A recording that is ready for predictions.
#[derive(Debug)]
pub struct Recorded {
    /// The recording.
    pub recording: Recording,
    /// Its statistics.
    pub model: Model,
    /// Its scenario.
    pub script: Script,
    /// The machine of the host, if it was measured.
    host: Option<Machine>,
    /// Numbers of the host.
    pub numbers: HostNumbers,
}

/// Result of the gate.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// Number of threads.
    pub threads: usize,
    /// Recorded acquisitions a second.
    pub recorded: f64,
    /// Predicted acquisitions a second; `None` if nothing could be predicted.
    pub predicted: Option<f64>,
    /// Reason for which predictions are refused.
    pub refused: Option<String>,
}

impl Gate {
    /// Returns the result in a sentence.
    pub fn sentence(&self) -> String {
        let Gate { threads, recorded, .. } = self;
        let threads = lockyard_support::threads(*threads);
        let Some(predicted) = self.predicted else {
            return format!("Gate: {threads}, recorded {recorded:.0}/s, nothing predicted.");
        };
        let error = (predicted / recorded - 1.0) * 100.0;
        let passed = if self.refused.is_some() { "refused" } else { "passed" };
        format!(
            "Gate: {passed}. On the recording's host with {threads}, predicted {predicted:.0} and \
             recorded {recorded:.0} acquisitions a second ({error:+.1} %; allowed: {:.0} %).",
            GATE * 100.0
        )
    }
}

impl Recorded {
    /// Prepares a recording.
    ///
    /// # Errors
    ///
    /// The recording cannot be replayed, or its machine file is broken: one line.
    pub fn new(recording: Recording) -> Result<Recorded, String> {
        let model = Model::of(&recording)?;
        let host = recording.about.host.as_deref().map(|text| {
            Machine::parse("machine file of the recording", text).map_err(|error| error.to_string())
        });
        let wakeup = recording.about.costs.wakeup;
        let host = host.transpose()?.map(|host| with_wakeup(host, wakeup));
        let numbers = match &host {
            Some(host) => numbers(host, recording.about.costs.plain)
                .map_err(|error| format!("the recording's host: {error}"))?,
            None => HostNumbers::default(),
        };
        let script = script::script(&recording, &model, numbers)?;
        Ok(Recorded { recording, model, script, host, numbers })
    }

    /// Reads a recording from a file, if the file is one.
    ///
    /// # Errors
    ///
    /// The recording is broken, or cannot be replayed: one line.
    pub fn load(path: &Path) -> Result<Recorded, String> {
        let recording = lockyard_recording::file::load(path).map_err(|error| error.to_string())?;
        let shown = lockyard_support::shown(path);
        Recorded::new(recording).map_err(|why| format!("{shown}: {why}"))
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

    /// Predicts the recorded run, and compares.
    ///
    /// # Errors
    ///
    /// The simulation fails.
    pub fn gate(&self) -> Result<Gate, SimulationError> {
        let threads = self.model.whole_threads();
        let recorded = self.model.rate / self.model.threads * threads as f64;
        let mut gate = Gate { threads, recorded, predicted: None, refused: None };
        let apart = (self.model.threads / threads as f64 - 1.0).abs();
        let host = match self.host() {
            Ok(host) => host,
            Err(why) => {
                gate.refused = Some(why);
                return Ok(gate);
            }
        };
        let version = Version { recorder: true, ..Version::default() };
        let title = "with the recorder".to_owned();
        let variant =
            script::variant(&self.recording, &self.model, self.numbers, RECORDED, title, version)
                .map_err(SimulationError::new)?;
        let variant = on(host, variant, threads);
        let predicted = throughput(host, &variant, threads)?;
        gate.predicted = Some(predicted);
        let error = predicted / recorded - 1.0;
        if apart > GATE {
            gate.refused = Some(format!(
                "threads come and go: {:.1} of them at a time on average",
                self.model.threads
            ));
        } else if error.abs() > GATE {
            gate.refused = Some(format!(
                "the replay of the recorded run is off by {:+.1} % ({predicted:.0} predicted, \
                 {recorded:.0} recorded acquisitions/s); allowed: {:.0} %{}",
                error * 100.0,
                GATE * 100.0,
                self.likely_reason()
            ));
        }
        Ok(gate)
    }

    /// Returns the most likely reason of a wrong replay, as the end of a sentence.
    fn likely_reason(&self) -> String {
        let shares = &self.model.shares;
        let costs = self.recording.about.costs;
        let cycle = 1e9 * self.model.threads / self.model.rate.max(1.0);
        let of_recorder = (costs.hold + costs.think - costs.plain) / cycle;
        let reasons = [
            (shares.preempted, "threads lost their CPU to others"),
            (shares.slept, "threads slept"),
            (shares.waited, "threads waited for locks, with the kernel's sleeps and wake-ups"),
            (of_recorder, "events cost much of the time between two locks"),
            (shares.merged, "visits were of rare kinds"),
        ];
        let most = reasons.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        most.filter(|(share, _)| *share > 0.05).map_or_else(String::new, |(share, what)| {
            format!("; {what} ({:.0} % of the time)", share * 100.0)
        })
    }

    /// Returns the answers that the predicted rows give. The rows' variants have the names of the
    /// script.
    pub fn answers(&self, rows: &[Row], gate: &Gate) -> RecordedProgram {
        answers::of(&self.model, &self.script, rows, gate.refused.is_none())
    }

    /// Returns what predictions assume and leave out, in sentences.
    pub fn assumptions(&self) -> Vec<String> {
        let shares = &self.model.shares;
        let mut all = vec![
            format!(
                "Recorded: {:.1} threads in {} classes, {:.0} acquisitions a second in {:.0} % of \
                 the run.",
                self.model.threads,
                self.model.classes.len(),
                self.model.rate,
                shares.replayed * 100.0
            ),
            "Assumed: more threads are clones of the recorded ones, class by class; times outside \
             of locks and under them are those of the recording's host, with any number of \
             threads; each thread goes on when its lock is free (closed load)."
                .to_owned(),
        ];
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
            (shares.slept, "of the threads' time is sleep (conditions, reader-writer locks, I/O)"),
            (shares.preempted, "of the threads' time another thread had the CPU"),
            (shares.read_write, "of the acquisitions are of reader-writer locks"),
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
        if shares.slept + shares.read_write > NAMED {
            all.push(format!(
                "Sleep is {:.0} %: what it depends on is not in the model, so a prediction holds \
                 only if it stays as it is.",
                (shares.slept + shares.read_write) * 100.0
            ));
        }
        if self.model.groups.iter().any(|group| group.data.is_none()) {
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

/// Returns a variant for this many threads of a machine: under its scheduler, if there are more
/// than it has hardware threads.
pub fn on(machine: &Machine, variant: Variant, threads: usize) -> Variant {
    let guests = if threads > machine.hardware_threads() { Some(1) } else { variant.guests };
    Variant { guests, ..variant }
}

/// Returns a machine with a measured time from a wake-up until the woken thread runs, if there is
/// one.
fn with_wakeup(machine: Machine, wakeup: f64) -> Machine {
    let cycles = machine.cycles(wakeup);
    if cycles == 0 {
        return machine;
    }
    machine.clone().with("cycles.wakeup", cycles as f64).unwrap_or(machine)
}

/// Measures numbers of a machine by simulation.
fn numbers(host: &Machine, plain: f64) -> Result<HostNumbers, SimulationError> {
    let time = |lines: usize, threads: usize| -> Result<f64, SimulationError> {
        let variant = loop_of(lines, threads)?;
        Ok(threads as f64 / throughput(host, &variant, threads)? * 1e9)
    };
    let call = (plain - time(0, 1)?).max(0.0);
    if host.hardware_threads() < 2 {
        return Ok(HostNumbers { call, line: 0.0 });
    }
    // Two threads in turn: the time of both is that of two hand-overs.
    let line = (time(LINES, 2)? - time(0, 2)?) / (2 * LINES) as f64;
    Ok(HostNumbers { call, line: line.max(1.0) })
}

/// Returns a loop that takes a lock, touches lines of data, and releases it. One thread alone uses
/// a lock of the C library's kind; several threads have a ticket lock, which they take in turn.
fn loop_of(lines: usize, threads: usize) -> Result<Variant, SimulationError> {
    let mut text = String::from(
        "name = \"loop\"\nwork_varies = false\n[[objects]]\nname = \"lock\"\nkind = \"lock\"\n\
         lock = \"pthread-like-mutex\"\n",
    );
    for line in 0..lines {
        text.push_str(&format!("[[objects]]\nname = \"data-{line}\"\nkind = \"word\"\n"));
    }
    text.push_str(
        "[[steps]]\ndo = \"lock\"\nobject = \"lock\"\n[[steps]]\ndo = \"unlock\"\n\
         object = \"lock\"\n[[variants]]\nname = \"one\"\n[[variants]]\nname = \"turns\"\n\
         set = [{ object = \"lock\", lock = \"ticket\" }]\n",
    );
    let fail = |error: &dyn std::fmt::Display| SimulationError::new(error.to_string());
    let script = Script::parse("loop", &text).map_err(|error| fail(&error))?;
    // One thread has nobody to take turns with.
    let number = usize::from(threads > 1);
    let mut variant = script.variants.into_iter().nth(number).ok_or_else(|| fail(&"no variant"))?;
    if let Some(Step::Locked { steps, .. }) = variant.steps.first_mut() {
        steps.extend((1..=lines).map(|object| Step::Touch { object }));
    }
    Ok(variant)
}

/// Returns the simulated operations a second.
fn throughput(
    machine: &Machine,
    variant: &Variant,
    threads: usize,
) -> Result<f64, SimulationError> {
    let placement = MachinePlacement::Order(Order::default());
    let cell =
        CellSpec { machine, variant, placement: &placement, home: 0, threads, local_work: 0.0 };
    let effort = SimulationEffort::usual(machine, &placement, threads);
    Ok(simulate(&cell, &RunPlan::of_windows(effort))?.throughput)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{self, PredictRequest};
    use lockyard_recording::recording::{About, Costs, Event, How, Kind, LockAbout, Window};

    /// Visits in each of two windows, and between them.
    const WITHIN: u64 = 400;
    const BETWEEN: u64 = 20_000;

    /// Returns a recording of one thread that is 1,000 ns outside of its lock and 100 ns under it.
    /// Each visit between the windows takes `between` nanoseconds.
    fn recording(between: f64, host: Option<String>) -> Recording {
        let visit = [
            Event::Acquired { after: 1_030, lock: 0, site: 0, how: How::Waits, wait: 0 },
            Event::Released { after: 110, lock: 0 },
        ];
        let events: Vec<Event> = (0..WITHIN).flat_map(|_| visit).collect();
        let window = |begin, acquisitions| Window {
            thread: 1,
            begin,
            acquisitions,
            continues: false,
            events: events.clone(),
        };
        let first = window(0, 0);
        let begin = first.duration() + (BETWEEN as f64 * between) as u64;
        let second = window(begin, WITHIN + BETWEEN);
        let about = About {
            command: vec!["made".to_owned()],
            seconds: (begin + second.duration()) as f64 / 1e9,
            cpus: 4,
            locks: vec![LockAbout { name: "m".to_owned(), kind: Kind::Mutex, line: 1 }],
            sites: vec!["s".to_owned()],
            costs: Costs {
                hold: 10.0,
                think: 30.0,
                counted: 20.0,
                plain: 25.0,
                ..Costs::default()
            },
            host,
            ..About::default()
        };
        Recording { about, windows: vec![first, second] }
    }

    fn skylake() -> Option<String> {
        let machines = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/");
        Some(
            std::fs::read_to_string(format!("{machines}skylake-client-4c.toml"))
                .expect("it is there"),
        )
    }

    #[test]
    fn the_gate_passes_a_run_that_the_replay_repeats_and_no_other() {
        // 1,000 and 100 ns of work, 25 of plain calls, 20 of the recorder.
        let right = Recorded::new(recording(1_145.0, skylake())).expect("it is replayed");
        let gate = right.gate().expect("it runs");
        let predicted = gate.predicted.expect("there is a host");
        assert!((predicted * 1_145.0 / 1e9 - 1.0).abs() < 0.02, "{gate:?}");
        assert_eq!(gate.refused, None);
        assert!(gate.sentence().contains("passed"), "{}", gate.sentence());
        let slower = Recorded::new(recording(1_400.0, skylake())).expect("it is replayed");
        let gate = slower.gate().expect("it runs");
        assert!(gate.refused.as_ref().is_some_and(|why| why.contains("off by +")), "{gate:?}");
        let nowhere = Recorded::new(recording(1_145.0, None)).expect("it is replayed");
        let gate = nowhere.gate().expect("it runs");
        assert!(gate.predicted.is_none() && gate.refused.is_some(), "{gate:?}");
    }

    #[test]
    fn threads_scale_until_the_lock_is_never_free() {
        let recorded = Recorded::new(recording(1_145.0, skylake())).expect("it is replayed");
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let figure = |name: &str, threads| {
            let variant = recorded.script.variant(name).expect("it has it");
            throughput(&machine, variant, threads).expect("it runs")
        };
        let alone = figure(RECORDED, 1);
        assert!((alone * 1_125.0 / 1e9 - 1.0).abs() < 0.03, "{alone}");
        assert!(figure("mcs", 4) > 3.0 * alone);
        // 100 ns under the lock: at most ten million a second, less the hand-overs.
        let many = figure("mcs", 24);
        assert!(many < 1e7 && many > 2.5 * alone, "{many}");
        assert!(figure("hold-halved", 24) > many * 0.8 && figure("split-4", 24) > 2.0 * many);
    }

    #[test]
    fn the_answers_are_of_the_recording_and_of_the_predicted_rows() {
        let recorded = Recorded::new(recording(1_145.0, skylake())).expect("it is replayed");
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let request = PredictRequest {
            variants: [RECORDED, "hold-halved", "split-4"].map(str::to_owned).into(),
            intervals: true,
            jobs: 2,
            ..PredictRequest::new(recorded.script.clone(), machine, vec![1, 24])
        };
        let rows = request::run(&request, &[], &|| {}).expect("it runs").rows;
        let gate = recorded.gate().expect("it runs");
        let answers = recorded.answers(&rows, &gate);
        assert!(answers.gated, "{gate:?}");
        // 100 ns under the lock, and 1,000 with the plain calls, 25, outside.
        let today = &answers.today;
        assert!((today.share_held - 100.0 / 1_125.0).abs() < 1e-3, "{today:?}");
        assert!((today.share_outside - 1_025.0 / 1_125.0).abs() < 1e-3, "{today:?}");
        assert_eq!((today.share_asleep, today.share_waited), (0.0, 0.0));
        assert_eq!(today.locks[0].lock, "m");
        let [lock] = answers.saturation.as_slice() else { panic!("{answers:?}") };
        assert_eq!((lock.lock.as_str(), lock.saturated_at_threads), ("m", Some(24)));
        assert!((3.0..20.0).contains(&lock.knee_threads), "{lock:?}");
        assert!(lock.use_by_threads[0].share_busy < 0.2 && lock.at_most.share_busy > 0.9);
        let [best] = answers.best_changes.as_slice() else { panic!("{answers:?}") };
        assert_eq!((best.variant.as_str(), best.threads, best.compared), ("split-4", 24, 2));
        assert!(best.gain_share > 0.5 && !best.within_intervals, "{best:?}");
        let figure = |variant: &str, threads| {
            let is_it = |row: &&Row| row.key.variant == variant && row.key.threads == Some(threads);
            rows.iter().find(is_it).and_then(|row| row.predicted)
        };
        assert_eq!(figure("split-4", 24), Some(best.operations_per_s));
        assert_eq!(figure(RECORDED, 24), Some(best.recorded_operations_per_s));
        // Without rows only today is known.
        let none = recorded.answers(&[], &gate);
        assert!(none.saturation.is_empty() && none.best_changes.is_empty());
    }

    #[test]
    fn more_threads_than_hardware_threads_share_them() {
        let recorded = Recorded::new(recording(1_145.0, skylake())).expect("it is replayed");
        let host = recorded.host.as_ref().expect("it has one");
        let variant = recorded.script.variants[0].clone();
        let room = host.hardware_threads();
        let alone = throughput(host, &on(host, variant.clone(), 1), 1).expect("it runs");
        let shared = on(host, variant, 2 * room);
        assert_eq!(shared.guests, Some(1));
        let more = throughput(host, &shared, 2 * room).expect("it runs");
        assert!(more > alone && more < 1.05 * room as f64 * alone, "{alone} {more}");
    }
}
