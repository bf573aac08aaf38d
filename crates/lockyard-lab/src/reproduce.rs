//! Every published figure with its prediction and, as far as this host allows, with a measurement.

mod plan;

use lockyard_measure::scenario::detail::detail as measured_detail;
use lockyard_measure::scenario::rounds::{self, Task};
use lockyard_measure::{call_path, cpus};
use lockyard_predict::calibration::{self, Calibrated};
use lockyard_predict::detail::{detail, identify_figure};
use lockyard_predict::failure::Failure;
use lockyard_predict::simulate::Prediction;
use lockyard_results::details::SimulatedDetail;
use lockyard_results::outcome::{self, SampleFigures};
use lockyard_results::published::{PublishedCell, PublishedTable};
use lockyard_results::row::{Measured, Row, Status};
use lockyard_results::summary::{Summary, summarise};
use lockyard_results::variant_ratios::{self, Wanted};
use lockyard_scenarios::{Figure, Script};
use lockyard_support::{InputError, jobs};
use plan::{Model, NoModel, Plan};
use std::collections::BTreeSet;

/// Request to reproduce published figures.
#[derive(Clone, Debug)]
pub struct ReproduceRequest {
    /// Names of tables or experiments; all of them if empty.
    pub names: Vec<String>,
    /// Number of cells to simulate in parallel.
    pub jobs: usize,
    /// Effort of the measurement on this host; `None` to measure nothing.
    pub measure: Option<rounds::Effort>,
}

/// Result of a reproduction request.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// One row per published figure, in the order of the tables. After an interrupt, rows that were
    /// never begun are missing.
    pub rows: Vec<Row>,
    /// One summary for each table, and one for all tables.
    pub summaries: Vec<Summary>,
    /// Tables with their sources.
    pub sources: Vec<(String, String)>,
    /// Number of requested figures.
    pub asked: usize,
    /// Sentence on how much was measured on this host.
    pub measured: String,
    /// Reason why the remaining cells were not measured: a lock that stalled or failed to exclude,
    /// or CPUs that were taken away.
    pub failure: Option<String>,
}

/// A published cell with its model, or with the reason why it has none.
struct Job<'t> {
    table: &'t str,
    cell: &'t PublishedCell,
    model: Result<Model, NoModel>,
}

/// Result of a run.
struct Found {
    prediction: Prediction,
    calibrated: Calibrated,
}

/// Returns the cells selected by `names`, each with the name of its table.
fn select<'t>(
    tables: &'t [PublishedTable],
    wanted: &[String],
) -> Result<Vec<(&'t str, &'t PublishedCell)>, InputError> {
    for name in wanted {
        let known =
            tables.iter().any(|t| t.name == *name || t.experiments().contains(&name.as_str()));
        if !known {
            let mut all: Vec<&str> = Vec::new();
            for table in tables {
                all.push(&table.name);
                all.extend(table.experiments().into_iter().filter(|name| *name != table.name));
            }
            return Err(InputError(format!(
                "there is no experiment `{}`; {}",
                lockyard_support::printable(name),
                lockyard_support::hint(name, &all, "there are")
            )));
        }
    }
    let chosen = |table: &PublishedTable, cell: &PublishedCell| {
        wanted.is_empty() || wanted.iter().any(|n| *n == table.name || *n == cell.key.experiment)
    };
    Ok(tables
        .iter()
        .flat_map(|table| {
            table
                .cells
                .iter()
                .filter(move |cell| chosen(table, cell))
                .map(|c| (table.name.as_str(), c))
        })
        .collect())
}

/// Returns the rows of a request before anything is run: the published figures that it selects,
/// each in place of its prediction too.
///
/// # Errors
///
/// If the request names an unknown item.
pub fn asked(
    request: &ReproduceRequest,
    tables: &[PublishedTable],
) -> Result<Vec<Row>, InputError> {
    let row = |(table, cell): (&str, &PublishedCell)| Row {
        table: table.to_owned(),
        published: Some(cell.value),
        predicted: Some(cell.value),
        ..Row::new(cell.key.clone(), Status::NotModelled)
    };
    Ok(select(tables, &request.names)?.into_iter().map(row).collect())
}

/// Reproduces the tables. Calls `done` after each simulated cell.
///
/// # Errors
///
/// If the request names an unknown item, or a run fails.
pub fn run(
    request: &ReproduceRequest,
    tables: &[PublishedTable],
    done: &(impl Fn() + Sync),
) -> Result<Reproduction, Failure> {
    let cells = select(tables, &request.names)?;
    let asked = cells.len();
    // Each variant of each script is calibrated once. A run that several published cells share is
    // simulated once.
    let mut plan = Plan::default();
    let jobs: Vec<Job> = cells
        .into_iter()
        .map(|(table, cell)| Job { table, cell, model: plan.model(cell, tables) })
        .collect();
    let calibrated = jobs::run(
        &plan.calibrations,
        request.jobs,
        |c| calibration::calibrated(&c.script, &c.variant, &c.machine, tables),
        || {},
    );
    let calibrated: Vec<Option<Calibrated>> =
        calibrated.into_iter().map(Option::transpose).collect::<Result<_, Failure>>()?;
    jobs.iter().filter(|job| job.model.is_err()).for_each(|_| done());
    let outcomes = jobs::run(
        &plan.runs,
        request.jobs,
        |run| {
            let outcome = calibrated[run.calibration].map(|calibrated| run.simulate(calibrated));
            (0..run.cells).for_each(|_| done());
            outcome
        },
        || {},
    );
    let mut found: Vec<Option<Found>> = Vec::new();
    for (run, outcome) in plan.runs.iter().zip(outcomes) {
        let prediction = outcome.flatten().transpose().map_err(Failure::Run)?;
        let calibrated = calibrated[run.calibration];
        found.push(
            prediction
                .zip(calibrated)
                .map(|(prediction, calibrated)| Found { prediction, calibrated }),
        );
    }
    let mut finished: Vec<(&Job, Row)> =
        jobs.iter().filter_map(|job| Some((job, row(job, &plan, &found)?))).collect();
    let (measured, failure) = match request.measure {
        Some(effort) => measure_rows(&mut finished, &plan, &found, effort),
        None => ("nothing was measured on this host".to_owned(), None),
    };
    let mut rows: Vec<Row> = finished.into_iter().map(|(_, row)| row).collect();
    let wanted = wanted_pairs(&rows);
    variant_ratios::add_ratios(&mut rows, &wanted);
    let summaries = summaries(&rows);
    let sources = tables
        .iter()
        .filter(|table| rows.iter().any(|row| row.table == table.name))
        .map(|table| (table.name.clone(), table.source.clone()))
        .collect();
    Ok(Reproduction { rows, summaries, sources, asked, measured, failure })
}

/// Returns the details of a row's simulated figure. They show which rows are doubtful, and which
/// repeat another row.
fn simulated(row: &Row) -> Option<&SimulatedDetail> {
    row.details.simulated.as_ref()
}

/// Tables of primitives. Their scripts specify everything, unlike those of whole programs.
pub const PRIMITIVES: [&str; 3] = ["lockref-will-it-scale", "qspinlock-loop", "page-ref"];

/// Table of primitives with a nearly flat curve. A constant cost almost fits it, so its small
/// errors are weak evidence.
pub const FLAT: &str = "qspinlock-loop";

/// Returns one summary for each table, and one for all. If all tables of primitives are present,
/// there are two more: one for all of them, and one without the flat table.
///
/// Doubtful rows have their own summaries, and are not in the summary of all rows. Rows that repeat
/// others are in no summary.
fn summaries(rows: &[Row]) -> Vec<Summary> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.table.as_str()) {
            names.push(&row.table);
        }
    }
    let (doubtful, sound): (Vec<&Row>, Vec<&Row>) = rows
        .iter()
        .filter(|row| simulated(row).is_none_or(|simulated| simulated.repeats.is_none()))
        .partition(|row| simulated(row).is_some_and(|simulated| simulated.doubtful.is_some()));
    let mut summaries = Vec::new();
    for name in names {
        let of_table = |rows: &[&Row], summary: &str| {
            let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.table == name).collect();
            (!rows.is_empty()).then(|| with_pairs(summary, &rows))
        };
        summaries.extend(of_table(&sound, name));
        summaries.extend(of_table(&doubtful, &format!("{name}: doubtful rows")));
    }
    let primitive = |row: &&Row| PRIMITIVES.contains(&row.table.as_str());
    if PRIMITIVES.iter().all(|name| sound.iter().any(|row| row.table == *name)) {
        let rows: Vec<&Row> = sound.iter().copied().filter(primitive).collect();
        summaries.push(with_pairs("primitives", &rows));
        let rows: Vec<&Row> = rows.into_iter().filter(|row| row.table != FLAT).collect();
        summaries.push(with_pairs(&format!("primitives without {FLAT}"), &rows));
    }
    summaries.push(with_pairs("all", &sound));
    summaries
}

/// Returns a summary that scores the pairs requested by the rows' scripts.
fn with_pairs(name: &str, rows: &[&Row]) -> Summary {
    Summary { pairs: variant_ratios::score(rows, &wanted_pairs(rows)), ..summarise(name, rows) }
}

/// Returns the pairs requested by the rows' scripts.
fn wanted_pairs<R: std::borrow::Borrow<Row>>(rows: &[R]) -> Vec<Wanted> {
    let experiments: BTreeSet<&str> =
        rows.iter().map(|row| row.borrow().key.experiment.as_str()).collect();
    experiments
        .into_iter()
        .filter_map(Script::shipped)
        .flat_map(|script| {
            let experiment = script.name;
            script.variant_pairs.into_iter().map(move |pair| Wanted {
                experiment: experiment.clone(),
                first: pair.first,
                second: pair.second,
            })
        })
        .collect()
}

/// Returns the row of a published cell; `None` if its runs were never begun.
fn row(job: &Job, plan: &Plan, found: &[Option<Found>]) -> Option<Row> {
    let cell = job.cell;
    let mut row = Row {
        table: job.table.to_owned(),
        published: Some(cell.value),
        ..Row::new(cell.key.clone(), Status::NotModelled)
    };
    let model = match &job.model {
        Ok(model) => model,
        Err(_) if call_path::is_reference(&cell.key.experiment, &cell.key.variant) => {
            row.status = Status::Calibration;
            return Some(row);
        }
        Err(NoModel { reason, input }) => {
            if *input {
                row.status = Status::Calibration;
            }
            row.reason = Some(reason.clone());
            return Some(row);
        }
    };
    let run = &plan.runs[model.run];
    let Found { prediction, calibrated } = found[model.run].as_ref()?;
    let reference = match model.reference {
        Some(reference) => Some((&plan.runs[reference], found[reference].as_ref()?)),
        None => None,
    };
    let outcome = prediction.outcome(calibrated.metric, run.tasks);
    let reference =
        reference.map(|(run, found)| found.prediction.outcome(found.calibrated.metric, run.tasks));
    row.predicted = outcome.figure(&model.figure, reference.as_ref());
    row.trivial = model.trivial(run, calibrated.metric);
    row.status = match (&row.predicted, model.is_calibration) {
        (None, _) => {
            row.reason = Some("the runs do not determine it".to_owned());
            Status::NotModelled
        }
        (Some(_), true) => Status::Calibration,
        (Some(_), false) => Status::Predicted,
    };
    row.details = detail(calibrated.metric, prediction, run.tasks, calibrated.work);
    let simulated = row.details.simulated.get_or_insert_default();
    if model.figure != Figure::Own {
        simulated.remove_terms_of_the_metric();
    }
    if let Figure::Time { .. } = model.figure {
        simulated.repeats = Some(run.script.metric.name().to_owned());
    }
    if cell.key.threads != Some(run.tasks) {
        simulated.tasks = Some(run.tasks as u64);
    }
    let seeds = prediction.runs.len();
    identify_figure(&run.script, &run.machine, &model.figure, seeds, simulated);
    let doubt = cell.key.threads.and_then(|n| run.script.doubt(&cell.key.machine, n));
    simulated.doubtful = doubt.map(str::to_owned);
    Some(row)
}

/// Measures the rows for which this host has enough CPUs. Returns how much was measured, and the
/// reason if the measurement ended early.
fn measure_rows(
    rows: &mut [(&Job, Row)],
    plan: &Plan,
    found: &[Option<Found>],
    effort: rounds::Effort,
) -> (String, Option<String>) {
    let cpus = cpus::Cpus::allowed();
    let needed = |job: &Job| job.model.as_ref().ok().map(|model| plan.runs[model.run].tasks);
    // Measure each run once, even if several figures come from it.
    let mut measurable: Vec<usize> = Vec::new();
    let mut tasks: Vec<Task> = Vec::new();
    for (job, _) in rows.iter() {
        let Ok(model) = &job.model else { continue };
        let run = &plan.runs[model.run];
        if run.tasks <= cpus.len() && !measurable.contains(&model.run) {
            measurable.push(model.run);
            tasks.push(Task {
                variant: run.variant.clone(),
                threads: run.tasks,
                local_work: found[model.run].as_ref().map_or(0.0, |f| f.calibrated.nanoseconds()),
                placement: cpus::Placement::of(run.script.order, &cpus),
            });
        }
    }
    let mut measured = rounds::run(&tasks, effort, &mut || ());
    let mut samples: Vec<Vec<SampleFigures>> = vec![Vec::new(); tasks.len()];
    for (index, task) in tasks.iter().enumerate() {
        let of = plan.runs[measurable[index]].script.samples;
        if let (Some(of), None, false) = (of, &measured.failure, jobs::interrupted()) {
            match rounds::samples(task, of, effort) {
                Ok(found) => samples[index] = found.unwrap_or_default(),
                Err(failure) => measured.failure = Some(failure),
            }
        }
    }
    for (job, row) in rows.iter_mut() {
        let Ok(model) = &job.model else { continue };
        let index = measurable.iter().position(|&run| run == model.run);
        let result = index.and_then(|index| measured.results[index].as_ref());
        let (Some(result), Some(found)) = (result, &found[model.run]) else { continue };
        let (metric, tasks) = (found.calibrated.metric, plan.runs[model.run].tasks);
        row.measured =
            outcome::measured(&model.figure, result.measured, &result.rounds, metric, tasks);
        if let (Figure::Sample { index: sample, of }, Some(run)) = (&model.figure, index) {
            row.measured = samples[run].get(*sample).map(|s| Measured::once(s.of(*of)));
        }
        if model.figure == Figure::Own {
            row.details.measured = Some(measured_detail(result, metric, tasks));
        }
    }
    let beyond =
        |job: &Job, row: &Row| needed(job).or(row.key.threads).is_some_and(|n| n > cpus.len());
    let beyond = rows.iter().filter(|(job, row)| beyond(job, row)).count();
    let native = match &measured.failure {
        None => call_path::measure_published(rows.iter_mut().map(|(_, row)| row)),
        Some(_) => Ok(None),
    };
    let s = if cpus.len() == 1 { "" } else { "s" };
    let mut how_far = format!(
        "this process may use {} CPU{s}: {} rows were measured, \
         {beyond} need more threads and were not",
        cpus.len(),
        rows.iter().filter(|(_, row)| row.measured.is_some()).count(),
    );
    let failure = match native {
        Ok(said) => {
            how_far.extend(said.map(|said| format!("; {said}")));
            measured.failure
        }
        Err(failure) => Some(failure),
    };
    (how_far, failure)
}
