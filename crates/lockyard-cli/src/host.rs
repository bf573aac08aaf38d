//! Descriptions of this host for results and warnings.

use crate::errors::complain;
use crate::screen::screen;
use lockyard_measure::detect::{NOT_AVAILABLE, here, warnings};
use std::time::Duration;

pub(crate) use lockyard_measure::detect::environment;

/// Returns the warm-up time before a measurement window of this length.
pub(crate) fn warm_up(window: Duration) -> Duration {
    window.mul_f64(0.2).min(Duration::from_secs(1))
}

/// Warns on standard error about conditions of this host that spoil a measurement. Call this before
/// the measurement. There are no warnings about the clock's frequency, because figures are not in
/// cycles.
pub(crate) fn warn() {
    if screen().quiet {
        return;
    }
    let warnings = warnings(here());
    let mut said = false;
    for warning in warnings.iter().filter(|warning| warning.name != "clock") {
        complain(&format!("warning: {} [{}]", warning.brief(), warning.name));
        said = true;
    }
    if said {
        complain("warning: `lockyard machines detect` shows the effects and what to do about them");
    }
}

/// Returns a note with the known facts of an environment.
pub(crate) fn note<N: AsRef<str>>(environment: &[(N, String)]) -> String {
    format!("Environment: {}.", known(environment, "; "))
}

/// Returns the known facts of an environment, as one line for people.
pub(crate) fn known<N: AsRef<str>>(environment: &[(N, String)], between: &str) -> String {
    let known = environment.iter().filter(|(_, value)| value != NOT_AVAILABLE);
    let each: Vec<String> =
        known.map(|(name, value)| format!("{} {value}", name.as_ref())).collect();
    each.join(between)
}
