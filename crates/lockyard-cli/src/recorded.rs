//! `lockyard predict` of a recording: the gate, and the variants that are predicted.

use crate::arguments::Predict;
use crate::errors::Failure;
use lockyard_lab::predict::PredictRequest;
use lockyard_predict::limit::Limit;
use lockyard_predict::names;
use lockyard_predict::recorded::{Gate, Recorded, on};
use lockyard_recording::file::is_recording;
use lockyard_recording::script::{OTHER_LOCKS, RECORDED};
use lockyard_results::render::Document;
use lockyard_scenarios::{LockKinds, Script};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Name of the recording's host as a machine.
pub(crate) const HOST: &str = "host";

/// End of the names of variants whose predictions have not passed the gate.
const NOT_GATED: &str = "/not-gated";

/// Bytes by which a recording is recognised.
const BEGINNING: usize = 32;

/// What the user names.
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
    if let Some(bytes) = names::piped(name) {
        let bytes = bytes?;
        if !is_recording(&bytes) {
            no_recording(options)?;
            return Ok(Given::Scenario(Box::new(names::scenario_of(name, bytes, locks)?)));
        }
        let refuse = |what| Failure::Input(format!("{}: {what}", names::pipe_name(name)));
        let recording = lockyard_recording::file::read(&bytes).map_err(refuse)?;
        return Recorded::with_host(recording, host()?).map(given).map_err(refuse);
    }
    let path = Path::new(name);
    let is_named = path.extension().is_some_and(|extension| extension == "recording");
    if is_named || begins_as_one(path) {
        return Recorded::load(path, host()?).map(given).map_err(Failure::Input);
    }
    no_recording(options)?;
    Ok(Given::Scenario(Box::new(names::scenario(name, locks)?)))
}

/// Refuses options that are for recordings only.
fn no_recording(options: &Predict) -> Result<(), Failure> {
    let flags = [
        (options.host_machine.is_some(), "--host-machine"),
        (options.ungated, "--ungated"),
        (options.locks, "--locks"),
        (options.what_if, "--what-if"),
    ];
    match flags.into_iter().find(|(given, _)| *given) {
        Some((_, flag)) => Err(Failure::Input(format!(
            "{flag}: `{}` is no recording; allowed: with a file of lockyard record",
            lockyard_support::printable(&options.scenario)
        ))),
        None => Ok(()),
    }
}

fn begins_as_one(path: &Path) -> bool {
    let mut bytes = Vec::new();
    // A pipe must not lose its beginning.
    let is_file = path.is_file();
    let read = is_file.then(|| File::open(path)).and_then(Result::ok);
    let read = read.map(|file| file.take(BEGINNING as u64).read_to_end(&mut bytes));
    read.is_some_and(|read| read.is_ok()) && is_recording(&bytes)
}

/// Returns the variants that the user asks for, without naming one.
pub(crate) fn variants(options: &Predict, script: &Script) -> Vec<String> {
    let is_lock = |name: &str| OTHER_LOCKS.iter().any(|(lock, ..)| *lock == name);
    let wanted = |name: &str| match name {
        RECORDED => true,
        name if is_lock(name) => options.locks,
        // A page says which change gives most.
        _ => options.what_if || options.pages.file.report.is_some(),
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
    /// Returns the error of a command whose predictions the gate refuses. The facts of the recorded
    /// run are printed before; `is_said` is true if they have the reason for people.
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
        let said = self.gate.replay.sentence();
        if is_ungated {
            answers.advice.clear();
        }
        document.recorded = Some(answers);
        for row in &mut document.rows {
            row.key.variant.push_str(self.mark());
        }
        document.environment.push(("gate".to_owned(), said));
        document.notes.extend(self.recorded.assumptions());
    }
}
