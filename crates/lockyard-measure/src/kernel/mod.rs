//! Costs of sleeping on this host: the system calls with which a thread sleeps, wakes another
//! thread and yields. A lock whose waiters sleep pays these costs, and no load or store shows them.
//!
//! Pinned threads of this process make the calls, on private words. A cost that cannot be measured
//! has no figure: with a single CPU no thread can be woken on another CPU, and a filter of system
//! calls may refuse the calls. All measurements together take about a second, and less than
//! [`MOST_SECONDS`], unless the host is so busy that threads wait for their CPUs.
//!
//! | module | content |
//! | --- | --- |
//! | [`cost`] | the costs and their names; the figure of samples |
//! | `futex` | the calls |
//! | `alone` | calls of one thread that neither sleeps nor wakes anybody |
//! | `pair` | the two CPUs of wake-ups |
//! | `wakes` | one thread wakes another one, whose CPU was idle for a known time |
//! | `callers` | threads on all CPUs that call on one word at the same time |

#[cfg(target_os = "linux")]
mod alone;
#[cfg(target_os = "linux")]
mod callers;
pub mod cost;
#[cfg(target_os = "linux")]
mod futex;
mod pair;
#[cfg(target_os = "linux")]
mod wakes;

pub use cost::{Cost, Costs, find};
pub use pair::CpuPair;

/// Maximum duration in seconds of all measurements on a host whose CPUs are free.
pub const MOST_SECONDS: f64 = 1.5;

/// Measures the costs on this host. An interrupt ends the measurement early.
pub fn measure() -> Costs {
    measured(true)
}

/// Measures calls and wake-ups of a CPU that was idle for a short time, in a few hundredths of a
/// second.
pub fn measure_briefly() -> Costs {
    measured(false)
}

/// Returns the note about the wake-ups if their two CPUs are siblings of one core.
pub fn siblings_note() -> Option<String> {
    let pair = CpuPair::here().filter(|pair| pair.are_siblings)?;
    Some(format!("costs of wake-ups: {pair}"))
}

#[cfg(target_os = "linux")]
fn measured(all: bool) -> Costs {
    use crate::cpus::Cpus;
    let cpus = Cpus::allowed();
    let mut found = alone::measure(cpus.cpu(0));
    if let Some(CpuPair { waker, sleeper, .. }) = CpuPair::here() {
        found.extend(wakes::measure(waker, sleeper, all));
        if all {
            found.extend(callers::measure(cpus.all()));
        }
    }
    found.sort_by_key(|(what, _)| *what);
    found
}

/// Returns no costs, because the calls exist only on Linux.
#[cfg(not(target_os = "linux"))]
fn measured(_all: bool) -> Costs {
    Costs::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::cpus::Cpus;

    #[test]
    fn costs_are_times_and_a_wake_up_takes_longer_than_waking_nobody() {
        let begin = std::time::Instant::now();
        let costs = measure();
        // The bound is wide because other tests may use the host's CPUs.
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
            return lockyard_testing::skip!("with one CPU no thread can be woken on another one");
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
}
