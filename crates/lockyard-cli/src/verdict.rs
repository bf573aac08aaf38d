//! The verdict of a comparison: its text, and the exit code that follows from it.

use crate::errors::Failure;
use crate::output;
use crate::screen::screen;
use lockyard_results::compare::{Comparison, report};
use lockyard_results::render::Format;

/// Prints a comparison.
///
/// # Errors
///
/// A failure if a row is slower by more than the threshold. `shown` is the threshold as the user
/// wrote it.
pub(crate) fn print(comparison: &Comparison, format: Format, shown: &str) -> Result<(), Failure> {
    output::write(&report::render_on(comparison, format, &screen()))?;
    match comparison.slower_beyond_threshold() {
        0 => Ok(()),
        slower => Err(Failure::Run(format!(
            "{slower} row{} slower by more than {}%, with evidence",
            if slower == 1 { " is" } else { "s are" },
            number(shown)
        ))),
    }
}

/// Reads a threshold in per cent; returns it as a fraction.
pub(crate) fn threshold(text: &str) -> Result<f64, Failure> {
    match number(text).parse::<f64>() {
        Ok(percent) if (0.0..100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(Failure::Input(format!(
            "--threshold: `{}` is not a threshold; allowed: 0 to below 100 per cent, such as 5%",
            lockyard_support::printable(text)
        ))),
    }
}

/// Returns the number of a threshold, without its unit.
fn number(text: &str) -> &str {
    let number = text.trim();
    number.strip_suffix('%').unwrap_or(number).trim_end()
}
