//! `lockyard machines calibrate`.

use crate::arguments::{Calibrate, Failure};
use crate::new_file::NewFile;
use crate::{host, output, progress};
use lockyard_lab::calibrate_host::{self, Figures, render};
use lockyard_measure::detect::environment as host_environment;
use lockyard_results::render::Format;
use lockyard_sim::Machine;
use lockyard_support::jobs;

pub(crate) fn run(options: &Calibrate, format: Format) -> Result<(), Failure> {
    let time = options.seconds.as_secs_f64();
    let name = options.name.as_deref();
    name.map(check_name).transpose()?;
    let file = options.out.as_deref();
    let file = file.map(|path| NewFile::at("--out", path, options.force)).transpose()?;

    host::warn();
    // As it is before anything is measured.
    let environment = environment();
    let bar = progress::bar(time.ceil() as usize, "s of measuring");
    let measured = calibrate_host::measure(time, &mut |passed| bar.set_position(passed as u64));
    bar.finish_and_clear();
    let measurements = measured.map_err(Failure::Run)?;
    let print = |figures: &Figures, file: Option<&str>| {
        output::write(&render(&measurements, figures, file, &environment, format))
    };
    let only_measured = || calibrate_host::measured(&measurements);
    if jobs::interrupted() {
        output::work_ended();
        let mut figures = only_measured();
        let (passed, all) = (measurements.seconds as usize, time.ceil() as usize);
        figures.interrupted(passed.min(all), all, "seconds of measuring");
        print(&figures, None)?;
        return Err(Failure::Interrupted(format!(
            "{passed} of {all} s were measured, {} figures are printed, and no machine file came \
             of it",
            figures.rows.len()
        )));
    }
    let steadiness = calibrate_host::steadiness(&measurements);
    if let Some(what) = steadiness.refused.as_ref().filter(|_| !options.anyway) {
        output::work_ended();
        print(&only_measured(), None)?;
        let advice = calibrate_host::ADVICE;
        return Err(Failure::Run(format!("no machine file: {what}; {advice}")));
    }
    let calibrated = match calibrate_host::calibrate(&measurements, name) {
        // What an interrupt cut short is no machine.
        Ok(calibrated) if !jobs::interrupted() => calibrated,
        found => {
            let interrupted = output::work_ended();
            let mut figures = only_measured();
            if interrupted {
                figures.interrupted(0, figures.rows.len(), "figures predicted");
            }
            print(&figures, None)?;
            return Err(match interrupted {
                true => Failure::Interrupted(
                    "what was measured is printed, and no machine file came of it".to_owned(),
                ),
                false => {
                    Failure::Run(format!("no machine file: {}", found.err().unwrap_or_default()))
                }
            });
        }
    };
    let earlier = options.out.as_deref().and_then(|path| Machine::load(path).ok());
    let differs = earlier.map(|earlier| calibrate_host::differs(&earlier, &calibrated.machine));
    let differs = differs.unwrap_or_default();
    let borrowed = calibrated.borrowed.iter().map(|(_, said)| said);
    for warning in borrowed.chain(&differs).chain(&steadiness.notes) {
        crate::complain(&format!("warning: {warning}"));
    }
    let calibrated = calibrated.with_notes(differs).map_err(Failure::Run)?;
    let bar = progress::bar(calibrate_host::cells(&measurements), "cells simulated");
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let compared = calibrate_host::compare(&measurements, &calibrated, jobs, &|| bar.inc(1));
    bar.finish_and_clear();
    let mut figures = compared.map_err(Failure::Run)?;
    output::work_ended();
    // It is whole, also where an interrupt came while its predictions were made.
    let written = file.as_ref().map(|file| file.write(&calibrated.file));
    if let (Some(file), Some(Ok(()))) = (&file, &written) {
        figures.notes.push(format!("the machine file is {}", file.shown()));
    }
    // For programs always; for people where it is nowhere else.
    let is_elsewhere = matches!(written, Some(Ok(())));
    let shown = (format == Format::Json || !is_elsewhere).then_some(calibrated.file.as_str());
    print(&figures, shown)?;
    written.unwrap_or(Ok(()))?;
    match &figures.partial {
        Some(partial) => Err(Failure::Interrupted(format!(
            "{}; everything was measured, and the machine file is whole",
            partial.extent
        ))),
        None => Ok(()),
    }
}

/// What there is to know about this host.
fn environment() -> Vec<(&'static str, String)> {
    let mut environment = vec![("lockyard", env!("CARGO_PKG_VERSION").to_owned())];
    environment.extend(host_environment());
    environment
}

/// What a machine file accepts.
fn check_name(name: &str) -> Result<(), Failure> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if !name.is_empty() && name.len() <= 100 && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "--name is `{}`; allowed: 1 to 100 of a-z, A-Z, 0-9, '-', '_', '.'",
        lockyard_support::printable(name)
    )))
}
