//! The kernel's costs, their names, and the figure that samples of a cost give.

use lockyard_results::row::Measured;

/// A cost of the kernel, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// A call that would sleep, but finds that the word has changed.
    WaitChanged,
    /// A call that wakes no thread, because no thread sleeps.
    WakeNobody,
    /// A call that wakes a thread, until it returns to its caller.
    Wake,
    /// From the beginning of such a call until the woken thread runs on a CPU that was idle for a
    /// short time.
    Wakeup,
    /// The same on a CPU that was idle for long.
    DeepWakeup,
    /// Idle time of a CPU from which on a wake-up counts as deep.
    DeepAfter,
    /// Time for which a call keeps other calls on the same word out.
    Bucket,
    /// A call that yields the CPU, but finds no other thread.
    Yield,
}

impl Cost {
    /// All costs.
    pub const ALL: [Cost; 8] = [
        Cost::WaitChanged,
        Cost::WakeNobody,
        Cost::Wake,
        Cost::Wakeup,
        Cost::DeepWakeup,
        Cost::DeepAfter,
        Cost::Bucket,
        Cost::Yield,
    ];

    /// Returns the name in machine files and results.
    pub fn name(self) -> &'static str {
        match self {
            Cost::WaitChanged => "wait_changed",
            Cost::WakeNobody => "wake_nobody",
            Cost::Wake => "wake",
            Cost::Wakeup => "wakeup",
            Cost::DeepWakeup => "deep_wakeup",
            Cost::DeepAfter => "deep_after",
            Cost::Bucket => "bucket",
            Cost::Yield => "yield",
        }
    }

    /// Returns the minimum number of threads of the measurement.
    pub fn threads(self) -> usize {
        match self {
            Cost::WaitChanged | Cost::WakeNobody | Cost::Yield => 1,
            Cost::Wake | Cost::Wakeup | Cost::DeepWakeup | Cost::DeepAfter | Cost::Bucket => 2,
        }
    }

    /// Returns a description.
    pub fn describe(self) -> &'static str {
        match self {
            Cost::WaitChanged => "a futex call that would sleep and finds the word changed",
            Cost::WakeNobody => "a futex call that wakes no thread",
            Cost::Wake => "a futex call that wakes a thread, for its caller",
            Cost::Wakeup => "from the call until the woken thread runs, its CPU idle for 20 us",
            Cost::DeepWakeup => "the same, its CPU idle for 2 ms",
            Cost::DeepAfter => "idle time from which a wake-up takes about as long as after 2 ms",
            Cost::Bucket => "a futex call on a word on which all CPUs call, by their number",
            Cost::Yield => "a sched_yield that finds no other thread",
        }
    }
}

/// Costs that were measured. A cost without an entry cannot be measured here.
pub type Costs = Vec<(Cost, Measured)>;

/// Returns the figure of a cost, if it has one.
pub fn find(costs: &Costs, what: Cost) -> Option<Measured> {
    costs.iter().find(|(found, _)| *found == what).map(|(_, figure)| *figure)
}

/// Returns the median of samples with its interval; `None` if there are too few samples, or if one
/// is not a valid time.
#[cfg(target_os = "linux")]
pub(super) fn figure(samples: &[f64]) -> Option<Measured> {
    const LEAST_SAMPLES: usize = 5;
    let are_times = samples.iter().all(|sample| sample.is_finite() && *sample > 0.0);
    if samples.len() < LEAST_SAMPLES || !are_times { None } else { Measured::of_samples(samples) }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn few_samples_and_no_times_are_no_figure() {
        assert_eq!(figure(&[1.0; 4]), None);
        assert_eq!(figure(&[1.0, 2.0, f64::NAN, 3.0, 4.0]), None);
        assert_eq!(figure(&[1.0, 2.0, 0.0, 3.0, 4.0]), None);
        let five = figure(&[5.0, 1.0, 3.0, 2.0, 4.0]).expect("five are enough");
        assert_eq!((five.value, five.ci_low, five.ci_high, five.samples), (3.0, 1.0, 5.0, 5));
    }

    #[test]
    fn names_are_different() {
        let mut names = Cost::ALL.map(Cost::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Cost::ALL.len());
        assert!(Cost::ALL.iter().all(|what| !what.describe().contains('"')));
    }
}
