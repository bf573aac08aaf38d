//! `lockyard machines calibrate`.

use crate::arguments::Calibrate;
use crate::errors::{Failure, complain};
use crate::new_file::NewFile;
use crate::screen::screen;
use crate::{host, output, progress};
use lockyard_lab::calibrate_host::{self, Figures, Measurements, render};
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
    // Record the environment before anything is measured.
    let mut environment = vec![("lockyard", env!("CARGO_PKG_VERSION").to_owned())];
    environment.extend(host::environment());
    progress::announce(options.seconds);
    let bar = progress::bar(time.ceil() as usize, "s of measuring");
    let measured = calibrate_host::measure(time, &mut |passed| bar.set_position(passed as u64));
    bar.finish_and_clear();
    let print = Print { measurements: measured.map_err(Failure::Run)?, environment, format };
    let measurements = &print.measurements;
    if jobs::interrupted() {
        return Err(print.interrupted(time.ceil() as usize));
    }
    let steadiness = calibrate_host::steadiness(measurements);
    if let Some(what) = steadiness.refused.as_ref().filter(|_| !options.anyway) {
        output::end_work();
        print.figures(&calibrate_host::measured(measurements), None)?;
        let advice = calibrate_host::ADVICE;
        return Err(Failure::Run(format!("no machine file: {what}; {advice}")));
    }
    let calibrated = match calibrate_host::calibrate(measurements, name) {
        // An interrupted calibration makes no machine.
        Ok(calibrated) if !jobs::interrupted() => calibrated,
        found => return Err(print.no_machine(found.err())),
    };
    let earlier = options.out.as_deref().and_then(|path| Machine::load(path).ok());
    let differs = earlier.map(|earlier| calibrate_host::differs(&earlier, &calibrated.machine));
    let differs = differs.unwrap_or_default();
    let borrowed = calibrated.borrowed.iter().map(|(_, said)| said);
    for warning in borrowed.chain(&differs).chain(&steadiness.notes) {
        complain(&format!("warning: {warning}"));
    }
    let calibrated = calibrated.with_notes(differs).map_err(Failure::Run)?;
    let bar = progress::bar(calibrate_host::cells(measurements), "cells simulated");
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let compared = calibrate_host::compare(measurements, &calibrated, jobs, &|| bar.inc(1));
    bar.finish_and_clear();
    let mut figures = compared.map_err(Failure::Run)?;
    output::end_work();
    // The file is complete even if a signal interrupted the predictions.
    let written = file.as_ref().map(|file| file.write(&calibrated.file));
    if let (Some(file), Some(Ok(()))) = (&file, &written) {
        figures.notes.push(format!("the machine file is {}", file.shown()));
    }
    // JSON output always includes the machine file. Other output includes it only if it was not
    // written to a file.
    let is_elsewhere = matches!(written, Some(Ok(())));
    let shown = (format == Format::Json || !is_elsewhere).then_some(calibrated.file.as_str());
    print.figures(&figures, shown)?;
    written.unwrap_or(Ok(()))?;
    match &figures.partial {
        Some(partial) => Err(Failure::Interrupted(format!(
            "{}; everything was measured, and the machine file is complete",
            partial.extent
        ))),
        None => Ok(()),
    }
}

/// Output of a calibration, whether it succeeds, fails or is interrupted.
struct Print {
    measurements: Measurements,
    environment: Vec<(&'static str, String)>,
    format: Format,
}

impl Print {
    fn figures(&self, figures: &Figures, file: Option<&str>) -> Result<(), Failure> {
        let (environment, screen) = (&self.environment, screen());
        let text = render(&self.measurements, figures, file, environment, self.format, &screen);
        output::write(&text)
    }

    /// Prints the measurements that were made before an interrupt. `asked` is the requested number
    /// of seconds.
    fn interrupted(&self, asked: usize) -> Failure {
        output::end_work();
        let mut figures = calibrate_host::measured(&self.measurements);
        let passed = self.measurements.seconds as usize;
        figures.interrupted(passed.min(asked), asked, "seconds of measuring");
        let interrupted = Failure::Interrupted(format!(
            "{passed} of {asked} s were measured, {} figures are printed; no machine file was made",
            figures.rows.len()
        ));
        self.figures(&figures, None).err().unwrap_or(interrupted)
    }

    /// Prints the measurements if no machine could be made from them, after an error or an
    /// interrupt.
    fn no_machine(&self, error: Option<String>) -> Failure {
        let interrupted = output::end_work();
        let mut figures = calibrate_host::measured(&self.measurements);
        if interrupted {
            figures.interrupted(0, figures.rows.len(), "figures predicted");
        }
        let failure = match interrupted {
            true => Failure::Interrupted(
                "the measurements are printed; no machine file was made".to_owned(),
            ),
            false => Failure::Run(format!("no machine file: {}", error.unwrap_or_default())),
        };
        self.figures(&figures, None).err().unwrap_or(failure)
    }
}

/// Refuses a name that a machine file does not accept.
pub(crate) fn check_name(name: &str) -> Result<(), Failure> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if !name.is_empty() && name.len() <= 100 && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "--name is `{}`; allowed: 1 to 100 characters of a-z, A-Z, 0-9, '-', '_', '.'",
        lockyard_support::printable(name)
    )))
}
