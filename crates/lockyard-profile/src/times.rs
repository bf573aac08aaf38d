//! Times of one kind, and their percentiles.

use lockyard_records::histogram::{BUCKETS, bucket, least};
use serde_json::{Value, json};

/// Minimum number of times beyond a percentile. With fewer, it would rest on chance.
const BEYOND: f64 = 10.0;

/// Times in ticks.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Buckets that are not empty, in order, with their counts: most locks have few.
    buckets: Vec<(usize, u64)>,
    /// Number of times.
    pub count: u64,
    /// Their sum in ticks.
    pub total: u64,
    /// Longest in ticks.
    pub max: u64,
}

impl Times {
    /// Adds a number of times that are in a bucket.
    pub(crate) fn add_bucket(&mut self, bucket: usize, count: u64) {
        if count == 0 {
            return;
        }
        match self.buckets.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(index) => self.buckets[index].1 += count,
            Err(index) => self.buckets.insert(index, (bucket, count)),
        }
    }

    /// Adds a time to the buckets.
    pub(crate) fn add_time(&mut self, ticks: u64) {
        self.add_bucket(bucket(ticks), 1);
    }

    /// Adds other times.
    pub fn add(&mut self, other: &Times) {
        for &(bucket, count) in &other.buckets {
            self.add_bucket(bucket, count);
        }
        self.count += other.count;
        self.total = self.total.wrapping_add(other.total);
        self.max = self.max.max(other.max);
    }

    /// Returns the time in ticks below which a share of the times is: within 10 %, as the buckets
    /// are. Returns `None` if too few times are beyond it.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let all: u64 = self.buckets.iter().map(|(_, count)| count).sum();
        if (all as f64) * (1.0 - share).min(share) < BEYOND {
            return None;
        }
        let rank = all as f64 * share;
        let mut below = 0.0;
        for &(bucket, count) in &self.buckets {
            let count = count as f64;
            if below + count >= rank {
                let from = least(bucket) as f64;
                let to = if bucket + 1 < BUCKETS { least(bucket + 1) as f64 } else { from };
                let within = from + (to - from) * ((rank - below) / count).clamp(0.0, 1.0);
                return Some(within.min(self.max as f64));
            }
            below += count;
        }
        None
    }

    /// Returns the times as JSON, in nanoseconds.
    pub(crate) fn json(&self, ticks_per_ns: f64) -> Value {
        let ns = |ticks: f64| round(ticks / ticks_per_ns);
        json!({
            "count": self.count,
            "total_ns": ns(self.total as f64),
            "p50_ns": self.quantile(0.5).map(ns),
            "p99_ns": self.quantile(0.99).map(ns),
            "max_ns": ns(self.max as f64),
        })
    }
}

/// Rounds to a tenth.
pub(crate) fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_within_the_width_of_a_bucket_or_left_out() {
        let mut times = Times::default();
        for time in 1..=10_000u64 {
            times.add_time(time);
            times.count += 1;
            times.max = time;
        }
        let near = |found: Option<f64>, wanted: f64| {
            found.is_some_and(|found| (found / wanted - 1.0).abs() < 0.1)
        };
        assert!(near(times.quantile(0.5), 5_000.0), "{:?}", times.quantile(0.5));
        assert!(near(times.quantile(0.99), 9_900.0), "{:?}", times.quantile(0.99));
        let mut few = Times::default();
        (0..100).for_each(|_| few.add_time(100));
        few.max = 100;
        assert!(few.quantile(0.99).is_none() && near(few.quantile(0.5), 100.0));
    }
}
