//! `lockyard reproduce`.

use crate::arguments::{Failure, Reproduce};
use crate::{output, progress};
use lockyard_lab::host::{self, measure};
use lockyard_lab::output::{Document, Format, render};
use lockyard_lab::{InputError, published, reproduce};

pub(crate) fn run(options: &Reproduce) -> Result<(), Failure> {
    let tables = match &options.published {
        Some(directory) => published::load_directory(directory)?,
        None => published::shipped()?,
    };
    let request = reproduce::Request {
        names: options.experiments.clone(),
        jobs: options.common.jobs(),
        measure: (!options.no_measure).then_some(measure::Effort::USUAL),
    };
    let cells = reproduce::count(&request, &tables)?;
    if let Some(directory) = &options.out
        && !directory.is_dir()
    {
        std::fs::create_dir_all(directory).map_err(|error| {
            InputError(format!("--out {}: cannot be made: {error}", directory.display()))
        })?;
    }
    let bar = progress::bar(cells, "cells simulated");
    let report = reproduce::run(&request, &tables, &|| bar.inc(1));
    bar.finish_and_clear();
    let report = report?;
    let document = document(&report, request.measure.is_some());
    output::write(&render(&document, options.common.format.into()))?;
    if lockyard_lab::jobs::interrupted() {
        return Err(Failure::Run(format!(
            "interrupted: {} of {} rows are finished, {} of them with a measurement",
            report.rows.len(),
            report.asked,
            report.rows.iter().filter(|row| row.measured.is_some()).count()
        )));
    }
    // Only whole results replace files.
    if let Some(directory) = &options.out {
        for (name, format) in [
            ("results.json", Format::Json),
            ("results.csv", Format::Csv),
            ("results.md", Format::Markdown),
        ] {
            output::write_file(directory, name, &render(&document, format))?;
        }
    }
    Ok(())
}

fn document(report: &reproduce::Report, measured: bool) -> Document {
    let mut environment = vec![("lockyard".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
    if measured {
        let host = host::environment();
        environment.extend(host.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    let mut notes: Vec<String> = report
        .sources
        .iter()
        .map(|(table, source)| format!("Published: {table}: {source}."))
        .collect();
    notes.push(
        "Predicted: simulated from the machine's file; calibration rows gave the local work (of qspinlock-loop, \
         the machine's latencies) and are not counted. Trivial model: the cost of the calibration cell, \
         held constant."
            .to_owned(),
    );
    notes.push(format!("Measured: {}.", report.measured));
    if measured {
        notes.push(
            "Measured figures are this host's, with the local work of the published machine: the median \
             of the rounds, with an interval of at least 95 %. They are not the published machine's."
                .to_owned(),
        );
        let host: Vec<String> = host::environment()
            .into_iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        notes.push(format!("This host: {}.", host.join(", ")));
    }
    Document { rows: report.rows.clone(), summaries: report.summaries.clone(), environment, notes }
}
