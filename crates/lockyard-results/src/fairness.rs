//! Fairness among threads, and waiting times, on this host and on simulated machines.

use crate::statistics;
use hdrhistogram::Histogram;
use serde::Serialize;

/// Fairness among threads: how evenly their operations are spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fairness {
    /// Operations of the slowest thread divided by the mean, summed over all rounds.
    pub minimum: f64,
    /// Operations of the fastest thread divided by the mean, summed over all rounds.
    pub maximum: f64,
    /// Median over the rounds of Jain's index. The index is 1 if all threads did the same number of
    /// operations, and 1/n if one of n threads did all of them (R. Jain, D. Chiu, W. Hawe, *A
    /// Quantitative Measure of Fairness*, DEC-TR-301, 1984).
    pub jain: f64,
    /// Lowest index of any round.
    pub jain_least: f64,
}

impl Fairness {
    /// Computes fairness from the operations of each thread in each round. Returns `None` if there
    /// are no rounds.
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

/// Returns the operations of each thread, summed over all rounds.
pub fn totals(rounds: &[&[u64]], threads: usize) -> Vec<u64> {
    (0..threads).map(|thread| rounds.iter().map(|round| round[thread]).sum()).collect()
}

/// Returns Jain's index of the threads' operations; 1 if there were no operations.
fn jain(operations: &[u64]) -> f64 {
    let sum: f64 = operations.iter().map(|&n| n as f64).sum();
    let squares: f64 = operations.iter().map(|&n| (n as f64).powi(2)).sum();
    if squares > 0.0 { sum * sum / (operations.len() as f64 * squares) } else { 1.0 }
}

/// Minimum number of waits for any percentile.
pub const LEAST_WAITS: u64 = 100;

/// Minimum number of waits above a percentile. It keeps the relative standard error of that number
/// at or below one third.
pub const LEAST_BEYOND: u64 = 10;

/// Note for the reader about missing percentiles.
pub const TOO_FEW_WAITS: &str = "A percentile of waits is left out if it rests on fewer than 100 \
                                 waits, or has fewer than 10 beyond it.";

/// Waits in nanoseconds, for the steps that take a lock, or take or drop a reference.
///
/// A percentile is `None` if there are fewer than [`LEAST_WAITS`] waits, or fewer than
/// [`LEAST_BEYOND`] above it. So the 99th percentile needs 1,000 waits, and the 99.9th needs
/// 10,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// Median.
    #[serde(rename = "p50_ns")]
    pub p50: Option<u64>,
    /// 90th percentile.
    #[serde(rename = "p90_ns")]
    pub p90: Option<u64>,
    /// 99th percentile.
    #[serde(rename = "p99_ns")]
    pub p99: Option<u64>,
    /// 99.9th percentile.
    #[serde(rename = "p999_ns")]
    pub p999: Option<u64>,
    /// Longest wait.
    #[serde(rename = "maximum_ns")]
    pub maximum: u64,
    /// Number of waits.
    pub count: u64,
}

impl Waits {
    /// Summarises a histogram of waits; `None` if it is empty.
    pub fn of(waits: &Histogram<u64>) -> Option<Waits> {
        let count = waits.len();
        // One wait in `beyond` lies above the percentile.
        let percentile = |beyond: u64| {
            let rests_on_enough = count >= LEAST_WAITS.max(LEAST_BEYOND * beyond);
            rests_on_enough.then(|| waits.value_at_quantile(1.0 - 1.0 / beyond as f64))
        };
        (count > 0).then(|| Waits {
            p50: percentile(2),
            p90: percentile(10),
            p99: percentile(100),
            p999: percentile(1000),
            maximum: waits.max(),
            count,
        })
    }

    /// Returns true if a percentile is missing.
    pub fn lacks_percentiles(&self) -> bool {
        self.p999.is_none()
    }
}

/// Returns an empty histogram of waits in nanoseconds, with three significant digits. Waits longer
/// than an hour are recorded as one hour.
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
        assert_eq!((waits.p50, waits.p99, waits.count), (Some(500), Some(990), 1000));
    }

    #[test]
    fn a_percentile_rests_on_a_hundred_waits_and_on_ten_beyond_it() {
        let known = |number: u64| {
            let mut waits = histogram();
            (1..=number).for_each(|wait| waits.saturating_record(wait));
            let waits = Waits::of(&waits).unwrap();
            assert!(waits.count == number && waits.maximum >= number, "{waits:?}");
            let known = [waits.p50, waits.p90, waits.p99, waits.p999].map(|p| p.is_some());
            assert_eq!(waits.lacks_percentiles(), known.contains(&false));
            known.into_iter().filter(|known| *known).count()
        };
        for (number, percentiles) in
            [(1, 0), (99, 0), (100, 2), (999, 2), (1000, 3), (9999, 3), (10_000, 4)]
        {
            assert_eq!(known(number), percentiles, "{number} waits");
        }
    }

    #[test]
    fn percentiles_are_those_of_the_histogram() {
        let mut waits = histogram();
        (1..=20_000).for_each(|wait| waits.saturating_record(wait));
        let found = Waits::of(&waits).unwrap();
        let expected = [0.5, 0.9, 0.99, 0.999].map(|share| Some(waits.value_at_quantile(share)));
        assert_eq!([found.p50, found.p90, found.p99, found.p999], expected);
    }
}
