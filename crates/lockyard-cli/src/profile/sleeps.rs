//! Costs of the kernel's sleeps and wake-ups on this host, as a recording has them.

use lockyard_measure::kernel::{Cost, find, measure_briefly};
use lockyard_recording::recording::Costs;

/// Measures a wake-up, from the call until the other thread runs, on two CPUs; and the calls. What
/// cannot be measured is 0.
pub(super) fn sleeps() -> Costs {
    let found = measure_briefly();
    let of = |what| find(&found, what).map_or(0.0, |figure| figure.value);
    Costs {
        park: of(Cost::WaitChanged),
        wake_nobody: of(Cost::WakeNobody),
        wake: of(Cost::Wake),
        wakeup: of(Cost::Wakeup),
        ..Costs::default()
    }
}
