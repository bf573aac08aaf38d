//! `lockyard measure --standard`: a standard measurement of this host, in one file.

use crate::arguments::Measure;
use crate::errors::{Failure, complain};
use crate::new_file::NewFile;
use crate::{host, output, progress};
use lockyard_lab::calibrate_host::{self, Measurements};
use lockyard_lab::standard::{self, Partial};
use lockyard_support::jobs;
use std::time::Duration;

pub(crate) fn run(options: &Measure, seconds: Duration) -> Result<(), Failure> {
    let Some(path) = options.out.as_deref() else {
        return Err(Failure::Input("--standard needs --out FILE".to_owned()));
    };
    let file = NewFile::at("--out", path, options.force)?;
    host::warn();
    // Record the environment before anything is measured.
    let mut environment = vec![("lockyard", env!("CARGO_PKG_VERSION").to_owned())];
    environment.extend(host::environment());
    progress::announce(seconds);
    let time = seconds.as_secs_f64();
    let bar = progress::bar(time.ceil() as usize, "s of measuring");
    let variants = calibrate_host::standard_variants();
    let measured = calibrate_host::measure_variants(variants, time, &mut |passed| {
        bar.set_position(passed as u64);
    });
    bar.finish_and_clear();
    let found = measured.map_err(Failure::Run)?;
    let interrupted = jobs::interrupted();
    output::end_work();
    if interrupted {
        return partial(&found, &environment, &file, time);
    }
    file.write(standard::write(&found, &environment, None))?;
    output::write(&summary(&found, &file))
}

/// Describes the file.
fn summary(found: &Measurements, file: &NewFile) -> String {
    let variants: std::collections::BTreeSet<&str> =
        found.contended.iter().map(|of| of.variant.as_str()).collect();
    format!(
        "{}, {}\n{:.0} s, {} rounds: {} costs of one CPU, {} figures of pairs, {} curves with {} \
         points\n\n{} is complete. It has no names of hosts or users. To look at it:\n\n  \
         lockyard machines new --from-pingpong {} --out mine.toml\n  \
         lockyard fit {} --machine mine.toml\n",
        found.processor.describe(),
        found.layout.describe(),
        found.seconds,
        found.rounds,
        found.alone.len(),
        found.pairs.len(),
        variants.len(),
        found.contended.len(),
        file.shown(),
        file.shown(),
        file.shown(),
    )
}

/// Writes what was measured before an interrupt, if there are figures.
fn partial(
    found: &Measurements,
    environment: &[(&str, String)],
    file: &NewFile,
    asked: f64,
) -> Result<(), Failure> {
    let passed = found.seconds.min(asked);
    let extent = format!("{passed:.0} of {asked:.0} s were measured");
    if found.alone.is_empty() || found.pairs.is_empty() && found.layout.cpus().len() > 1 {
        return Err(Failure::Interrupted(format!(
            "{extent}: too few for a file; none was written"
        )));
    }
    let partial = Partial { why: "interrupted".to_owned(), asked };
    file.write(standard::write(found, environment, Some(&partial)))?;
    complain(&format!("note: {} has what was measured, and says that it is partial", file.shown()));
    Err(Failure::Interrupted(format!("{extent}; the file is valid, and marked as partial")))
}
