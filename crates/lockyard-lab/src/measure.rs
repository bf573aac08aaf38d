//! Measurement of a scenario's cells on this host. Results are rows.

mod measured_row;
mod samples;

use lockyard_measure::cpus::{Cpus, Placement};
use lockyard_measure::peers::{self, longest};
use lockyard_measure::scenario::longest_waits::Windows;
use lockyard_measure::scenario::rounds::{self, Effort, Result as Measurement, Task};
use lockyard_measure::scenario::warnings;
use lockyard_predict::calibration;
use lockyard_predict::failure::Failure;
use lockyard_results::cell_key::{CellKey, HERE};
use lockyard_results::compare::Planned;
use lockyard_results::compare::read::FigureKind;
use lockyard_results::published::PublishedTable;
use lockyard_results::row::Row;
use lockyard_results::statistics::coverage;
use lockyard_results::{histogram, listing};
use lockyard_scenarios::{Script, Variant};
use lockyard_support::{InputError, jobs};
use measured_row::Cells;

/// A request for measurements.
#[derive(Clone, Debug)]
pub struct MeasureRequest {
    /// The scenario.
    pub script: Script,
    /// Names of variants; all variants if empty.
    pub variants: Vec<String>,
    /// Thread counts.
    pub threads: Vec<usize>,
    /// Placement of the threads; `None` for the script's own.
    pub placement: Option<Placement>,
    /// Duration and number of rounds.
    pub effort: Effort,
    /// Variant that is the base of the other variants' ratios, round by round.
    pub relative_to: Option<String>,
}

/// Result of a measurement request.
#[derive(Clone, Debug)]
pub struct MeasureReport {
    /// One row for each variant and thread count. Cells that were never begun have no row.
    pub rows: Vec<Row>,
    /// Number of requested rows.
    pub asked: usize,
    /// Rows of samples, for scripts with samples.
    pub samples: Vec<Row>,
    /// Rows that attribute CPU time like a profiler's listing, if it was attributed.
    pub listings: Vec<Row>,
    /// Reason why the remaining cells were not measured.
    pub failure: Option<String>,
    /// Tables for readers in addition to the rows' tables.
    pub explanations: Vec<String>,
    /// Pictures of the waits for readers, one for each row with timed waits.
    pub pictures: Vec<String>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Environment of the measurement: pairs of name and value.
    pub environment: Vec<(String, String)>,
}

/// Returns the number of rounds in a request, for the progress display.
///
/// # Errors
///
/// If the request names an unknown item.
pub fn rounds(request: &MeasureRequest) -> Result<usize, Failure> {
    let variants = peers::variants(&request.script, &request.variants)?;
    let effort = request.effort;
    let passes = rounds::passes(effort);
    let windows = windows(request).map_or(0, |(windows, cpus)| {
        windows.count * request.threads.iter().filter(|&&n| longest::has_windows(n, cpus)).count()
    });
    let passes = passes + usize::from(request.script.samples.is_some());
    Ok(variants.len() * (request.threads.len() * passes + windows))
}

/// Returns the windows in which longest waits are measured, and the number of CPUs in the
/// placement. Returns `None` unless waits are timed and at least one variant has another project's
/// lock.
fn windows(request: &MeasureRequest) -> Option<(Windows, usize)> {
    let effort = request.effort;
    let foreign = |variant: &&Variant| variant.foreign_locks().next().is_some();
    let chosen = peers::variants(&request.script, &request.variants).ok()?;
    let cpus = Cpus::allowed();
    let placement = request.placement.clone();
    let placement = placement.unwrap_or_else(|| Placement::of(request.script.order, &cpus));
    (effort.waits && chosen.into_iter().any(|variant| foreign(&variant))).then(|| {
        let windows = longest::of_rounds(effort.window, effort.repeats, effort.stalled_after);
        (windows, placement.cpus(&cpus))
    })
}

/// Returns the cells of a request, without metrics and units, and the environment of its results.
///
/// # Errors
///
/// If the request names an unknown item.
pub fn planned(request: &MeasureRequest) -> Result<Planned, Failure> {
    let variants = peers::variants(&request.script, &request.variants)?;
    let of_variant = |variant: &str| {
        let cell = |&threads| CellKey::here(&request.script.name, variant, threads, "", "");
        request.threads.iter().map(cell).collect::<Vec<CellKey>>()
    };
    let placement = request.placement.clone();
    let placement =
        placement.unwrap_or_else(|| Placement::of(request.script.order, &Cpus::allowed()));
    Ok(Planned {
        kind: FigureKind::Measured,
        environment: environment(request, &placement),
        cells: variants.iter().flat_map(|variant| of_variant(&variant.name)).collect(),
    })
}

/// Checks that everything named in a request exists.
///
/// # Errors
///
/// If any of it does not exist.
pub fn check(request: &MeasureRequest) -> Result<(), Failure> {
    let variants = peers::variants(&request.script, &request.variants)?;
    let Some(name) = &request.relative_to else { return Ok(()) };
    let measured: Vec<&str> = variants.iter().map(|v| v.name.as_str()).collect();
    if measured.contains(&name.as_str()) {
        return Ok(());
    }
    Err(Failure::Input(InputError(format!(
        "--relative-to: `{}` is not a measured variant; {}",
        lockyard_support::printable(name),
        lockyard_support::hint(name, &measured, "there are")
    ))))
}

/// Measures the cells of a request: variant by variant, in the order of `threads`.
///
/// # Errors
///
/// If the input is invalid, or the local work cannot be determined.
pub fn run(
    request: &MeasureRequest,
    tables: &[PublishedTable],
    done: &mut dyn FnMut(),
) -> Result<MeasureReport, Failure> {
    check(request)?;
    let script = &request.script;
    let variants = peers::variants(script, &request.variants)?;
    let cpus = Cpus::allowed();
    let placement = match &request.placement {
        Some(placement) => placement.clone(),
        None => Placement::of(script.order, &cpus),
    };
    let mut tasks = Vec::new();
    let asked = variants.len() * request.threads.len();
    for variant in variants {
        let work = match calibration::local_work(script, variant, HERE, tables) {
            // After an interrupt, nothing is measured.
            Err(_) if jobs::interrupted() => None,
            work => work?,
        };
        tasks.extend(request.threads.iter().map(|&threads| Task {
            variant: Variant::clone(variant),
            threads,
            local_work: work.map_or(0.0, |work| work.nanoseconds),
            placement: placement.clone(),
        }));
    }
    // Do this before anything runs, because it records the state of the host at the start.
    let environment = environment(request, &placement);
    let measured = rounds::run(&tasks, request.effort, done);
    let places = placement.cpus(&cpus);
    let cells = Cells {
        script,
        relative_to: request.relative_to.as_deref(),
        waits: request.effort.waits,
        tasks: &tasks,
        measured: &measured,
        places,
    };
    let (mut rows, mut listings, mut pictures) = (Vec::new(), Vec::new(), Vec::new());
    for (task, result) in tasks.iter().zip(&measured.results) {
        let Some(result) = result else { continue };
        pictures.extend(picture(task, result));
        rows.push(cells.row(task, result));
        if let Some(attribution) = &result.attribution {
            let (variant, threads) = (task.variant.name.as_str(), task.threads);
            let of = listing::Of { script, machine: None, variant, threads };
            listings.extend(listing::rows(&attribution.listing, of, tables));
        }
    }
    let mut failure = measured.failure.clone();
    if let (Some((windows, cpus)), None) = (windows(request), &failure) {
        let concurrent = tasks.iter().filter(|task| longest::has_windows(task.threads, cpus));
        let concurrent: Vec<Task> = concurrent.cloned().collect();
        failure = longest::measure(&concurrent, windows, &mut rows, done).err();
    }
    let mut samples = Vec::new();
    if failure.is_none() {
        (samples, failure) = samples::rows(script, &tasks, request.effort, done);
    }
    let explanations = longest::tables(script, &rows);
    let mut notes = notes(request, &tasks, &measured, &placement, &cpus);
    notes.extend(peers::notes(script, &rows));
    notes.push(format!("{}: {}.", script.name, script.operation));
    Ok(MeasureReport {
        rows,
        asked,
        samples,
        listings,
        failure,
        explanations,
        pictures,
        notes,
        environment,
    })
}

/// Draws the waits of a cell, if they were timed.
fn picture(task: &Task, result: &Measurement) -> Option<String> {
    let waits = result.waits?;
    let s = if task.threads == 1 { "" } else { "s" };
    let heading = format!(
        "Waits of {}, {} thread{s}: {} of them, in nanoseconds",
        task.variant.name, task.threads, waits.count
    );
    let marks = [
        ("50 %", waits.p50),
        ("90 %", waits.p90),
        ("99 %", waits.p99),
        ("99.9 %", waits.p999),
        ("longest", Some(waits.maximum)),
    ];
    let known = |(name, wait): (&'static str, Option<u64>)| wait.map(|wait| (name, wait));
    let marks: Vec<(&str, u64)> = marks.into_iter().filter_map(known).collect();
    Some(histogram::picture(&heading, &result.histogram, &marks))
}

fn environment(request: &MeasureRequest, placement: &Placement) -> Vec<(String, String)> {
    let mut environment = vec![("placement".to_owned(), placement.describe())];
    environment.extend(request.effort.describe());
    let host = lockyard_measure::detect::environment();
    environment.extend(host.into_iter().map(|(name, value)| (name.to_owned(), value)));
    environment
}

fn notes(
    request: &MeasureRequest,
    tasks: &[Task],
    measured: &rounds::Results,
    placement: &Placement,
    cpus: &Cpus,
) -> Vec<String> {
    let mut notes = Vec::new();
    let results =
        || tasks.iter().zip(&measured.results).filter_map(|(t, r)| Some((t, r.as_ref()?)));
    let cells: Vec<(&Task, &Measurement)> = results().collect();
    notes.extend(warnings::unfair(&cells));
    notes.extend(retries(request, &cells));
    let places = placement.cpus(cpus);
    for (task, result) in cells {
        let s = if task.threads == 1 { "" } else { "s" };
        for warning in warnings::of_cell(result, places) {
            notes.push(format!(
                "Warning: {} on {} thread{s}: {warning}.",
                task.variant.name, task.threads
            ));
        }
    }
    let most = |task: &Task| task.variant.tasks(task.threads);
    if let Some(guests) = tasks.iter().find_map(|task| task.variant.guests) {
        let s = if guests == 1 { "" } else { "s" };
        notes.push(format!(
            "{guests} guest{s}, each with the threads of its row and objects of its own, \
             are threads of this host; figures are of one guest. \
             The operating system schedules them: unlike a hypervisor, \
             it does not notice that a thread spins."
        ));
    }
    if tasks.iter().any(|task| task.variant.waits_for_others()) {
        notes.push(String::from(
            "Waiting for others is the system call membarrier: \
             it interrupts the CPUs on which other threads run, \
             and does not wait for threads that are off their CPU.",
        ));
    }
    if tasks.iter().any(|task| most(task) > places) {
        notes.push(format!(
            "More threads than the {places} CPUs of the placement share them: \
             figures then depend on the operating system's scheduler."
        ));
    }
    let effort = request.effort;
    notes.push(format!(
        "Measured on this host: {} rounds of {} s, with the cells shuffled in each round. Figures \
         are medians, with an interval of at least 95 % ({}; JSON also has that of the bootstrap).",
        effort.repeats,
        effort.window.as_secs_f64(),
        coverage(effort.repeats)
    ));
    if let Some(name) = &request.relative_to {
        notes.push(format!(
            "Ratio: the figure divided by that of {name} in the same round; \
             the median of the rounds, with its interval."
        ));
    }
    notes.extend(notes_on_passes(request, measured));
    notes
}

/// Returns a note for each variant whose steps compare and exchange.
fn retries(request: &MeasureRequest, cells: &[(&Task, &Measurement)]) -> Vec<String> {
    let of_variant = |variant: &Variant| {
        let of = cells.iter().filter(|(task, _)| task.variant.name == variant.name);
        let each = |(task, result): &(&Task, &Measurement)| {
            let s = if task.threads == 1 { "" } else { "s" };
            result
                .failed_exchanges
                .map(|failed| format!("{failed:.3} on {} thread{s}", task.threads))
        };
        let each: Vec<String> = of.filter_map(each).collect();
        (!each.is_empty()).then(|| {
            format!(
                "Failed compare-exchanges an operation of {}: {}.",
                variant.name,
                each.join(", ")
            )
        })
    };
    request.script.variants.iter().filter_map(of_variant).collect()
}

/// Returns notes on quantities that are measured in separate passes.
fn notes_on_passes(request: &MeasureRequest, measured: &rounds::Results) -> Vec<String> {
    let mut notes = Vec::new();
    if measured.results.iter().flatten().any(|result| result.attribution.is_some()) {
        notes.push(
            "CPU time by phase: sampled in a separate pass, as long as all rounds together, \
             and weighted with the threads' CPU-time clocks. \
             The interval of a share holds for phases shorter than the time between samples. \
             Waiting: every call that takes a lock, or takes or drops a reference. Between: \
             the interpreter. Sampler: its CPU time, in per cent of the CPU time that it saw. \
             Cost: CPU time per operation in this pass over that without attribution."
                .to_owned(),
        );
    }
    if let Some(clock_ns) = measured.clock_ns {
        notes.push(format!(
            "Waits: from the call that takes a lock, or takes or drops a reference, \
             to its return, in a separate pass; each includes about {clock_ns:.0} ns of reading \
             the clock."
        ));
    }
    if measured.results.iter().flatten().any(|result| result.handovers.is_some()) {
        notes.push(
            "Handed over from: where the lock's last holder ran, in a separate pass. Recording: \
             the throughput of that pass divided by that of the rounds."
                .to_owned(),
        );
    }
    if let Some(samples) = request.script.samples {
        notes.push(format!(
            "Samples: {} of {} s one after another, in one run. Figures are operations a second, \
             of the slowest task, of the fastest task, and of all. Disturbances come from a thread \
             that is not pinned.",
            samples.number, samples.seconds
        ));
    }
    if let Some(reason) = &measured.no_counters {
        notes.push(format!("Hardware counters: not available here: {reason}."));
    }
    notes
}
