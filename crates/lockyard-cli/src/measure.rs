//! `lockyard measure`.

use crate::arguments::{Failure, Measure, thread_list};
use crate::{output, progress};
use lockyard_lab::host::measure::Effort;
use lockyard_lab::host::{Cpus, Placement};
use lockyard_lab::measured::{self, MOST_THREADS};
use lockyard_lab::output::{Document, render};
use lockyard_lab::{names, published};
use std::time::Duration;

pub(crate) fn run(options: &Measure) -> Result<(), Failure> {
    let script = names::scenario(&options.scenario)?;
    let threads = thread_list(&options.threads)?;
    if let Some(most) = threads.iter().find(|&&threads| threads > MOST_THREADS) {
        return Err(Failure::Input(format!(
            "--threads: {most} threads; allowed: 1 to {MOST_THREADS}"
        )));
    }
    let placement = options.placement.as_deref();
    let placement = placement.map(|text| Placement::parse(text, &Cpus::allowed())).transpose()?;
    let window = seconds("--seconds", options.seconds, 1e-3, 3600.0)?;
    let effort = Effort {
        warm_up: window.mul_f64(0.2).min(Duration::from_secs(1)),
        window,
        repeats: usize::from(options.repeats),
        waits: true,
        stalled_after: seconds("--stalled-after", options.stalled_after, 0.1, 3600.0)?,
    };
    let request = measured::Request {
        script,
        variants: options.variants.clone(),
        threads,
        placement,
        effort,
        relative_to: options.relative_to.clone(),
    };
    let bar = progress::bar(measured::rounds(&request)?, "rounds");
    let report = measured::run(&request, &published::shipped()?, &mut || bar.inc(1));
    bar.finish_and_clear();
    let report = report?;
    let mut environment = vec![("lockyard".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
    environment.extend(report.environment.clone());
    let mut notes = report.notes;
    let host: Vec<String> =
        report.environment.iter().map(|(name, value)| format!("{name} {value}")).collect();
    notes.push(format!("Environment: {}.", host.join("; ")));
    let mut document = Document {
        rows: report.rows,
        summaries: Vec::new(),
        environment,
        notes,
        ..Document::default()
    };
    let interrupted = lockyard_lab::jobs::interrupted();
    if report.failure.is_some() {
        document.incomplete("the measurement ended with an error");
    } else if interrupted {
        document.incomplete("interrupted");
    }
    output::write(&render(&document, options.format.into()))?;
    if let Some(failure) = report.failure {
        return Err(Failure::Run(failure));
    }
    if interrupted {
        return Err(Failure::Run("interrupted: what is finished is above".to_owned()));
    }
    Ok(())
}

/// A number of seconds within bounds.
fn seconds(option: &str, value: f64, least: f64, most: f64) -> Result<Duration, Failure> {
    if (least..=most).contains(&value) {
        return Ok(Duration::from_secs_f64(value));
    }
    Err(Failure::Input(format!("{option} is {value}; allowed: {least} to {most} seconds")))
}
