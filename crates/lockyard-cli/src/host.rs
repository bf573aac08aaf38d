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

/// Warns on standard error about more threads than CPUs. Call this before the measurement.
pub(crate) fn warn_of_sharing(threads: usize, cpus: usize) {
    if threads > cpus && cpus > 0 && !screen().quiet {
        complain(&sharing(threads, cpus));
    }
}

/// Returns what to expect of more threads than CPUs.
fn sharing(threads: usize, cpus: usize) -> String {
    let cpus = lockyard_support::count(cpus, "CPU");
    format!(
        "warning: {threads} threads share {cpus}: a lock that spins then waits for threads that do \
         not run, for milliseconds each time, and in the order of arrival for most of the time; \
         rounds may be far longer than asked for (--stalled-after S ends one without progress)"
    )
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

#[cfg(test)]
mod tests {
    #[test]
    fn more_threads_than_cpus_are_announced_with_their_effect() {
        let line = super::sharing(1000, 1);
        assert!(line.starts_with("warning: 1000 threads share 1 CPU: a lock that spins"), "{line}");
    }
}
