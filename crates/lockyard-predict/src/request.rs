//! Prediction of the cells of a scenario on a machine.

use crate::calibration::{Calibrated, calibrated, calibration_cell};
use crate::detail::{detail, identify_figure};
use crate::evidence::Kind;
use crate::explain::Costs;
use crate::failure::Failure;
use crate::interval;
use crate::limit::Limit;
use crate::placement::{MachinePlacement, SHARED_BY, check_shared};
use crate::refusal;
use crate::sensitivity::{self, Sensitivity};
use crate::simulate::{
    self, CellSpec, Prediction, RunPlan, Runs, SimulationEffort, SimulationError, identify,
    simulate,
};
use crate::trace::{self, TracedCell};
use lockyard_results::cell_key::CellKey;
use lockyard_results::details::{Details, Range, SimulatedDetail};
use lockyard_results::listing;
use lockyard_results::published::PublishedTable;
use lockyard_results::row::{Row, Status};
use lockyard_scenarios::{Script, Variant};
use lockyard_sim::Machine;
use lockyard_support::{InputError, jobs, threads as in_words};

/// Cells to predict.
#[derive(Clone, Debug)]
pub struct PredictRequest {
    /// The scenario.
    pub script: Script,
    /// The machine.
    pub machine: Machine,
    /// The names of variants; all if empty.
    pub variants: Vec<String>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Placement of the tasks; the script's own if `None`.
    pub placement: Option<MachinePlacement>,
    /// Runs of each cell.
    pub runs: Runs,
    /// True to also simulate each cell with its most uncertain inputs changed, for an interval.
    pub intervals: bool,
    /// True to also simulate each cell with each of its inputs changed.
    pub sensitivity: bool,
    /// True to list CPU time by region.
    pub attribution: bool,
    /// True to trace a run of each cell.
    pub trace: bool,
    /// Upper bound of the figures, of a recorded program.
    pub limit: Option<Limit>,
    /// Number of cells that are simulated at the same time.
    pub jobs: usize,
}

impl PredictRequest {
    /// Returns a request for all variants with the script's placement, without intervals or other
    /// additions, one cell at a time.
    pub fn new(script: Script, machine: Machine, threads: Vec<usize>) -> PredictRequest {
        PredictRequest {
            script,
            machine,
            variants: Vec::new(),
            threads,
            placement: None,
            runs: Runs::default(),
            intervals: false,
            sensitivity: false,
            attribution: false,
            trace: false,
            limit: None,
            jobs: 1,
        }
    }
}

/// Result of a request.
#[derive(Clone, Debug, Default)]
pub struct Predictions {
    /// The rows.
    pub rows: Vec<Row>,
    /// Number of requested rows.
    pub asked: usize,
    /// Cycles of each cell by phase, activity, line and lock. Refused cells, whose rows have a
    /// reason and no figure, have no entry here and in the lists below.
    pub costs: Vec<Costs>,
    /// Rows of the figures that runs have in addition to the script's metric.
    pub figures: Vec<Row>,
    /// CPU time of each cell, as rows of a profiler's listing, if requested.
    pub listings: Vec<Row>,
    /// Sensitivity of each row, if requested.
    pub sensitivities: Vec<Sensitivity>,
    /// The traced run of each row, if requested.
    pub traced: Vec<TracedCell>,
}

impl Predictions {
    /// Returns the rows that have a figure, with their costs. The rows are those of
    /// [`rows`](Self::rows), which the caller may have taken.
    pub fn explained<'a>(
        rows: &'a [Row],
        costs: &'a [Costs],
    ) -> impl Iterator<Item = (&'a Row, &'a Costs)> {
        rows.iter().filter(|row| row.reason.is_none()).zip(costs)
    }

    /// Adds the results of another request.
    pub fn append(&mut self, other: Predictions) {
        self.rows.extend(other.rows);
        self.asked += other.asked;
        self.costs.extend(other.costs);
        self.figures.extend(other.figures);
        self.listings.extend(other.listings);
        self.sensitivities.extend(other.sensitivities);
        self.traced.extend(other.traced);
    }
}

/// Checks a request without simulating anything: the names of variants, and the room for threads.
///
/// # Errors
///
/// If the input is wrong.
pub fn check(request: &PredictRequest) -> Result<(), InputError> {
    let script = &request.script;
    let variants = script.named_variants(&request.variants)?;
    variants.iter().try_for_each(|variant| refuse_foreign(variant))?;
    variants.iter().try_for_each(|variant| refuse_empty(script, variant))?;
    let scripted = MachinePlacement::Order(script.order);
    check_room(request, request.placement.as_ref().unwrap_or(&scripted))
}

/// Predicts the cells of a request: variant by variant, in the order of `threads`. The row of a
/// published cell also has the published figure, if the request has the script's placement.
///
/// # Errors
///
/// If the input is wrong or a run fails.
pub fn run(
    request: &PredictRequest,
    tables: &[PublishedTable],
    done: &(impl Fn() + Sync),
) -> Result<Predictions, Failure> {
    check(request)?;
    let script = &request.script;
    let variants = script.named_variants(&request.variants)?;
    let asked = variants.len() * request.threads.len();
    let works = jobs::run(
        &variants,
        request.jobs,
        |variant| calibrated(script, variant, request.machine.name(), tables),
        || {},
    );
    let mut calibrations = Vec::new();
    for work in works {
        let Some(work) = work else {
            return Ok(Predictions { asked, ..Predictions::default() });
        };
        calibrations.push(work?);
    }
    run_calibrated(request, &calibrations, tables, done)
}

/// Predicts the cells of a request as [`run`] does. The calibration of each variant is given, so
/// that requests which differ in nothing that a calibration depends on can share it.
///
/// # Errors
///
/// If the input is wrong or a run fails.
///
/// # Panics
///
/// If there are fewer calibrations than variants.
pub fn run_calibrated(
    request: &PredictRequest,
    calibrations: &[Calibrated],
    tables: &[PublishedTable],
    done: &(impl Fn() + Sync),
) -> Result<Predictions, Failure> {
    let script = &request.script;
    let variants = script.named_variants(&request.variants)?;
    let scripted = MachinePlacement::Order(script.order);
    let placement = request.placement.as_ref().unwrap_or(&scripted);
    let asked = variants.len() * request.threads.len();
    let mut cells = Vec::new();
    assert!(calibrations.len() >= variants.len(), "each variant has a calibration");
    for (variant, &calibrated) in variants.into_iter().zip(calibrations) {
        cells.extend(request.threads.iter().map(|&threads| {
            let spec = CellSpec {
                machine: &request.machine,
                variant,
                placement,
                home: script.home,
                threads,
                local_work: calibrated.nanoseconds(),
            };
            // A published figure is comparable only if tasks have the same places as in the script,
            // in all runs.
            let places = |of: &MachinePlacement, seed| of.places(&request.machine, threads, seed);
            let as_scripted = |seed| places(placement, seed) == places(&scripted, seed);
            Cell { request, spec, calibrated, is_as_published: (1..=2).all(as_scripted) }
        }));
    }
    let predictions = jobs::run(&cells, request.jobs, Cell::simulate, done);
    let mut found = Predictions { asked, ..Predictions::default() };
    for (cell, simulated) in cells.iter().zip(predictions) {
        let Some(simulated) = simulated else { continue };
        if !cell.add_found(
            simulated.map_err(|error| cell.failed(error))?,
            tables,
            done,
            &mut found,
        )? {
            break;
        }
    }
    Ok(found)
}

/// Refuses numbers of threads for which the machine or the placement has no room. Tasks of guests
/// share hardware threads, so there may be more of them.
fn check_room(request: &PredictRequest, placement: &MachinePlacement) -> Result<(), InputError> {
    let shares = request.script.variants.iter().all(|variant| variant.guests.is_some());
    let shared_by = if shares { SHARED_BY } else { 1 };
    for &threads in &request.threads {
        check_shared(&request.machine, threads, shared_by)?;
        let room = placement.room(&request.machine) * shared_by;
        if threads > room {
            let what = placement.describe();
            return Err(InputError(format!(
                "{} on {what}; allowed: 1 to {room}",
                in_words(threads)
            )));
        }
    }
    Ok(())
}

/// One cell of a request.
struct Cell<'a> {
    request: &'a PredictRequest,
    spec: CellSpec<'a>,
    calibrated: Calibrated,
    /// True if the tasks have the same places as for published figures.
    is_as_published: bool,
}

/// Prediction of a cell, and the interval of its figure if requested.
struct Simulated {
    prediction: Prediction,
    interval: Option<(f64, f64)>,
}

/// Result of a cell: its prediction, or the reason for which it has none.
enum Found {
    Predicted(Box<Simulated>),
    Refused(String),
}

impl Cell<'_> {
    /// Simulates the cell. One in which no operation finishes costs no other cell its figure.
    fn simulate(&self) -> Result<Found, SimulationError> {
        match self.predict() {
            Err(SimulationError::Stalled(why) | SimulationError::Stuck { what: why, .. }) => {
                Ok(Found::Refused(why))
            }
            other => other,
        }
    }

    fn predict(&self) -> Result<Found, SimulationError> {
        let script = &self.request.script;
        if let Some(why) = refusal::before(&self.spec) {
            return Ok(Found::Refused(why));
        }
        let plan = self.request.runs.plan(&self.spec, &script.run, script.samples);
        let prediction = simulate(&self.spec, &plan)?;
        let above = self.request.limit.as_ref().and_then(|limit| {
            limit.refuse(&self.spec.variant.name, self.spec.threads, prediction.throughput)
        });
        if let Some(why) = above.or_else(|| refusal::after(&self.spec, &prediction)) {
            return Ok(Found::Refused(why));
        }
        let Calibrated { work, metric } = self.calibrated;
        let interval = if self.request.intervals {
            interval::of(&self.spec, &script.run, work, &prediction, metric)?
        } else {
            None
        };
        Ok(Found::Predicted(Box::new(Simulated { prediction, interval })))
    }

    /// Adds what was found for the cell; returns false after an interrupt.
    fn add_found(
        &self,
        of_cell: Found,
        tables: &[PublishedTable],
        done: &(impl Fn() + Sync),
        found: &mut Predictions,
    ) -> Result<bool, Failure> {
        match of_cell {
            Found::Predicted(simulated) => self.add(*simulated, tables, done, found),
            Found::Refused(why) => {
                let script = &self.request.script;
                let (name, unit) = (script.metric.name(), script.metric.unit());
                let row = self.row(name, unit, None, Details::default(), tables);
                let status = Status::NotModelled;
                found.rows.push(Row { status, reason: Some(why), ..row });
                Ok(true)
            }
        }
    }

    /// Returns the kind of the cell, on which its errors depend.
    fn kind(&self) -> Kind {
        let CellSpec { machine, variant, placement, threads, .. } = self.spec;
        Kind::of(&self.request.script, variant, machine, placement, threads)
    }

    fn failed(&self, error: SimulationError) -> Failure {
        let (script, variant) = (&self.request.script.name, &self.spec.variant.name);
        match error {
            SimulationError::Run(what)
            | SimulationError::Stalled(what)
            | SimulationError::Stuck { what, .. } => {
                Failure::Run(format!("{script}, {variant}: {what}"))
            }
            SimulationError::Script(what) => Failure::Input(InputError(what)),
        }
    }

    /// Adds the rows of the cell; returns false after an interrupt.
    fn add(
        &self,
        Simulated { prediction, interval }: Simulated,
        tables: &[PublishedTable],
        done: &(impl Fn() + Sync),
        found: &mut Predictions,
    ) -> Result<bool, Failure> {
        let (request, script) = (self.request, &self.request.script);
        let (variant, threads) = (self.spec.variant, self.spec.threads);
        if request.trace {
            match self.trace(&prediction, trace::share(&found.traced, found.asked)) {
                Err(_) if jobs::interrupted() => return Ok(false),
                traced => found.traced.push(traced?),
            }
        }
        let Calibrated { work, metric } = self.calibrated;
        let figure = metric.figure(prediction.throughput, threads);
        let mut details = detail(metric, &prediction, threads, work);
        let simulated = details.simulated.get_or_insert_default();
        identify(&request.machine, prediction.runs.len(), simulated);
        simulated.notes.extend(refusal::note(&self.spec, &prediction));
        simulated.interval = interval.map(Range::from);
        simulated.evidence = Some(self.kind().evidence());
        if request.sensitivity {
            let plan = RunPlan::of_run(SimulationEffort::SEARCH, &script.run);
            let one = sensitivity::of(&self.spec, &plan, metric, request.jobs, done);
            let Some(one) = one.map_err(|error| self.failed(error))? else { return Ok(false) };
            let one = one.around(figure);
            simulated.sensitivity = Some(one.detail());
            found.sensitivities.push(one);
        }
        let outcome = prediction.outcome(metric, threads);
        for (metric, unit, figure) in script.figures() {
            let mut simulated = SimulatedDetail::default();
            let seeds = outcome.runs.len();
            identify_figure(script, &request.machine, &figure, seeds, &mut simulated);
            let local_work = work.map(|work| Details::of_local_work(work.nanoseconds));
            let details = Details { simulated: Some(simulated), ..local_work.unwrap_or_default() };
            let predicted = outcome.figure(&figure, None);
            found.figures.push(self.row(&metric, unit, predicted, details, tables));
        }
        if request.attribution {
            let machine = Some(request.machine.name());
            let listed = listing::Of { script, machine, variant: &variant.name, threads };
            let tables = if self.is_as_published { tables } else { &[] };
            found.listings.extend(listing::rows(&prediction.listing, listed, tables));
        }
        let (name, unit) = (script.metric.name(), script.metric.unit());
        found.rows.push(self.row(name, unit, Some(figure), details, tables));
        found.costs.push(prediction.costs);
        Ok(true)
    }

    /// Traces the run that contributes most to the figure, with about `most` changes.
    fn trace(&self, prediction: &Prediction, most: usize) -> Result<TracedCell, Failure> {
        let (spec, script) = (&self.spec, &self.request.script);
        let plan = RunPlan::full(spec, &script.run, None);
        let run = simulate::trace(spec, plan.effort, prediction.long, most);
        let name = format!("{}, {}", spec.variant.name, in_words(spec.threads));
        Ok(TracedCell { name, run: run.map_err(|error| self.failed(error))? })
    }

    /// Returns the row of one figure of the cell, with the published figure.
    fn row(
        &self,
        metric: &str,
        unit: &str,
        predicted: Option<f64>,
        details: Details,
        tables: &[PublishedTable],
    ) -> Row {
        let (script, machine) = (&self.request.script, self.request.machine.name());
        let key = CellKey {
            experiment: script.name.clone(),
            machine: machine.to_owned(),
            variant: self.spec.variant.name.clone(),
            threads: Some(self.spec.threads),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
        };
        let published = tables.iter().flat_map(|table| &table.cells).find(|cell| {
            let threads = script.tasks(cell.key.threads);
            self.is_as_published && CellKey { threads, ..cell.key.clone() } == key
        });
        let calibration = calibration_cell(script, &key.variant, machine, tables);
        let is_calibration = published.is_some() && published == calibration;
        let status = if is_calibration { Status::Calibration } else { Status::Predicted };
        Row {
            published: published.map(|cell| cell.value),
            predicted,
            details,
            ..Row::new(key, status)
        }
    }
}

/// Refuses a variant without steps, whose operations take no time on a simulated machine.
fn refuse_empty(script: &Script, variant: &Variant) -> Result<(), InputError> {
    if !variant.steps.is_empty() {
        return Ok(());
    }
    let (script, variant) = (&script.name, &variant.name);
    Err(InputError(format!(
        "{script}: the variant `{variant}` has no steps, so its operations take no time on a \
         simulated machine; allowed: one or more [[steps]]"
    )))
}

/// Refuses a variant whose lock is native code of another library.
fn refuse_foreign(variant: &Variant) -> Result<(), InputError> {
    match variant.foreign_locks().next() {
        Some(name) => Err(InputError(format!(
            "`{name}` is native code that only a real host can run: \
             lockyard measure SCENARIO --peers={name}"
        ))),
        None => Ok(()),
    }
}
