//! `lockyard lock-call-path`.

use crate::arguments::CallPath;
use crate::errors::Failure;
use crate::{host, output, progress};
use lockyard_measure::call_path::{self, CHOICE, CallPathEffort, Way};
use lockyard_results::render::{Document, Extent};
use lockyard_support::printable;

/// Refuses to use this command's experiment as a scenario of `predict` and `measure`.
pub(crate) fn no_scenario(name: &str) -> Result<(), Failure> {
    if name == call_path::EXPERIMENT {
        let why = "it has a command of its own: `lockyard lock-call-path`";
        return Err(Failure::Input(format!(
            "`{name}` is not a scenario, because it cannot be simulated; {why}"
        )));
    }
    Ok(())
}

pub(crate) fn run(options: &CallPath) -> Result<(), Failure> {
    let effort = CallPathEffort { window: options.seconds, repeats: usize::from(options.repeats) };
    if let Some(name) = &options.lock {
        let kind = name
            .parse()
            .map_err(|error| Failure::Input(format!("--lock: `{}`: {error}", printable(name))))?;
        // The lock is unused, and none of its calls is patched yet.
        CHOICE.choose(kind).map_err(|error| Failure::Run(error.to_string()))?;
    }
    host::warn();
    let samples = effort.repeats * Way::ALL.len();
    progress::announce(effort.window.mul_f64(samples as f64));
    let bar = progress::bar(samples, "samples");
    let rounds = call_path::measure(effort, &mut || bar.inc(1));
    bar.finish_and_clear();
    let rounds = rounds.map_err(Failure::Run)?;
    let mut report = call_path::rows(&rounds);
    if rounds.finished() == 0 {
        // A signal arrived before any row had a figure.
        report.rows.clear();
    }
    let effort_of = [
        ("seconds", options.seconds.as_secs_f64().to_string()),
        ("repeats", options.repeats.to_string()),
    ];
    let environment = output::environment(effort_of.into_iter().chain(host::environment()));
    let mut notes = report.notes;
    notes.push(host::note(&host::environment()));
    let document = Document { rows: report.rows, environment, notes, ..Document::default() };
    let (finished, asked) = (rounds.finished(), effort.repeats);
    output::finish(document, None, Extent { finished, asked, things: "rounds" }, &options.output)
}
