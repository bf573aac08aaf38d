//! Waits for a lock, or for a condition: their number is exact, and their times come from a sample
//! where they are frequent (`lockyard_records::waits`).

use crate::times::{OF_NORMAL, Times, quantile, round};
use lockyard_records::Waits as Recorded;
use serde_json::{Value, json};

/// Waits, with estimates for all waits from the timed ones.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    /// Number of waits.
    pub count: u64,
    /// Number of timed waits. It lacks waits that have not ended.
    pub timed: u64,
    /// Total in ticks. It is an estimate if not all are timed.
    pub ticks: u64,
    /// Longest timed wait in ticks.
    pub max: u64,
    /// Variance of the total that comes from the sample.
    variance: f64,
    /// Waits in each bucket, as far as the timed waits show.
    times: Times,
}

impl Waits {
    /// Returns the waits of an entry.
    pub(crate) fn of(count: u64, recorded: &Recorded) -> Waits {
        let mut times = Times::default();
        for (bucket, count) in recorded.histogram.iter().enumerate() {
            times.add_bucket(bucket, u64::from(*count));
        }
        // A damaged file may have any bits there.
        let is_number = recorded.variance.is_finite() && recorded.variance > 0.0;
        let variance = if is_number { recorded.variance } else { 0.0 };
        let (timed, ticks, max) = (recorded.timed, recorded.ticks, recorded.max);
        Waits { count, timed, ticks, max, variance, times }
    }

    /// Adds other waits.
    pub fn add(&mut self, other: &Waits) {
        self.count = self.count.saturating_add(other.count);
        self.timed = self.timed.saturating_add(other.timed);
        self.ticks = self.ticks.wrapping_add(other.ticks);
        self.max = self.max.max(other.max);
        // Each wait is chosen independently.
        self.variance += other.variance;
        self.times.add(&other.times);
    }

    /// Returns the error of the total in ticks that comes from the sample: 95 % of samples are
    /// within it, up or down. 0 if all are timed.
    pub fn error(&self) -> f64 {
        OF_NORMAL * self.variance.sqrt()
    }

    /// Returns true if some waits stand for others.
    pub fn is_sample(&self) -> bool {
        self.variance > 0.0
    }

    /// Returns the time in ticks below which a share of the waits lies, like [`Times::quantile`].
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let all: u64 = self.times.buckets().map(|(_, count)| count).sum();
        let timed = self.timed as f64 / all.max(1) as f64;
        // A timed wait counts for several waits: the number of timed waits decides whether there
        // are enough.
        let buckets = self.times.buckets().map(|(bucket, count)| {
            let count = count as f64;
            (bucket, count, count * timed)
        });
        quantile(buckets, share, self.max)
    }

    /// Returns the waits as JSON, in nanoseconds.
    pub(crate) fn json(&self, ticks_per_ns: f64) -> Value {
        let ns = |ticks: f64| round(ticks / ticks_per_ns);
        json!({
            "count": self.count,
            "timed": self.timed,
            "total_ns": ns(self.ticks as f64),
            "total_error_ns": ns(self.error()),
            "p50_ns": self.quantile(0.5).map(ns),
            "p99_ns": self.quantile(0.99).map(ns),
            "max_ns": ns(self.max as f64),
        })
    }

    /// Returns waits of these ticks in all, each timed.
    #[cfg(test)]
    pub(crate) fn timed(count: u64, ticks: u64) -> Waits {
        Waits { count, timed: count, ticks, ..Waits::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns recorded waits: each of these with its exponent.
    fn recorded(waits: impl IntoIterator<Item = (u64, u32)>) -> Recorded {
        let mut recorded = Recorded::NONE;
        waits.into_iter().for_each(|(wait, exponent)| recorded.add(wait, exponent));
        recorded
    }

    #[test]
    fn a_timed_wait_counts_for_those_for_which_it_stands() {
        // 1,000 of 100 ticks, all timed; of 32,000 others one in 32, of 40 ticks.
        let all = std::iter::repeat_n((100, 0), 1000).chain(std::iter::repeat_n((40, 5), 1000));
        let waits = Waits::of(33_000, &recorded(all));
        assert_eq!((waits.count, waits.timed, waits.max), (33_000, 2000, 100));
        assert_eq!(waits.ticks, 1000 * 100 + 32_000 * 40);
        // A thousand of 40 ticks, each times 32, with a probability of one in 32.
        let error = OF_NORMAL * (1000.0f64 * 40.0 * 40.0 * 32.0 * 31.0).sqrt();
        assert!((waits.error() / error - 1.0).abs() < 1e-9, "{}", waits.error());
        // Most waits are short, and the 98th percentile is one of the others.
        assert!(waits.quantile(0.5).is_some_and(|median| (32.0..48.0).contains(&median)));
        assert!(waits.quantile(0.98).is_some_and(|long| long > 80.0));
        let json = waits.json(2.0);
        assert_eq!((&json["timed"], &json["total_ns"]), (&2000.into(), &690_000.0.into()));
    }

    #[test]
    fn a_percentile_needs_ten_timed_waits_beyond_it() {
        // Nine timed waits stand for 9,216 long ones.
        let waits = |long| {
            let short = std::iter::repeat_n((100, 10), 1000);
            let long = std::iter::repeat_n((1 << 20, 10), long);
            Waits::of(0, &recorded(short.chain(long)))
        };
        assert_eq!(waits(9).quantile(0.999), None);
        assert!(waits(40).quantile(0.98).is_some());
    }

    #[test]
    fn sums_keep_the_error_and_waits_that_are_all_timed_have_none() {
        let sampled = Waits::of(100, &recorded([(50, 3), (60, 3)]));
        let mut both = Waits::of(2, &recorded([(7, 0), (8, 0)]));
        assert!(both.error() == 0.0 && !both.is_sample());
        both.add(&sampled);
        assert!(both.error() == sampled.error() && both.is_sample());
        assert_eq!((both.count, both.timed, both.ticks), (102, 4, 15 + 8 * 110));
    }

    #[test]
    fn damaged_numbers_are_no_error() {
        for variance in [f64::NAN, f64::INFINITY, -1.0] {
            let waits = Waits::of(1, &Recorded { variance, ..Recorded::NONE });
            assert_eq!(waits.error(), 0.0);
        }
    }
}
