//! Measurements on this host.

use crate::inputs::{self, Changes};
use crate::{errors, work};
use lockyard_lab::measure::{self as lab, MeasureRequest};
use lockyard_measure::cpus::{Cpus, MOST_THREADS, Placement};
use lockyard_measure::scenario::rounds::Effort;
use lockyard_predict::failure::Failure;
use lockyard_results::published::shipped;
use lockyard_results::render::{Document, Format, render};
use lockyard_support::{InputError, jobs};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::time::Duration;

/// Longest warm-up of a round.
const WARM_UP: Duration = Duration::from_millis(100);

/// Time without progress after which a run is aborted.
const STALLED: Duration = Duration::from_secs(10);

/// Measures the cells of a scenario on this host. Returns JSON text.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python side names them")]
#[pyo3(signature = (scenario, threads, variants, placement, parameters, seconds, repeats))]
pub(crate) fn measure(
    py: Python<'_>,
    scenario: String,
    threads: Vec<usize>,
    variants: Vec<String>,
    placement: Option<String>,
    parameters: Changes,
    seconds: f64,
    repeats: usize,
) -> PyResult<String> {
    let wrong = |what: String| Failure::Input(InputError(what));
    let work = move || -> Result<String, Failure> {
        if threads.is_empty() || threads.iter().any(|n| !(1..=MOST_THREADS).contains(n)) {
            let what = format!("threads: allowed: one or more numbers from 1 to {MOST_THREADS}");
            return Err(wrong(what));
        }
        if !(0.001..=3600.0).contains(&seconds) {
            return Err(wrong(format!("seconds is {seconds}; allowed: 0.001 to 3600")));
        }
        if !(1..=1000).contains(&repeats) {
            return Err(wrong(format!("repeats is {repeats}; allowed: 1 to 1000")));
        }
        let window = Duration::from_secs_f64(seconds);
        let placement = placement.map(|text| Placement::parse(&text, &Cpus::allowed()));
        let request = MeasureRequest {
            script: inputs::scenario(&scenario, &parameters)?,
            variants,
            threads,
            placement: placement.transpose()?,
            effort: Effort {
                warm_up: window.min(WARM_UP),
                window,
                repeats,
                waits: true,
                attribution: false,
                stalled_after: STALLED,
            },
            relative_to: None,
        };
        lab::check(&request)?;
        let report = lab::run(&request, &shipped()?, &mut || ())?;
        if let Some(failure) = report.failure {
            return Err(Failure::Run(failure));
        }
        if jobs::interrupted() {
            return Err(Failure::Run("interrupted".to_owned()));
        }
        let document =
            Document { rows: report.rows, environment: report.environment, ..Document::default() };
        let text = render(&document, Format::Json);
        let found: Value = serde_json::from_str(&text).unwrap_or_default();
        let answer = json!({
            "scenario": request.script.name,
            "program": lockyard_sweep::version::VERSION,
            "environment": found["environment"],
            "rows": found["rows"],
            "notes": report.notes,
        });
        Ok(answer.to_string())
    };
    let answer = work::without_the_lock(py, work)?;
    answer.map_err(|failure| errors::failure(py, failure))
}
