//! `lockyard reproduce`.

use crate::arguments::Reproduce;
use crate::errors::{Failure, first};
use crate::host::known;
use crate::report::{About, Reports, machines_of};
use crate::reproduce_page::page;
use crate::{output, progress};
use lockyard_lab::{reproduce, training};
use lockyard_measure::detect;
use lockyard_measure::scenario::rounds;
use lockyard_results::published;
use lockyard_results::render::{Document, Extent, Format, render};
use lockyard_support::InputError;
use std::path::Path;
use std::time::Duration;

pub(crate) fn run(options: &Reproduce) -> Result<(), Failure> {
    if options.training {
        return train(options);
    }
    let tables = match &options.published {
        Some(directory) => published::load_directory(directory)?,
        None => published::shipped()?,
    };
    let request = reproduce::ReproduceRequest {
        names: options.experiments.clone(),
        jobs: options.common.jobs(),
        measure: (!options.no_measure).then_some(rounds::Effort::USUAL),
    };
    if let Some(file) = options.experiments.iter().find(|name| Path::new(name).is_file()) {
        return Err(Failure::Input(format!(
            "`{}` is a file; allowed: names of published experiments, such as fstat2 \
             (lockyard predict takes files)",
            lockyard_support::printable(file)
        )));
    }
    let asked = reproduce::asked(&request, &tables)?;
    let cells = asked.len();
    make_directory(options)?;
    let reports = Reports::of(&options.pages)?;
    reports.check_picture(&asked)?;
    if request.measure.is_some() {
        // Detect the host now, so that results describe its state before the work.
        detect::here();
    }
    progress::announce(estimate(cells, options.common.jobs()));
    let bar = progress::bar(cells, "cells simulated");
    let report = reproduce::run(&request, &tables, &|| bar.inc(1));
    bar.finish_and_clear();
    progress::note_speed();
    let report = report?;
    let mut document = document(&report, request.measure.is_some());
    let extent = Extent::rows(report.rows.len(), report.asked);
    let interrupted = output::note_end(&mut document, report.failure.as_deref(), extent);
    let format = options.common.output.format.into();
    match format {
        Format::Table => output::write(&page(options, &report, &document))?,
        _ => output::print(&document, format)?,
    }
    let title = match options.experiments.as_slice() {
        [] => "Published, predicted and measured figures".to_owned(),
        some => format!("Published and predicted: {}", some.join(", ")),
    };
    // A page that cannot be written costs no results.
    let (files, written) = write_files(options, &document);
    let pages = write_pages(&reports, &title, &document, true);
    let ended = match report.failure {
        Some(failure) => Err(Failure::Run(failure)),
        None if interrupted => {
            let measured = report.rows.iter().filter(|row| row.measured.is_some()).count();
            Err(Failure::Interrupted(format!(
                "{extent} are printed{written}, {measured} of them with a measurement"
            )))
        }
        None => Ok(()),
    };
    first([ended, files, pages])
}

/// Mean CPU time of a cell in seconds, over the shipped tables, in a release build on a server of
/// 2020. A single cell takes between a tenth of this time and fifty times as much.
const SECONDS_OF_CELL: f64 = 0.3;

/// Estimates the time for many cells. Returns zero for few cells, because the times of single cells
/// vary too much.
fn estimate(cells: usize, jobs: usize) -> Duration {
    const MANY: usize = 100;
    let seconds = if cells < MANY { 0.0 } else { cells as f64 * SECONDS_OF_CELL };
    Duration::from_secs_f64(seconds / jobs.max(1) as f64)
}

/// Files that `--out` writes.
const FILES: [(&str, Format); 3] = [
    ("results.json", Format::Json),
    ("results.csv", Format::Csv),
    ("results.md", Format::Markdown),
];

/// Creates the directory of `--out`, and tries to write to it. Call this before anything is
/// simulated.
fn make_directory(options: &Reproduce) -> Result<(), Failure> {
    let Some(directory) = &options.out else { return Ok(()) };
    if directory.is_file() {
        let shown = lockyard_support::shown(directory);
        return Err(Failure::Input(format!("--out {shown}: is a file; name a directory")));
    }
    if !directory.is_dir() {
        std::fs::create_dir_all(directory).map_err(|error| {
            InputError(format!(
                "--out {}: cannot be made: {error}",
                lockyard_support::shown(directory)
            ))
        })?;
    }
    FILES.iter().try_for_each(|(name, _)| output::try_file(directory, name))
}

/// Writes the files of `--out`, and returns the words for a message too. Partial results do not
/// replace complete ones: they get their own names beside them.
fn write_files(options: &Reproduce, document: &Document) -> (Result<(), Failure>, String) {
    let Some(directory) = &options.out else { return (Ok(()), String::new()) };
    let beside = document.partial.is_some() && holds_whole_results(directory);
    let name = |name: &str| match beside {
        true => name.replacen('.', ".partial.", 1),
        false => name.to_owned(),
    };
    let files = FILES.map(|(file, format)| (name(file), render(document, format)));
    if let Err(failure) = output::write_files(directory, &files) {
        return (Err(failure), String::new());
    }
    let first = directory.join(&files[0].0).display().to_string();
    (Ok(()), format!(" and written to {} and beside it", lockyard_support::printable(&first)))
}

/// Returns true if a directory has result files that are not partial.
fn holds_whole_results(directory: &Path) -> bool {
    if !FILES.iter().any(|(name, _)| directory.join(name).exists()) {
        return false;
    }
    let text = std::fs::read(directory.join(FILES[0].0)).unwrap_or_default();
    !lockyard_results::render::is_partial(&text)
}

/// Writes the page and the picture. Results of one or two tables are small enough for all details.
fn write_pages(
    reports: &Reports,
    title: &str,
    document: &Document,
    may_detail: bool,
) -> Result<(), Failure> {
    const MOST: usize = 60;
    let machines = machines_of(document);
    let in_detail = may_detail && document.rows.len() <= MOST;
    reports.write(document, &About { title, machines: &machines, in_detail })
}

/// Prints the training tables. Output for people has the summaries, and every cell on request.
/// Output for programs has every cell.
fn train(options: &Reproduce) -> Result<(), Failure> {
    make_directory(options)?;
    let reports = Reports::of(&options.pages)?;
    let bar = progress::bar(training::count(), "cells simulated");
    let report = training::report(options.common.jobs(), &|| bar.inc(1));
    bar.finish_and_clear();
    progress::note_speed();
    let report = report?;
    let finished = report.rows.len();
    let mut document = Document {
        rows: report.rows,
        summaries: report.summaries,
        environment: output::environment::<String>([]),
        notes: report.notes,
        ..Document::default()
    };
    let extent = Extent::rows(finished, report.asked);
    let interrupted = output::note_end(&mut document, None, extent);
    let format = Format::from(options.common.output.format);
    let for_people = matches!(format, Format::Table | Format::Markdown);
    let shown = if for_people && !options.cells {
        Document { rows: Vec::new(), ..document.clone() }
    } else {
        document.clone()
    };
    output::print(&shown, format)?;
    let (files, written) = write_files(options, &document);
    let pages = write_pages(&reports, "Training tables", &document, false);
    let ended = match interrupted {
        true => Err(Failure::Interrupted(format!("{extent} are finished{written}"))),
        false => Ok(()),
    };
    first([ended, files, pages])
}

fn document(report: &reproduce::Reproduction, measured: bool) -> Document {
    let mut environment = output::environment::<String>([]);
    if measured {
        environment.extend(rounds::Effort::USUAL.describe());
        let host = detect::environment();
        environment.extend(host.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    let mut notes: Vec<String> = report
        .sources
        .iter()
        .map(|(table, source)| format!("Published: {table}: {source}."))
        .collect();
    notes.push(
        "Predicted: simulated from the machine's file. \
         Calibration rows set the local work (in qspinlock-loop, \
         the machine's latencies) and are not counted. Trivial model: \
         the cost of the calibration cell, held constant."
            .to_owned(),
    );
    notes.push(format!("Measured: {}.", report.measured));
    if measured {
        notes.push(
            "Measured figures are from this host, not the published machine, \
             but use that machine's local work. Each is the median of the rounds, \
             with an interval of at least 95 %."
                .to_owned(),
        );
        notes.push(format!("This host: {}.", known(&detect::environment(), ", ")));
    }
    Document {
        rows: report.rows.clone(),
        summaries: report.summaries.clone(),
        environment,
        notes,
        ..Document::default()
    }
}
