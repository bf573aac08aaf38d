//! Predicting cells of a scenario on a machine.

use crate::calibration::{Calibrated, calibrated, calibration_cell};
use crate::detail::{detail, identify_figure};
use crate::explain::Costs;
use crate::failure::Failure;
use crate::local_work::LocalWork;
use crate::placement::{Placement, check_threads};
use crate::sensitivity::{self, Sensitivity};
use crate::simulate::{CellSpec, Effort, RunPlan, identify, simulate};
use lockyard_results::listing;
use lockyard_results::outcome::Outcome;
use lockyard_results::published::Table;
use lockyard_results::row::{Detail, Row, Status};
use lockyard_scenarios::{Script, Variant};
use lockyard_sim::Machine;
use lockyard_support::{InputError, jobs};
use std::collections::BTreeMap;

/// What to predict.
#[derive(Clone, Debug)]
pub struct Request {
    /// The scenario.
    pub script: Script,
    /// The machine.
    pub machine: Machine,
    /// The names of variants; all if empty.
    pub variants: Vec<String>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Where they run; as the script says if not given.
    pub placement: Option<Placement>,
    /// Whether to simulate each cell with every input changed, too.
    pub sensitivity: bool,
    /// Whether to list where CPU time went.
    pub attribution: bool,
    /// How many cells are simulated at the same time.
    pub jobs: usize,
}

/// What a request came to.
#[derive(Clone, Debug, Default)]
pub struct Predictions {
    /// The rows.
    pub rows: Vec<Row>,
    /// Number of rows that were asked for.
    pub asked: usize,
    /// Where the cycles of each went.
    pub costs: Vec<Costs>,
    /// Rows of the figures that the runs have beside the script's metric.
    pub figures: Vec<Row>,
    /// Where the CPU time of each went, as rows of a profiler's listing, if that was asked for.
    pub listings: Vec<Row>,
    /// How each depends on the inputs, if that was asked for.
    pub sensitivities: Vec<Sensitivity>,
}

/// Predicts the cells of a request: variant by variant, in the order of `threads`. A row whose cell
/// was published has the published figure too, if its tasks run where the script says.
///
/// # Errors
///
/// If the input is wrong or a run fails.
pub fn run(
    request: &Request,
    tables: &[Table],
    done: &(impl Fn() + Sync),
) -> Result<Predictions, Failure> {
    let script = &request.script;
    let variants = script.named_variants(&request.variants)?;
    variants.iter().try_for_each(|variant| refuse_foreign(variant))?;
    let scripted = Placement::Order(script.order);
    let placement = request.placement.as_ref().unwrap_or(&scripted);
    for &threads in &request.threads {
        check_threads(&request.machine, threads)?;
        let room = placement.room(&request.machine);
        if threads > room {
            let what = placement.describe();
            return Err(Failure::Input(InputError(format!(
                "{threads} threads on {what}; allowed: 1 to {room}"
            ))));
        }
    }
    let asked = variants.len() * request.threads.len();
    let works = jobs::run(
        &variants,
        request.jobs,
        |variant| calibrated(script, variant, request.machine.name(), tables),
        || {},
    );
    let mut cells = Vec::new();
    for (variant, work) in variants.into_iter().zip(works) {
        let Some(work) = work else {
            return Ok(Predictions { asked, ..Predictions::default() });
        };
        let work = work?;
        cells.extend(request.threads.iter().map(|&threads| (variant, threads, work)));
    }
    let predictions = jobs::run(
        &cells,
        request.jobs,
        |&(variant, threads, work)| {
            let spec = spec(request, placement, variant, threads, work);
            simulate(&spec, &RunPlan::full(&spec, &script.run, script.samples))
        },
        done,
    );
    let mut found = Predictions { asked, ..Predictions::default() };
    for ((variant, threads, calibrated), prediction) in cells.into_iter().zip(predictions) {
        let Some(prediction) = prediction else { continue };
        let prediction = prediction
            .map_err(|e| Failure::Run(format!("{}, {}: {e}", script.name, variant.name)))?;
        // A figure that was published for other places, in some run, is no figure to compare with.
        let places = |of: &Placement, seed| of.places(&request.machine, threads, seed);
        let same_places = (1..=2).all(|seed| places(placement, seed) == places(&scripted, seed));
        let published = tables.iter().flat_map(|table| &table.cells).find(|cell| {
            same_places
                && cell.experiment == script.name
                && cell.machine == request.machine.name()
                && cell.variant == variant.name
                && script.tasks(cell.threads) == Some(threads)
                && cell.metric == script.metric.name()
                && cell.unit == script.metric.unit()
        });
        let Calibrated { work, metric } = calibrated;
        let mut detail = detail(metric, &prediction, threads, work);
        identify(&request.machine, prediction.runs.len(), &mut detail);
        if request.sensitivity {
            let spec = spec(request, placement, variant, threads, calibrated);
            let plan = RunPlan::of_run(Effort::SEARCH, &script.run);
            let failed = |e| Failure::Run(format!("{}, {}: {e}", script.name, variant.name));
            let Some(one) =
                sensitivity::of(&spec, &plan, metric, request.jobs, done).map_err(failed)?
            else {
                break;
            };
            let one = one.around(metric.figure(prediction.throughput, threads));
            one.detail(&mut detail);
            found.sensitivities.push(one);
        }
        let outcome = prediction.outcome(metric, threads);
        let of = (variant.name.as_str(), threads, same_places);
        found.figures.extend(figures(request, outcome, of, work, tables));
        if request.attribution {
            let machine = Some(request.machine.name());
            let listed = listing::Of { script, machine, variant: &variant.name, threads };
            let tables_of = if same_places { tables } else { &[] };
            found.listings.extend(listing::rows(&prediction.listing, listed, tables_of));
        }
        let calibration = calibration_cell(script, &variant.name, request.machine.name(), tables);
        let is_calibration = published.is_some() && published == calibration;
        found.rows.push(Row {
            table: String::new(),
            experiment: script.name.clone(),
            machine: request.machine.name().to_owned(),
            variant: variant.name.clone(),
            threads: Some(threads),
            metric: script.metric.name().to_owned(),
            unit: script.metric.unit().to_owned(),
            published: published.map(|cell| cell.value),
            predicted: Some(metric.figure(prediction.throughput, threads)),
            trivial: None,
            measured: None,
            status: if is_calibration { Status::Calibration } else { Status::Predicted },
            reason: None,
            detail,
        });
        found.costs.push(prediction.costs);
    }
    Ok(found)
}

/// Returns what is simulated of one cell of a request.
fn spec<'a>(
    request: &'a Request,
    placement: &'a Placement,
    variant: &'a Variant,
    threads: usize,
    calibrated: Calibrated,
) -> CellSpec<'a> {
    CellSpec {
        machine: &request.machine,
        variant,
        placement,
        home: request.script.home,
        threads,
        local_work: calibrated.nanoseconds(),
    }
}

/// Refuses a variant whose lock is native code of another library.
fn refuse_foreign(variant: &Variant) -> Result<(), InputError> {
    match variant.foreign_locks().next() {
        Some(name) => Err(InputError(format!(
            "`{name}` is native code that only a real host can run: lockyard measure SCENARIO \
            --peers={name}"
        ))),
        None => Ok(()),
    }
}

/// The rows of the figures that runs of a variant have beside the script's metric.
fn figures(
    request: &Request,
    outcome: Outcome,
    (variant, threads, same_places): (&str, usize, bool),
    work: Option<LocalWork>,
    tables: &[Table],
) -> Vec<Row> {
    let script = &request.script;
    let calibration = calibration_cell(script, variant, request.machine.name(), tables);
    let mut rows = Vec::new();
    for (metric, unit, figure) in script.figures() {
        let published = tables.iter().flat_map(|table| &table.cells).find(|cell| {
            same_places
                && cell.experiment == script.name
                && cell.machine == request.machine.name()
                && cell.variant == variant
                && script.tasks(cell.threads) == Some(threads)
                && cell.metric == metric
                && cell.unit == unit
        });
        let mut detail = BTreeMap::new();
        if let Some(work) = work {
            detail.insert("local_work_ns".to_owned(), Detail::Number(work.nanoseconds));
        }
        identify_figure(script, &request.machine, (&figure, outcome.runs.len()), &mut detail);
        rows.push(Row {
            table: String::new(),
            experiment: script.name.clone(),
            machine: request.machine.name().to_owned(),
            variant: variant.to_owned(),
            threads: Some(threads),
            metric,
            unit: unit.to_owned(),
            published: published.map(|cell| cell.value),
            predicted: outcome.figure(&figure, None),
            trivial: None,
            measured: None,
            status: if published.is_some() && published == calibration {
                Status::Calibration
            } else {
                Status::Predicted
            },
            reason: None,
            detail,
        });
    }
    rows
}
