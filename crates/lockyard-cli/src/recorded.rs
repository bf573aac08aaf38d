//! `lockyard predict` of a recording: the gate, and the variants that are predicted.

use crate::arguments::Predict;
use crate::errors::Failure;
use lockyard_lab::predict::PredictRequest;
use lockyard_predict::limit::Limit;
use lockyard_predict::names;
use lockyard_predict::recorded::{Gate, Recorded, on, widen};
use lockyard_recording::file::is_recording;
use lockyard_recording::runs::{Run, Runs, are_recordings};
use lockyard_recording::script::{OPEN, OTHER_LOCKS, OTHER_READ_WRITE_LOCKS, RECORDED};
use lockyard_recording::{rates, runs};
use lockyard_results::render::Document;
use lockyard_results::row::Row;
use lockyard_scenarios::{LockKind, LockKinds, Script};
use lockyard_sim::Machine;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Name of the recording's host as a machine.
pub(crate) const HOST: &str = "host";

/// End of the names of variants whose predictions have not passed the gate.
const NOT_GATED: &str = "/not-gated";

/// Requests a second of an open load, and the same in words.
const LEAST_RATE: f64 = 1.0;
const MOST_RATE: f64 = 1e9;
const ALLOWED_RATES: &str = "requests a second, from 1 to 1000000000";

/// Bytes by which a recording is recognised.
const BEGINNING: usize = 32;

/// Names that the user gives.
pub(crate) enum Given {
    /// A recording.
    Recording(Box<Recorded>),
    /// A scenario.
    Scenario(Box<Script>),
}

/// Returns the recording or the scenario that the user names. Both may come from a pipe.
///
/// # Errors
///
/// Bad input: it is broken; or the scenario is no recording, and an option is for recordings only.
pub(crate) fn of(options: &Predict, locks: &LockKinds) -> Result<Given, Failure> {
    let host = || {
        let host = options.host_machine.as_deref().map(names::machine).transpose();
        host.map_err(|error| Failure::Input(format!("--host-machine: {error}")))
    };
    let name = options.scenario.as_str();
    let given = |recorded: Recorded| Given::Recording(Box::new(recorded));
    if !options.recordings.is_empty() {
        let runs = rated(options, joined(options)?, name)?;
        return Recorded::of_runs(runs, host()?).map(given).map_err(Failure::Input);
    }
    if let Some(bytes) = names::piped(name) {
        let bytes = bytes?;
        if !is_one_or_more(&bytes) {
            no_recording(options)?;
            return Ok(Given::Scenario(Box::new(names::scenario_of(name, bytes, locks)?)));
        }
        let refuse = |what| Failure::Input(format!("{}: {what}", names::pipe_name(name)));
        let runs = rated(options, runs::read(&bytes).map_err(refuse)?, name)?;
        return Recorded::of_runs(runs, host()?).map(given).map_err(refuse);
    }
    let path = Path::new(name);
    let is_named = path.extension().is_some_and(|extension| extension == "recording");
    if is_named || begins_as_one(path) {
        let runs = runs::load(path).map_err(|error| Failure::Input(error.to_string()))?;
        let runs = rated(options, runs, name)?;
        let shown = lockyard_support::shown(path);
        let refuse = |why| Failure::Input(format!("{shown}: {why}"));
        return Recorded::of_runs(runs, host()?).map(given).map_err(refuse);
    }
    no_recording(options)?;
    Ok(Given::Scenario(Box::new(names::scenario(name, locks)?)))
}

/// Returns several recordings as one.
fn joined(options: &Predict) -> Result<Runs, Failure> {
    let first = PathBuf::from(&options.scenario);
    let read = |path: &PathBuf| {
        let shown = lockyard_support::shown(path);
        let runs = runs::load(path).map_err(|error| Failure::Input(error.to_string()))?;
        match <[Run; 1]>::try_from(runs.runs) {
            Ok([run]) => Ok((shown, run.recording)),
            Err(several) => Err(Failure::Input(format!(
                "{shown}: has {} recordings; allowed: alone, or beside others a file of one",
                several.len()
            ))),
        }
    };
    let all: Result<Vec<_>, Failure> =
        std::iter::once(&first).chain(&options.recordings).map(read).collect();
    Runs::join(all?).map_err(Failure::Input)
}

/// Adds the open load that the user asks for.
///
/// # Errors
///
/// Bad input: the rate is none, or the recorded threads hardly sleep for input.
pub(crate) fn open(options: &Predict, recorded: &mut Recorded) -> Result<(), Failure> {
    let Some(text) = &options.open else { return Ok(()) };
    let rate = text.parse().ok().filter(|rate| (LEAST_RATE..=MOST_RATE).contains(rate));
    let rate: f64 = rate.ok_or_else(|| {
        let text = lockyard_support::printable(text);
        Failure::Input(format!("--open: `{text}`; allowed: {ALLOWED_RATES}"))
    })?;
    recorded.open(rate).map_err(|why| Failure::Input(format!("--open: {why}")))
}

/// Adds the rates that the user has measured without the recorder.
fn rated(options: &Predict, mut runs: Runs, name: &str) -> Result<Runs, Failure> {
    let Some(path) = &options.rates else { return Ok(runs) };
    if let [_] = runs.runs.as_slice() {
        return Err(Failure::Input(format!(
            "--rates: `{}` is one recording; allowed: with recordings of several numbers of \
             threads",
            lockyard_support::printable(name)
        )));
    }
    let rates = rates::load(path).map_err(|error| Failure::Input(error.to_string()))?;
    let shown = lockyard_support::shown(path);
    runs.take_rates(&rates).map_err(|what| Failure::Input(format!("{shown}: {what}")))?;
    Ok(runs)
}

/// Refuses options that are for recordings only.
fn no_recording(options: &Predict) -> Result<(), Failure> {
    let flags = [
        (options.host_machine.is_some(), "--host-machine"),
        (options.ungated, "--ungated"),
        (options.locks, "--locks"),
        (options.what_if, "--what-if"),
        (options.open.is_some(), "--open"),
        (options.rates.is_some(), "--rates"),
    ];
    match flags.into_iter().find(|(given, _)| *given) {
        Some((_, flag)) => Err(Failure::Input(format!(
            "{flag}: `{}` is no recording; allowed: with a file of lockyard record",
            lockyard_support::printable(&options.scenario)
        ))),
        None => Ok(()),
    }
}

/// Returns true if these bytes are the beginning of a recording, or of several.
fn is_one_or_more(bytes: &[u8]) -> bool {
    is_recording(bytes) || are_recordings(bytes)
}

fn begins_as_one(path: &Path) -> bool {
    let mut bytes = Vec::new();
    // A pipe must not lose its beginning.
    let is_file = path.is_file();
    let read = is_file.then(|| File::open(path)).and_then(Result::ok);
    let read = read.map(|file| file.take(BEGINNING as u64).read_to_end(&mut bytes));
    read.is_some_and(|read| read.is_ok()) && is_one_or_more(&bytes)
}

/// Returns the variants that the user asks for, without naming one.
pub(crate) fn variants(options: &Predict, script: &Script) -> Vec<String> {
    let is_one =
        |locks: &[(&str, &str, LockKind)], name: &str| locks.iter().any(|(lock, ..)| *lock == name);
    // A page says which change gives most.
    let what_if = options.what_if || options.pages.file.report.is_some();
    let wanted = |name: &str| match name {
        // It is there if the user asks for it.
        RECORDED | OPEN => true,
        name if is_one(&OTHER_LOCKS, name) => options.locks,
        name if is_one(&OTHER_READ_WRITE_LOCKS, name) => options.locks || what_if,
        _ => what_if,
    };
    let names = script.variants.iter().map(|variant| variant.name.clone());
    names.filter(|name| wanted(name)).collect()
}

/// Returns the requests of a machine: for numbers of threads that have a hardware thread each, and
/// for larger ones, whose threads share them.
pub(crate) fn apart(request: &PredictRequest) -> Vec<PredictRequest> {
    let room = request.machine.hardware_threads();
    let (fit, share): (Vec<usize>, Vec<usize>) =
        request.threads.iter().partition(|threads| **threads <= room);
    let of = |threads: Vec<usize>| {
        let most = threads.iter().copied().max()?;
        let mut request = PredictRequest { threads, ..request.clone() };
        for variant in &mut request.script.variants {
            *variant = on(&request.machine, variant.clone(), most);
        }
        Some(request)
    };
    [of(fit), of(share)].into_iter().flatten().collect()
}

/// Result of the gate for the predictions that follow.
pub(crate) struct Gated<'r> {
    recorded: &'r Recorded,
    gate: Gate,
}

/// Compares the replay of the recorded run with the recording.
///
/// # Errors
///
/// A simulation fails.
pub(crate) fn gate(recorded: &Recorded) -> Result<Gated<'_>, Failure> {
    let fail = |error: &dyn std::fmt::Display| Failure::Run(format!("predict: the gate: {error}"));
    let gate = recorded.gate().map_err(|error| fail(&error))?;
    Ok(Gated { recorded, gate })
}

impl<'r> Gated<'r> {
    /// Returns the result of a gate that is known.
    pub(crate) fn of(recorded: &'r Recorded, gate: Gate) -> Gated<'r> {
        Gated { recorded, gate }
    }
}

impl Gated<'_> {
    /// Returns the error of a command whose predictions the gate refused, or `None` if it did not.
    /// The facts of the recorded run were printed before; `is_said` is true if they included the
    /// reason in words.
    pub(crate) fn refusal(&self, options: &Predict, is_said: bool) -> Option<Failure> {
        let why = self.gate.refused.as_ref().filter(|_| !options.ungated)?;
        let recording = lockyard_support::printable(&options.scenario);
        let why = if is_said { "the reason is above".to_owned() } else { why.clone() };
        Some(Failure::Run(format!("predict: the gate refuses {recording}: {why}")))
    }

    /// Returns the upper bound of the predictions.
    pub(crate) fn limit(&self) -> Limit {
        self.recorded.limit(&self.gate)
    }

    /// Turns replays on a machine into predictions, if several recordings say how.
    pub(crate) fn correct(&self, rows: &mut [Row], machine: &Machine) {
        if let Some(fitted) = &self.gate.fitted {
            fitted.correct(rows, &self.recorded.script, machine);
        }
    }

    /// Returns the end of the names of the predicted variants.
    pub(crate) fn mark(&self) -> &'static str {
        if self.gate.refused.is_some() { NOT_GATED } else { "" }
    }

    /// Adds the result to a document: the answers, notes, and a mark on each figure that is not
    /// gated.
    pub(crate) fn add_to(&self, document: &mut Document) {
        let is_ungated = !document.rows.is_empty();
        if let Some(why) = self.gate.refused.as_ref().filter(|_| is_ungated) {
            document.notes.push(format!("Not gated: {why}."));
        }
        let mut answers = self.recorded.answers(&document.rows, &self.gate);
        let said = match &answers.growth {
            Some(growth) => growth.sentences().into_iter().next().unwrap_or_default(),
            None => self.gate.replay.sentence(),
        };
        if is_ungated {
            answers.advice.clear();
        }
        document.recorded = Some(answers);
        let several = self.recorded.several.as_ref();
        let most = several.map_or(self.recorded.model.whole_threads(), |of| of.most_threads());
        widen(&mut document.rows, several.is_some(), most);
        for row in &mut document.rows {
            row.key.variant.push_str(self.mark());
        }
        document.environment.push(("gate".to_owned(), said));
        document.notes.extend(self.recorded.assumptions());
    }
}
