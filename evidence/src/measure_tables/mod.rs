//! Measurement of tables, counters and reclamation on this host, together with their usual
//! alternatives. Results are rows.
//!
//! The subjects come from `crate::tables`. `subjects.rs` measures a single one.

mod arguments;
mod command;
mod subjects;

pub use arguments::MeasureTables;
pub use command::run as command;

use crate::tables::{self as peers, GROUPS, Group, Load, SubjectRole};
use lockyard_measure::cpus::{Cpus, MOST_THREADS, Placement};
use lockyard_measure::scenario::detail::detail;
use lockyard_measure::scenario::rounds::Effort;
use lockyard_measure::scenario::warnings;
use lockyard_results::cell_key::CellKey;
use lockyard_results::details::{Details, RatioDetail, TablesDetail};
use lockyard_results::render::Extent;
use lockyard_results::row::Row;
use lockyard_results::statistics::coverage;
use lockyard_scenarios::Metric;
use lockyard_support::{InputError, hint, printable};
use subjects::{Figures, Results, Task};

/// Maximum number of objects in a table.
pub const MOST_OBJECTS: u32 = 1 << 24;

/// A request: the cells to measure.
#[derive(Clone, Debug)]
pub struct TablesRequest {
    /// Groups to measure; all if empty.
    pub groups: Vec<String>,
    /// Names of rows to measure; all rows of a group if empty.
    pub only: Vec<String>,
    /// Shares of reads among the operations, in per cent. If not given, each group's own shares are
    /// used.
    pub reads: Option<Vec<usize>>,
    /// Thread counts.
    pub threads: Vec<usize>,
    /// Number of objects, for groups that have objects.
    pub objects: u32,
    /// Placement of the threads.
    pub placement: Placement,
    /// Length and number of rounds.
    pub effort: Effort,
    /// Row that serves as the base of ratios, round by round. If not given, it is the fastest row
    /// of each cell among those that are not ours.
    pub relative_to: Option<String>,
}

/// Result of a measurement request.
#[derive(Clone, Debug)]
pub struct TablesReport {
    /// Number of requested subjects with a figure.
    pub extent: Extent,
    /// One row for each subject, share of reads and thread count. If held-back objects or misses
    /// were counted, these have rows too.
    pub rows: Vec<Row>,
    /// Reason why the remaining rows were not measured.
    pub failure: Option<String>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Conditions of the measurement, by name.
    pub environment: Vec<(String, String)>,
}

fn groups(request: &TablesRequest) -> Result<Vec<&'static Group>, InputError> {
    let names: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
    for name in &request.groups {
        if !names.contains(&name.as_str()) {
            return Err(InputError(format!(
                "there is no group of tables `{}`; {}",
                printable(name),
                hint(name, &names, "there are")
            )));
        }
    }
    let wanted = |group: &&Group| {
        request.groups.is_empty() || request.groups.iter().any(|name| name == group.name)
    };
    Ok(GROUPS.iter().filter(wanted).collect())
}

/// Returns the tasks of a request, each with its group.
fn tasks(request: &TablesRequest) -> Result<Vec<(&'static Group, Task)>, InputError> {
    let groups = groups(request)?;
    let mut names: Vec<&str> = Vec::new();
    for row in groups.iter().flat_map(|group| group.rows) {
        if !names.contains(&row.name) {
            names.push(row.name);
        }
    }
    let asked = request.only.iter().map(|name| ("--only", name));
    let asked = asked.chain(request.relative_to.iter().map(|name| ("--relative-to", name)));
    for (option, name) in asked {
        if !names.contains(&name.as_str()) {
            return Err(InputError(format!(
                "{option}: `{}` is in none of the groups that are measured; {}",
                printable(name),
                hint(name, &names, "there are")
            )));
        }
    }
    if let Some(reads) = request.reads.iter().flatten().find(|&&reads| reads > 100) {
        return Err(InputError(format!("--reads: {reads} per cent; allowed: 0 to 100")));
    }
    if let Some(most) = request.threads.iter().find(|&&threads| threads > MOST_THREADS) {
        return Err(InputError(format!("--threads: {most} threads; allowed: 1 to {MOST_THREADS}")));
    }
    if request.objects == 0 || request.objects > MOST_OBJECTS {
        let objects = request.objects;
        return Err(InputError(format!("--objects is {objects}; allowed: 1 to {MOST_OBJECTS}")));
    }
    let mut tasks = Vec::new();
    for group in groups {
        let reads = match &request.reads {
            Some(reads) => reads.iter().map(|&reads| reads as u32).collect(),
            None => group.reads.to_vec(),
        };
        let chosen = |row: &&peers::SubjectRow| {
            request.only.is_empty()
                || request.only.iter().chain(&request.relative_to).any(|name| name == row.name)
        };
        for reads in reads {
            for &row in group.rows.iter().filter(chosen) {
                tasks.extend(request.threads.iter().map(|&threads| {
                    let load = Load { objects: request.objects, reads, threads };
                    (group, Task { row, load })
                }));
            }
        }
    }
    Ok(tasks)
}

/// Returns the number of rounds of all cells in a request, for the progress display.
///
/// # Errors
///
/// If the request names an unknown item.
pub fn rounds(request: &TablesRequest) -> Result<usize, InputError> {
    Ok(tasks(request)?.len() * request.effort.repeats)
}

/// Measures a request.
///
/// # Errors
///
/// If the request names an unknown item.
pub fn run(request: &TablesRequest, done: &mut dyn FnMut()) -> Result<TablesReport, InputError> {
    let cells = tasks(request)?;
    let mut environment = vec![
        ("placement".to_owned(), request.placement.describe()),
        ("objects".to_owned(), request.objects.to_string()),
    ];
    environment.extend(request.effort.describe());
    let host = lockyard_measure::detect::environment();
    environment.extend(host.into_iter().map(|(name, value)| (name.to_owned(), value)));
    let tasks: Vec<Task> = cells.iter().map(|(_, task)| task.clone()).collect();
    let results = subjects::run(&tasks, &request.placement, request.effort, done);
    let places = request.placement.cpus(&Cpus::allowed());
    let (mut rows, mut beside) = (Vec::new(), Vec::new());
    for (index, (group, task)) in cells.iter().enumerate() {
        let Some(figures) = &results.figures[index] else { continue };
        let mut measured = detail(&figures.result, Metric::OPERATIONS, task.load.threads);
        measured.tables = Some(TablesDetail {
            role: role(task.row.role),
            subject: format!("{}: {}", task.row.from, task.row.what),
            reads_per_cent: task.load.reads,
        });
        measured.placement_cpus = Some(places as u64);
        measured.ratio = compare(request, &cells, &results, index);
        measured.warnings = warnings::of_cell(&figures.result, places);
        let key = key(group, task, "throughput", "op/s");
        let details = Details::of_measured(measured);
        rows.push(Row::measured(key.clone(), figures.result.measured, details));
        let others = [("held-back", "objects", figures.held_back), ("missed", "%", figures.missed)];
        for (metric, unit, found) in others {
            let key = CellKey { metric: metric.to_owned(), unit: unit.to_owned(), ..key.clone() };
            beside.extend(found.map(|found| Row::measured(key, found, Details::default())));
        }
    }
    let extent = Extent::rows(rows.len(), cells.len());
    rows.append(&mut beside);
    let notes = notes(request, &cells, &results, places);
    Ok(TablesReport { extent, rows, failure: results.failure, notes, environment })
}

fn role(role: SubjectRole) -> &'static str {
    match role {
        SubjectRole::Ours => "ours",
        SubjectRole::Peer => "peer",
        SubjectRole::Yardstick => "yardstick",
    }
}

fn experiment(group: &Group, load: &Load) -> String {
    format!("{}/reads-{}", group.name, load.reads)
}

fn key(group: &Group, task: &Task, metric: &str, unit: &str) -> CellKey {
    let experiment = experiment(group, &task.load);
    CellKey::here(&experiment, task.row.name, task.load.threads, metric, unit)
}

/// Adds ratios, round by round: a cell's figure divided by that of the named row. If none is named,
/// the base is the fastest row that is not ours.
fn compare(
    request: &TablesRequest,
    cells: &[(&'static Group, Task)],
    results: &Results,
    index: usize,
) -> Option<RatioDetail> {
    let figures = results.figures[index].as_ref()?;
    let (group, task) = &cells[index];
    let alike = cells.iter().zip(&results.figures).filter(|((other_group, other), _)| {
        other_group.name == group.name && other.load == task.load
    });
    let throughput = |figures: &Figures| figures.result.measured.value;
    let reference = alike
        .filter_map(|((_, other), figures)| Some((other.row, figures.as_ref()?)))
        .filter(|(row, _)| match &request.relative_to {
            Some(name) => row.name == name,
            None => row.role != SubjectRole::Ours,
        })
        .max_by(|a, b| throughput(a.1).total_cmp(&throughput(b.1)));
    let (row, reference) = reference?;
    let (value, interval) = figures.result.relative_to(&reference.result)?;
    Some(RatioDetail {
        to: row.name.to_owned(),
        value,
        ci_low: interval.low,
        ci_high: interval.high,
        bootstrap: None,
    })
}

fn notes(
    request: &TablesRequest,
    cells: &[(&'static Group, Task)],
    results: &Results,
    places: usize,
) -> Vec<String> {
    let mut notes = Vec::new();
    for ((group, task), figures) in cells.iter().zip(&results.figures) {
        let Some(figures) = figures else { continue };
        let threads = task.load.threads;
        let s = if threads == 1 { "" } else { "s" };
        for warning in warnings::of_cell(&figures.result, places) {
            let experiment = experiment(group, &task.load);
            notes.push(format!(
                "Warning: {experiment}: {} on {threads} thread{s}: {warning}.",
                task.row.name
            ));
        }
    }
    if request.threads.iter().any(|&threads| threads > places) {
        notes.push(format!(
            "More threads than the {places} CPUs of the placement share them: \
             figures then depend on the operating system's scheduler."
        ));
    }
    let effort = request.effort;
    notes.push(format!(
        "Measured on this host: {} rounds of {} s. In each round the cells are shuffled, and each \
         gets a new subject. Figures are medians, with an interval of at least 95 % ({}).",
        effort.repeats,
        effort.window.as_secs_f64(),
        coverage(effort.repeats)
    ));
    notes.push(match &request.relative_to {
        Some(name) => format!(
            "Ratio: the figure divided by that of {name} in the same round; the median of the \
             rounds."
        ),
        None => {
            "Ratio: the figure divided by that of the fastest row in the cell that is not ours \
                 (`to` of `detail.measured.ratio` in JSON), round by round; the median of the \
                 rounds. Above 1, ours is ahead."
                .to_owned()
        }
    });
    let mut said: Vec<&str> = Vec::new();
    for (group, _) in cells {
        if said.contains(&group.name) {
            continue;
        }
        said.push(group.name);
        let objects = match group.has_objects {
            true => format!("; {} objects", request.objects),
            false => String::new(),
        };
        let name = group.name;
        notes.push(format!("{name}: {}{objects}.", group.operation));
        let of_group = cells.iter().filter(|(other, _)| other.name == name);
        let mut rows: Vec<&str> = Vec::new();
        for (_, task) in of_group {
            if !rows.contains(&task.row.name) {
                rows.push(task.row.name);
                let peers::SubjectRow { name, from, licence, what, .. } = task.row;
                notes.push(format!("  {name} ({from}, {licence}): {what}."));
            }
        }
    }
    if results.figures.iter().flatten().any(|figures| figures.held_back.is_some()) {
        notes.push(
            "Held back: removed objects whose memory was not yet freed. Each round counts them ten \
             times and takes the largest number; the figure is the median of the rounds."
                .to_owned(),
        );
    }
    if results.figures.iter().flatten().any(|figures| figures.missed.is_some()) {
        notes.push(
            "Missed: among reads of keys that are read repeatedly, the share that had to make the \
             buffer again."
                .to_owned(),
        );
    }
    notes
}
