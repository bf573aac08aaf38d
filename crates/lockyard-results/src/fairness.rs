//! Fairness among threads, and their waits, on this host and on simulated machines.

use crate::statistics;
use hdrhistogram::Histogram;
use serde::Serialize;

/// Fairness among threads: the spread of their operations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fairness {
    /// Operations of the slowest thread over the mean, all rounds together.
    pub minimum: f64,
    /// Operations of the fastest thread over the mean.
    pub maximum: f64,
    /// Median over the rounds of Jain's index. The index is 1 if all threads did the same, and 1/n
    /// if one of n did everything (R. Jain, D. Chiu, W. Hawe, *A Quantitative Measure of Fairness*,
    /// DEC-TR-301, 1984).
    pub jain: f64,
    /// Least index of a round.
    pub jain_least: f64,
}

impl Fairness {
    /// Computes fairness from the operations of each thread in each round; `None` without a round.
    pub fn of(rounds: &[&[u64]]) -> Option<Fairness> {
        let threads = rounds.first()?.len();
        let operations = totals(rounds, threads);
        let mean = operations.iter().sum::<u64>() as f64 / threads as f64;
        let over_mean = |n: Option<&u64>| match n {
            Some(&n) if mean > 0.0 => n as f64 / mean,
            _ => 1.0,
        };
        let indices: Vec<f64> = rounds.iter().map(|round| jain(round)).collect();
        Some(Fairness {
            minimum: over_mean(operations.iter().min()),
            maximum: over_mean(operations.iter().max()),
            jain: statistics::median(&indices)?,
            jain_least: indices.iter().copied().fold(1.0, f64::min),
        })
    }
}

/// Returns the operations of each thread, all rounds together.
pub fn totals(rounds: &[&[u64]], threads: usize) -> Vec<u64> {
    (0..threads).map(|thread| rounds.iter().map(|round| round[thread]).sum()).collect()
}

/// Returns Jain's index of the threads' operations; 1 if there were no operations.
fn jain(operations: &[u64]) -> f64 {
    let sum: f64 = operations.iter().map(|&n| n as f64).sum();
    let squares: f64 = operations.iter().map(|&n| (n as f64).powi(2)).sum();
    if squares > 0.0 { sum * sum / (operations.len() as f64 * squares) } else { 1.0 }
}

/// Waits of the steps that take a lock, or take or drop a reference, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// Median.
    #[serde(rename = "p50_ns")]
    pub p50: u64,
    /// 90th percentile.
    #[serde(rename = "p90_ns")]
    pub p90: u64,
    /// 99th percentile.
    #[serde(rename = "p99_ns")]
    pub p99: u64,
    /// 99.9th percentile.
    #[serde(rename = "p999_ns")]
    pub p999: u64,
    /// Longest wait.
    #[serde(rename = "maximum_ns")]
    pub maximum: u64,
    /// Number of waits.
    pub count: u64,
}

impl Waits {
    /// Returns the waits of a histogram; `None` if it is empty.
    pub fn of(waits: &Histogram<u64>) -> Option<Waits> {
        (!waits.is_empty()).then(|| Waits {
            p50: waits.value_at_quantile(0.5),
            p90: waits.value_at_quantile(0.9),
            p99: waits.value_at_quantile(0.99),
            p999: waits.value_at_quantile(0.999),
            maximum: waits.max(),
            count: waits.len(),
        })
    }
}

/// Returns an empty histogram of waits in nanoseconds, to three digits. Waits above an hour count
/// as an hour.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("the bounds are in order")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_that_does_everything_is_as_unfair_as_can_be() {
        let fairness = Fairness::of(&[&[8, 0, 0, 0], &[4, 0, 0, 0]]).unwrap();
        assert_eq!((fairness.minimum, fairness.maximum, fairness.jain), (0.0, 4.0, 0.25));
        let fairness = Fairness::of(&[&[3, 3], &[4, 2]]).unwrap();
        assert_eq!((fairness.jain_least * 100.0).round(), 90.0);
        assert_eq!(Fairness::of(&[]), None);
    }

    #[test]
    fn waits_are_counted_to_three_digits() {
        let mut waits = histogram();
        assert_eq!(Waits::of(&waits), None);
        for wait in 1..=1000 {
            waits.saturating_record(wait);
        }
        let waits = Waits::of(&waits).unwrap();
        assert_eq!((waits.p50, waits.p99, waits.count), (500, 990, 1000));
    }
}
