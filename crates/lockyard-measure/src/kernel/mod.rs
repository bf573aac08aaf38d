//! Costs of sleeping on this host: the kernel's calls by which a thread sleeps, wakes another one
//! and yields. A lock whose waiters sleep pays them, and no load or store shows them.
//!
//! Threads of this process make the calls, pinned, on words of their own. A cost that cannot be
//! measured has no figure: with a single CPU nobody can be woken on another one, and a filter of
//! system calls may refuse them. All together takes about a second, and less than
//! [`MOST_SECONDS`], unless the host is so busy that threads wait for their CPUs.
//!
//! | module | content |
//! | --- | --- |
//! | `futex` | the calls |
//! | `alone` | calls of one thread that neither sleeps nor wakes anybody |
//! | `wakes` | one thread wakes another one, whose CPU was idle for a known time |
//! | `callers` | threads on all CPUs that call on one word at the same time |

#[cfg(target_os = "linux")]
mod alone;
#[cfg(target_os = "linux")]
mod callers;
#[cfg(target_os = "linux")]
mod futex;
#[cfg(target_os = "linux")]
mod wakes;

use lockyard_results::row::Measured;

/// Maximum duration in seconds of all measurements on a host whose CPUs are free.
pub const MOST_SECONDS: f64 = 1.5;

/// A cost of the kernel. All are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// A call that would sleep, but finds that the word has changed.
    WaitChanged,
    /// A call that wakes nobody, because nobody sleeps.
    WakeNobody,
    /// A call that wakes a thread, until it returns to its caller.
    Wake,
    /// From the beginning of such a call until the woken thread runs on a CPU that was idle for a
    /// short time.
    Wakeup,
    /// The same on a CPU that was idle for long.
    DeepWakeup,
    /// Idle time of a CPU from which on a wake-up is a deep one.
    DeepAfter,
    /// Time for which a call keeps calls on the same word out.
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
            Cost::WakeNobody => "a futex call that wakes nobody",
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

/// Measures the costs on this host. An interrupt ends the measurement early.
pub fn measure() -> Costs {
    measured(true)
}

/// Measures calls and wake-ups of a CPU that was idle for a short time, in a few hundredths of a
/// second.
pub fn measure_briefly() -> Costs {
    measured(false)
}

#[cfg(target_os = "linux")]
fn measured(all: bool) -> Costs {
    use crate::cpus::Cpus;
    let cpus = Cpus::allowed();
    let mut found = alone::measure(cpus.cpu(0));
    if let [first, second, ..] = *cpus.all() {
        found.extend(wakes::measure(first, second, all));
        if all {
            found.extend(callers::measure(cpus.all()));
        }
    }
    found.sort_by_key(|(what, _)| *what);
    found
}

/// Returns no costs, because the calls are Linux's.
#[cfg(not(target_os = "linux"))]
fn measured(_all: bool) -> Costs {
    Costs::new()
}

/// Returns the median of samples with its interval; `None` if there are too few, or if one is no
/// time.
#[cfg(target_os = "linux")]
fn figure(samples: &[f64]) -> Option<Measured> {
    use lockyard_results::statistics;
    const LEAST_SAMPLES: usize = 5;
    let are_times = samples.iter().all(|sample| sample.is_finite() && *sample > 0.0);
    if samples.len() < LEAST_SAMPLES || !are_times {
        return None;
    }
    let interval = statistics::median_interval(samples)?;
    Some(Measured {
        value: statistics::median(samples)?,
        ci_low: interval.low,
        ci_high: interval.high,
        samples: samples.len(),
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::cpus::Cpus;

    #[test]
    fn costs_are_times_and_a_wake_up_takes_longer_than_waking_nobody() {
        let begin = std::time::Instant::now();
        let costs = measure();
        // The bound is for hosts whose CPUs are taken by other tests too.
        assert!(begin.elapsed().as_secs_f64() < 10.0 * MOST_SECONDS);
        let of = |what| find(&costs, what).map(|figure| figure.value);
        assert!(costs.iter().all(|(_, figure)| figure.value > 0.0 && figure.samples > 0));
        assert!(costs.is_sorted_by(|(a, _), (b, _)| a < b), "each is there once: {costs:?}");
        let Some(nobody) = of(Cost::WakeNobody) else {
            return lockyard_testing::skip!("futex calls are refused");
        };
        assert!(of(Cost::WaitChanged).is_some(), "{costs:?}");
        if Cpus::allowed().len() < 2 {
            assert_eq!((of(Cost::Wakeup), of(Cost::Bucket)), (None, None));
            return lockyard_testing::skip!("with one CPU nobody can be woken on another one");
        }
        let (Some(wakeup), Some(wake)) = (of(Cost::Wakeup), of(Cost::Wake)) else {
            return lockyard_testing::skip!("the CPUs were not idle");
        };
        assert!(wakeup > nobody && wake > nobody, "{costs:?}");
        let (Some(deep), Some(after)) = (of(Cost::DeepWakeup), of(Cost::DeepAfter)) else {
            return lockyard_testing::skip!("the CPUs were not idle");
        };
        assert!(deep > nobody && (20e3..=2e6).contains(&after), "{costs:?}");
    }

    #[test]
    fn a_brief_measurement_has_no_deep_wake_ups() {
        let briefly = measure_briefly();
        assert!(briefly.iter().all(|(what, _)| *what <= Cost::Wakeup || *what == Cost::Yield));
        let of = |what| find(&briefly, what).is_some();
        if !of(Cost::WakeNobody) || Cpus::allowed().len() < 2 {
            return lockyard_testing::skip!("futex calls are refused, or there is one CPU");
        }
        assert!(of(Cost::WaitChanged), "{briefly:?}");
        assert_eq!(of(Cost::Wake), of(Cost::Wakeup), "{briefly:?}");
    }

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
