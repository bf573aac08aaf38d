//! Predictions and explanations.

use crate::inputs::{self, Changes};
use crate::{errors, work};
use lockyard_lab::predict::{self as lab, PredictRequest, Predictions};
use lockyard_predict::explain;
use lockyard_predict::failure::Failure;
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::simulate::{RunLength, Runs};
use lockyard_results::published::shipped;
use lockyard_results::render::{Document, Format, Screen, render};
use lockyard_support::{InputError, jobs};
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Predicts the cells of a scenario on a machine. Returns JSON text.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the Python side names them")]
#[pyo3(signature = (scenario, machine, threads, variants, placement, parameters, seed, quick,
                    intervals, sensitivity, jobs))]
pub(crate) fn predict(
    py: Python<'_>,
    scenario: String,
    machine: String,
    threads: Vec<usize>,
    variants: Vec<String>,
    placement: Option<String>,
    parameters: Changes,
    seed: Option<u64>,
    quick: bool,
    intervals: bool,
    sensitivity: bool,
    jobs: Option<usize>,
) -> PyResult<String> {
    let work = move || -> Result<String, Failure> {
        if threads.contains(&0) || threads.is_empty() {
            let what = "threads: allowed: one or more whole numbers from 1";
            return Err(Failure::Input(InputError(what.to_owned())));
        }
        let machine = inputs::machine(&machine, &parameters)?;
        let placement = placement.map(|text| MachinePlacement::parse(&text, &machine));
        let length = if quick { RunLength::Quick } else { RunLength::Full };
        let request = PredictRequest {
            script: inputs::scenario(&scenario, &parameters)?,
            placement: placement.transpose()?,
            machine,
            variants,
            threads,
            runs: Runs { length, seed },
            intervals: intervals && seed.is_none(),
            sensitivity,
            attribution: false,
            trace: false,
            limit: None,
            jobs: work::jobs(jobs),
        };
        answer(&request, !parameters.is_empty() || seed.is_some())
    };
    let answer = work::without_the_lock(py, work)?;
    answer.map_err(|failure| errors::failure(py, failure))
}

/// Returns the answer to a request. If it `is_changed`, published figures are not those of its
/// cells.
fn answer(request: &PredictRequest, is_changed: bool) -> Result<String, Failure> {
    let tables = shipped()?;
    let mut found = lab::run(request, &tables, &|| ())?;
    if jobs::interrupted() {
        return Err(Failure::Run("interrupted".to_owned()));
    }
    if is_changed {
        found.rows.iter_mut().for_each(|row| row.published = None);
    }
    let screen = Screen::default();
    let explanations: Vec<Value> = Predictions::explained(&found.rows, &found.costs)
        .map(|(row, costs)| {
            let heading = format!("{}, {}", row.key.variant, row.key.threads_in_words());
            json!({
                "variant": row.key.variant,
                "threads": row.key.threads,
                "text": costs.table_on(&heading, &screen),
                "sentence": costs.sentence(),
                "costs": costs.detail(),
            })
        })
        .collect();
    let document = Document { rows: found.rows, ..Document::default() };
    let rows: Value = serde_json::from_str(&render(&document, Format::Json)).unwrap_or_default();
    let answer = json!({
        "scenario": request.script.name,
        "machine": request.machine.name(),
        "program": lockyard_sweep::version::VERSION,
        "rows": rows["rows"],
        "explanations": explanations,
        "legend": explain::legend(),
    });
    Ok(answer.to_string())
}
