//! Every published figure beside its prediction and, as far as this host goes, a measurement.

use crate::calibrate::LocalWork;
use crate::host::measure::{self, Task};
use crate::pairs::{self, Wanted};
use crate::placement::Placement;
use crate::predict::{self, Failure};
use crate::published::{Cell, Table};
use crate::rows::{Detail, Row, Status, Summary, summarise};
use crate::simulate;
use crate::{InputError, host, jobs, measured};
use lockyard_scenarios::{Script, Variant};
use lockyard_sim::Machine;
use std::collections::{BTreeMap, BTreeSet};

/// What to reproduce.
#[derive(Clone, Debug)]
pub struct Request {
    /// Tables or experiments; everything if empty.
    pub names: Vec<String>,
    /// How many cells are simulated at the same time.
    pub jobs: usize,
    /// How to measure on this host; `None` to leave it.
    pub measure: Option<measure::Effort>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Report {
    /// One row for each published figure, in the order of the tables; without those that were not
    /// begun before an interrupt.
    pub rows: Vec<Row>,
    /// One summary for each table, and one for all.
    pub summaries: Vec<Summary>,
    /// The tables and their sources.
    pub sources: Vec<(String, String)>,
    /// How many published figures were asked for.
    pub asked: usize,
    /// How far this host could measure, in a sentence.
    pub measured: String,
    /// Why the rest was not measured: a lock that is stalled or does not exclude, CPUs that were taken away.
    pub failure: Option<String>,
}

/// A published cell, with what it takes to simulate it.
struct Job<'t> {
    table: &'t str,
    cell: &'t Cell,
    model: Result<Model, String>,
}

/// What it takes to simulate a cell.
struct Model {
    script: Script,
    variant: Variant,
    machine: Machine,
    /// Index into the calibrations.
    calibration: usize,
    is_calibration: bool,
    trivial: Option<f64>,
}

/// What is calibrated once: a variant of a script, for a machine.
struct Calibrated {
    script: Script,
    variant: Variant,
    machine: String,
}

/// The cells that `names` select, with their tables' names.
fn select<'t>(
    tables: &'t [Table],
    wanted: &[String],
) -> Result<Vec<(&'t str, &'t Cell)>, InputError> {
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
                lockyard_input::printable(name),
                lockyard_input::hint(name, &all, "there are")
            )));
        }
    }
    let chosen = |table: &Table, cell: &Cell| {
        wanted.is_empty() || wanted.iter().any(|n| *n == table.name || *n == cell.experiment)
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

/// How many published figures a request selects.
///
/// # Errors
///
/// If it names what is not there.
pub fn count(request: &Request, tables: &[Table]) -> Result<usize, InputError> {
    Ok(select(tables, &request.names)?.len())
}

/// Reproduces the tables. `done` is called after each simulated cell.
///
/// # Errors
///
/// If the request names what is not there, or a run fails.
pub fn run(
    request: &Request,
    tables: &[Table],
    done: &(impl Fn() + Sync),
) -> Result<Report, Failure> {
    let cells = select(tables, &request.names)?;
    let asked = cells.len();
    // Each variant of each script is calibrated once.
    let mut calibrations: Vec<Calibrated> = Vec::new();
    let jobs: Vec<Job> = cells
        .into_iter()
        .map(|(table, cell)| Job { table, cell, model: model(cell, tables, &mut calibrations) })
        .collect();
    let works = jobs::run(
        &calibrations,
        request.jobs,
        |c| predict::local_work(&c.script, &c.variant, &c.machine, tables),
        || {},
    );
    let works: Vec<Option<LocalWork>> =
        works.into_iter().map(|work| work.unwrap_or(Ok(None))).collect::<Result<_, Failure>>()?;
    let rows = jobs::run(&jobs, request.jobs, |job| row(job, &works), done);
    let mut finished: Vec<(&Job, Row)> = Vec::new();
    for (job, row) in jobs.iter().zip(rows) {
        if let Some(row) = row {
            finished.push((job, row.map_err(Failure::Run)?));
        }
    }
    let (measured, failure) = match request.measure {
        Some(effort) => measure_rows(&mut finished, &works, effort),
        None => ("nothing was measured on this host".to_owned(), None),
    };
    let rows: Vec<Row> = finished.into_iter().map(|(_, row)| row).collect();
    let summaries = summaries(&rows);
    let sources = tables
        .iter()
        .filter(|table| rows.iter().any(|row| row.table == table.name))
        .map(|table| (table.name.clone(), table.source.clone()))
        .collect();
    Ok(Report { rows, summaries, sources, asked, measured, failure })
}

/// In the details of rows that are reported apart: why.
const DOUBTFUL: &str = "doubtful";

/// One summary for each table, and one for all. Doubtful rows are summed up apart, and not in the summary of all.
fn summaries(rows: &[Row]) -> Vec<Summary> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.table.as_str()) {
            names.push(&row.table);
        }
    }
    let (doubtful, sound): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.detail.contains_key(DOUBTFUL));
    let mut summaries = Vec::new();
    for name in names {
        let of_table = |rows: &[&Row], summary: &str| {
            let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.table == name).collect();
            (!rows.is_empty()).then(|| with_pairs(summary, &rows))
        };
        summaries.extend(of_table(&sound, name));
        summaries.extend(of_table(&doubtful, &format!("{name}: doubtful rows")));
    }
    summaries.push(with_pairs("all", &sound));
    summaries
}

/// A summary with the pairs that the rows' scripts ask for.
fn with_pairs(name: &str, rows: &[&Row]) -> Summary {
    let experiments: BTreeSet<&str> = rows.iter().map(|row| row.experiment.as_str()).collect();
    let wanted: Vec<Wanted> = experiments
        .into_iter()
        .filter_map(Script::shipped)
        .flat_map(|script| {
            let experiment = script.name;
            script.pairs.into_iter().map(move |pair| Wanted {
                experiment: experiment.clone(),
                first: pair.first,
                second: pair.second,
            })
        })
        .collect();
    Summary { pairs: pairs::score(rows, &wanted), ..summarise(name, rows) }
}

/// What it takes to simulate a cell, or why it cannot be.
fn model(
    cell: &Cell,
    tables: &[Table],
    calibrations: &mut Vec<Calibrated>,
) -> Result<Model, String> {
    let script = Script::shipped(&cell.experiment)
        .ok_or_else(|| format!("there is no scenario `{}`", cell.experiment))?;
    let machine = Machine::shipped(&cell.machine)
        .ok_or_else(|| format!("there is no machine file for `{}`", cell.machine))?;
    if let Some(left_out) = script.left_out.iter().find(|left_out| left_out.metric == cell.metric) {
        return Err(left_out.reason.clone());
    }
    let metric = script.metric;
    if cell.metric != metric.name() || cell.unit != metric.unit() {
        return Err(format!("the scenario gives {} in {}", metric.name(), metric.unit()));
    }
    let variant = script
        .variant(&cell.variant)
        .cloned()
        .ok_or_else(|| format!("the scenario has no variant `{}`", cell.variant))?;
    if cell.threads > machine.hardware_threads() {
        return Err(format!("the machine has {} hardware threads", machine.hardware_threads()));
    }
    let calibrated_by = predict::calibration_cell(&script, &cell.variant, &cell.machine, tables);
    let same = |known: &Calibrated| {
        // A script whose calibration names its variant is calibrated once for all of them.
        let shared = script.calibration.as_ref().is_some_and(|c| c.variant.is_some());
        known.script.name == script.name
            && known.machine == cell.machine
            && (shared || known.variant.name == cell.variant)
    };
    let calibration = calibrations.iter().position(same).unwrap_or_else(|| {
        let machine = cell.machine.clone();
        let variant = variant.clone();
        calibrations.push(Calibrated { script: script.clone(), variant, machine });
        calibrations.len() - 1
    });
    Ok(Model {
        is_calibration: calibrated_by == Some(cell),
        trivial: calibrated_by.map(|c| predict::trivial(&script, c, cell.threads)),
        script,
        variant,
        machine,
        calibration,
    })
}

/// The row of a published cell.
fn row(job: &Job, works: &[Option<LocalWork>]) -> Result<Row, String> {
    let cell = job.cell;
    let mut row = Row {
        table: job.table.to_owned(),
        experiment: cell.experiment.clone(),
        machine: cell.machine.clone(),
        variant: cell.variant.clone(),
        threads: cell.threads,
        metric: cell.metric.clone(),
        unit: cell.unit.clone(),
        published: Some(cell.value),
        predicted: None,
        trivial: None,
        measured: None,
        status: Status::NotModelled,
        reason: None,
        detail: BTreeMap::new(),
    };
    match &job.model {
        Ok(model) => {
            let work = works[model.calibration];
            let nanoseconds = work.map_or(0.0, |w| w.nanoseconds);
            let order = Placement::Order(model.script.order);
            let (variant, order) = (&model.variant, (&order, model.script.home));
            let (machine, threads) = (&model.machine, cell.threads);
            let prediction =
                simulate::cell_with_siblings(machine, variant, order, threads, nanoseconds)
                    .map_err(|e| format!("{}, {}: {e}", cell.experiment, cell.variant))?;
            row.predicted = Some(model.script.metric.figure(prediction.throughput, cell.threads));
            row.trivial = model.trivial;
            row.status = if model.is_calibration { Status::Calibration } else { Status::Predicted };
            row.detail = predict::detail(&model.script, &prediction, cell.threads, work);
            let seeds = simulate::Effort::usual(order.0).seeds;
            simulate::identify(machine, seeds, &mut row.detail);
            if let Some(reason) = model.script.doubt(&cell.machine, cell.threads) {
                row.detail.insert(DOUBTFUL.to_owned(), Detail::Text(reason.to_owned()));
            }
        }
        Err(reason) => row.reason = Some(reason.clone()),
    }
    Ok(row)
}

/// Measures the rows that this host has CPUs for; returns how far that was, and why not further.
fn measure_rows(
    rows: &mut [(&Job, Row)],
    works: &[Option<LocalWork>],
    effort: measure::Effort,
) -> (String, Option<String>) {
    let cpus = host::Cpus::allowed();
    let mut measurable: Vec<usize> = Vec::new();
    let mut tasks: Vec<Task> = Vec::new();
    for (index, (job, row)) in rows.iter().enumerate() {
        if let Ok(model) = &job.model
            && row.threads <= cpus.len()
        {
            measurable.push(index);
            tasks.push(Task {
                variant: model.variant.clone(),
                threads: row.threads,
                local_work: works[model.calibration].map_or(0.0, |w| w.nanoseconds),
                placement: host::Placement::of(model.script.order, &cpus),
            });
        }
    }
    let measured = measure::run(&tasks, effort, &mut || ());
    for (index, result) in measurable.iter().zip(measured.results) {
        let Some(result) = result else { continue };
        let (job, row) = &mut rows[*index];
        let Ok(model) = &job.model else { continue };
        row.measured = Some(result.measured.in_metric(model.script.metric, row.threads));
        row.detail.extend(measured::detail(&result, model.script.metric, row.threads));
    }
    let beyond = rows.iter().filter(|(_, row)| row.threads > cpus.len()).count();
    let s = if cpus.len() == 1 { "" } else { "s" };
    let how_far = format!(
        "this process may use {} CPU{s}: {} rows were measured, {beyond} ask for more threads and were not",
        cpus.len(),
        rows.iter().filter(|(_, row)| row.measured.is_some()).count(),
    );
    (how_far, measured.failure)
}
