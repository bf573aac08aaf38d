//! What is said of this host beside its figures.

use lockyard_measure::detect::{NOT_AVAILABLE, here, warnings};

/// Names on standard error, before anything is measured, what spoils a measurement here. Of the clock's frequency nothing is
/// said: figures are not in cycles.
pub(crate) fn warn() {
    let warnings = warnings(here());
    let mut said = false;
    for warning in warnings.iter().filter(|warning| warning.name != "clock") {
        crate::complain(&format!("warning: {} [{}]", warning.brief(), warning.name));
        said = true;
    }
    if said {
        crate::complain(
            "warning: what that does, and what to do about it: `lockyard machines detect`",
        );
    }
}

/// What is known of an environment, in a line for people.
pub(crate) fn known<N: AsRef<str>>(environment: &[(N, String)], between: &str) -> String {
    let known = environment.iter().filter(|(_, value)| value != NOT_AVAILABLE);
    let each: Vec<String> =
        known.map(|(name, value)| format!("{} {value}", name.as_ref())).collect();
    each.join(between)
}
