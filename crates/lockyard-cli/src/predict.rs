//! `lockyard predict`.

use crate::arguments::Predict;
use crate::errors::Failure;
use crate::screen::screen;
use crate::values::thread_list;
use crate::{call_path, output, progress};
use lockyard_lab::predict;
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::{explain, names, sensitivity};
use lockyard_results::render::{Document, Extent};
use lockyard_results::row::Row;
use lockyard_results::{published, scaling};

pub(crate) fn run(options: &Predict) -> Result<(), Failure> {
    call_path::no_scenario(&options.scenario)?;
    let script = names::scenario(&options.scenario)?;
    let machine = names::machine(&options.machine)?;
    let threads = thread_list(&options.threads)?;
    if options.fit {
        scaling::check(&threads)?;
    }
    let placement = options
        .placement
        .as_deref()
        .map(|text| MachinePlacement::parse(text, &machine))
        .transpose()?;
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
        sensitivity: options.sensitivity,
        attribution: options.attribution,
        jobs: options.common.jobs(),
    };
    let found = predict::run(&request, &published::shipped()?, &|| bar.inc(1));
    bar.finish_and_clear();
    let mut found = found?;
    let fits = if options.fit { scaling::of_rows(&mut found.rows) } else { Vec::new() };
    let mut document =
        Document { rows: found.rows, fits, environment, notes, ..Document::default() };
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
    output::finish(document, None, extent, &options.common.output)
}
