//! `lockyard compare`.

use crate::arguments::Compare;
use crate::errors::Failure;
use crate::output;
use crate::screen::screen;
use lockyard_results::compare::{self, Options, report};

pub(crate) fn run(options: &Compare) -> Result<(), Failure> {
    let threshold = threshold(&options.threshold)?;
    let (a, b) = (compare::load(&options.a)?, compare::load(&options.b)?);
    let comparison = compare::compare(&a, &b, Options { threshold, anyway: options.anyway })?;
    output::write(&report::render_on(&comparison, options.output.format.into(), &screen()))?;
    match comparison.slower_beyond_threshold() {
        0 => Ok(()),
        slower => Err(Failure::Run(format!(
            "{slower} row{} slower by more than {}, with evidence",
            if slower == 1 { " is" } else { "s are" },
            options.threshold.trim()
        ))),
    }
}

/// Reads a threshold in per cent; returns it as a fraction.
fn threshold(text: &str) -> Result<f64, Failure> {
    let number = text.trim();
    let number = number.strip_suffix('%').unwrap_or(number).trim_end();
    match number.parse::<f64>() {
        Ok(percent) if (0.0..100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(Failure::Input(format!(
            "--threshold: `{}` is not a threshold; allowed: 0 to below 100 per cent, such as 5%",
            lockyard_support::printable(text)
        ))),
    }
}
