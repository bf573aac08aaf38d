//! `lockyard predict`.

use crate::arguments::{Failure, Predict, thread_list};
use crate::{output, progress};
use lockyard_lab::output::{Document, render};
use lockyard_lab::{names, predict, published};

pub(crate) fn run(options: &Predict) -> Result<(), Failure> {
    let script = names::scenario(&options.scenario)?;
    let machine = names::machine(&options.machine)?;
    let threads = thread_list(&options.threads)?;
    let variants = options.variants.len().max(script.variants.len());
    let bar = progress::bar(threads.len() * variants, "cells simulated");
    let work = match &script.calibration {
        Some(calibration) if calibration.gives_local_work() => format!(
            "Local work: calibrated on {} at {} thread{}, in nanoseconds, and taken over.",
            calibration.machines.join(" and "),
            calibration.threads,
            if calibration.threads == 1 { "" } else { "s" }
        ),
        _ => "Local work: as the script says.".to_owned(),
    };
    let notes = vec![format!("{}: {}.", script.name, script.operation), work];
    let assumed = machine.assumed_share() * 100.0;
    let environment = vec![
        ("lockyard".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("machine".to_owned(), machine.name().to_owned()),
        ("machine_assumed_share".to_owned(), format!("{assumed:.0} %")),
    ];
    let request = predict::Request {
        script,
        machine,
        variants: options.variants.clone(),
        threads,
        jobs: options.common.jobs(),
    };
    let rows = predict::run(&request, &published::shipped()?, &|| bar.inc(1));
    bar.finish_and_clear();
    let document = Document { rows: rows?, summaries: Vec::new(), environment, notes };
    output::write(&render(&document, options.common.format.into()))?;
    if lockyard_lab::jobs::interrupted() {
        return Err(Failure::Run("interrupted: what is finished is above".to_owned()));
    }
    Ok(())
}
