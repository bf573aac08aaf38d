//! `lockyard predict`.

use crate::arguments::Predict;
use crate::baselines::Baselines;
use crate::errors::Failure;
use crate::report::{About, Reports};
use crate::screen::screen;
use crate::trace::TraceFile;
use crate::values::thread_list;
use crate::{call_path, output, progress, trace};
use lockyard_lab::predict;
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::{evidence, explain, names, sensitivity};
use lockyard_results::fairness::TOO_FEW_WAITS;
use lockyard_results::render::{Document, Extent};
use lockyard_results::row::Row;
use lockyard_results::{published, scaling};

pub(crate) fn run(options: &Predict) -> Result<(), Failure> {
    call_path::no_scenario(&options.scenario)?;
    let script = names::scenario(&options.scenario)?;
    let machine = names::machine(&options.machine)?;
    let threads = thread_list(&options.threads)?;
    let reports = Reports::of_threads(&options.pages, &threads)?;
    if options.fit {
        scaling::check(&threads)?;
    }
    let placement = options
        .placement
        .as_deref()
        .map(|text| MachinePlacement::parse(text, &machine))
        .transpose()?;
    let baselines = Baselines::prepare(&options.baselines)?;
    let trace = options.trace.as_deref().map(TraceFile::at).transpose()?;
    let variants = match options.variants.len() {
        0 => script.variants.len(),
        some => some,
    };
    let each = if options.sensitivity { 1 + sensitivity::count(&machine) } else { 1 };
    let bar = progress::bar(threads.len() * variants * each, "cells simulated");
    let work = match &script.calibration {
        Some(calibration) if calibration.gives_local_work() => format!(
            "Local work: calibrated on {}{}, in nanoseconds, and reused here.",
            calibration.machines.join(" and "),
            match calibration.threads {
                Some(1) => " at 1 thread".to_owned(),
                Some(threads) => format!(" at {threads} threads"),
                None => String::new(),
            }
        ),
        _ => "Local work: as the script says.".to_owned(),
    };
    let mut notes = vec![format!("{}: {}.", script.name, script.operation), work];
    let of_machine = machine.notes().iter();
    notes.extend(of_machine.map(|note| format!("Note on {}: {note}.", machine.name())));
    let assumed = machine.assumed_share() * 100.0;
    let placed =
        placement.as_ref().map_or(script.order.name().to_owned(), MachinePlacement::describe);
    let mut environment = output::environment([
        ("machine", machine.name().to_owned()),
        ("machine_assumed_share", format!("{assumed:.0} %")),
        ("placement", placed),
    ]);
    if !machine.notes().is_empty() {
        environment.push(("machine_notes".to_owned(), machine.notes().join("; ")));
    }
    let request = predict::PredictRequest {
        script,
        machine,
        variants: options.variants.clone(),
        threads,
        placement,
        intervals: true,
        sensitivity: options.sensitivity,
        attribution: options.attribution,
        trace: trace.is_some(),
        jobs: options.common.jobs(),
    };
    let found = predict::run(&request, &published::shipped()?, &|| bar.inc(1));
    bar.finish_and_clear();
    let mut found = found?;
    let fits = if options.fit { scaling::of_rows(&mut found.rows) } else { Vec::new() };
    let mut document =
        Document { rows: found.rows, fits, environment, notes, ..Document::default() };
    document.notes.extend(of_figures(&document.rows));
    let heading = |row: &Row| format!("{}, {}", row.key.variant, row.key.threads_in_words());
    if options.explain {
        let explained = document.rows.iter().zip(&found.costs);
        document.explanations =
            explained.map(|(row, costs)| costs.table_on(&heading(row), &screen())).collect();
        document.notes.push(explain::legend());
    }
    let sensitive = document.rows.iter().zip(&found.costs).zip(&found.sensitivities);
    let tables: Vec<String> =
        sensitive.map(|((row, costs), s)| s.table(&heading(row), &row.key.unit, costs)).collect();
    document.explanations.extend(tables);
    let extent = Extent::rows(document.rows.len(), found.asked);
    document.rows.extend(found.figures);
    document.rows.extend(found.listings);
    let of_trace = trace::about(&request, &document.environment);
    let about = About {
        title: &format!("{} on {}", request.script.name, request.machine.name()),
        machines: std::slice::from_ref(&request.machine),
        in_detail: true,
    };
    baselines.finish(document, None, extent, &options.common.output, |document| {
        reports.write(document, &about)?;
        match trace {
            Some(file) if document.partial.is_none() => {
                file.write(&found.traced, &request.machine, of_trace)
            }
            _ => Ok(()),
        }
    })
}

/// Returns notes on the rows' intervals, errors and percentiles.
fn of_figures(rows: &[Row]) -> Vec<String> {
    let simulated = || rows.iter().filter_map(|row| row.details.simulated.as_ref());
    let mut notes = Vec::new();
    if simulated().any(|detail| detail.interval.is_some()) {
        notes.push(INTERVAL.to_owned());
    }
    notes.extend(evidence::sentences(simulated()));
    if simulated().any(|detail| detail.waits.is_some_and(|waits| waits.lacks_percentiles())) {
        notes.push(TOO_FEW_WAITS.to_owned());
    }
    notes
}

/// Sentence about the intervals of predicted figures.
const INTERVAL: &str = "Intervals: how the seeds differ, and the clock, the latencies between \
                        cores and the local work wrong by 20 %. They are no bound of the error.";
