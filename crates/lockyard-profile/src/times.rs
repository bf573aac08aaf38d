//! Times of one kind, their percentiles, and estimates for all times from a sample.

use lockyard_records::histogram::{BUCKETS, bucket, least};
use serde_json::{Value, json};

/// Minimum number of times beyond a percentile. With fewer, the percentile would depend on chance.
const BEYOND: f64 = 10.0;

/// Standard errors within which 95 % of normally distributed sums are.
pub(crate) const OF_NORMAL: f64 = 1.96;

/// Times in ticks.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Buckets that are not empty, in order, with their counts: most locks have few.
    buckets: Vec<(usize, u64)>,
    /// Number of times.
    pub count: u64,
    /// Their sum in ticks.
    pub total: u64,
    /// Longest time in ticks.
    pub max: u64,
}

impl Times {
    /// Adds a number of times to a bucket.
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

    /// Returns the sum of the squared differences to the mean, as far as the buckets show them.
    fn squares(&self) -> f64 {
        let middle = |bucket: usize| (least(bucket) + least((bucket + 1).min(BUCKETS - 1))) as f64;
        let times = self.buckets.iter().map(|&(bucket, count)| (middle(bucket) / 2.0, count));
        let count: u64 = times.clone().map(|(_, count)| count).sum();
        let sum: f64 = times.clone().map(|(time, count)| time * count as f64).sum();
        let mean = sum / count.max(1) as f64;
        times.map(|(time, count)| count as f64 * (time - mean).powi(2)).sum()
    }

    /// Returns the time in ticks below which a share of the times lies, with the precision of the
    /// buckets: 10 %. Returns `None` if too few times are beyond it.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let buckets = self.buckets.iter();
        let buckets = buckets.map(|&(bucket, count)| (bucket, count as f64, count as f64));
        quantile(buckets, share, self.max)
    }

    /// Returns the buckets that are not empty, in order, with their counts.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + Clone + '_ {
        self.buckets.iter().copied()
    }
}

/// Returns a quantile of buckets in order: each with its weight, and the number of times in it. Too
/// few times beyond the quantile give `None`.
pub(crate) fn quantile(
    buckets: impl Iterator<Item = (usize, f64, f64)> + Clone,
    share: f64,
    max: u64,
) -> Option<f64> {
    let weight: f64 = buckets.clone().map(|(_, weight, _)| weight).sum();
    let number: f64 = buckets.clone().map(|(_, _, number)| number).sum();
    let rank = weight * share;
    let (mut below, mut number_below) = (0.0, 0.0);
    for (bucket, weight, here) in buckets {
        if weight > 0.0 && below + weight >= rank {
            let within = ((rank - below) / weight).clamp(0.0, 1.0);
            number_below += here * within;
            if number_below.min(number - number_below) < BEYOND - 1e-6 {
                return None;
            }
            let from = least(bucket) as f64;
            let to = if bucket + 1 < BUCKETS { least(bucket + 1) as f64 } else { from };
            return Some((from + (to - from) * within).min(max as f64));
        }
        below += weight;
        number_below += here;
    }
    None
}

/// Holds, some of which were timed: the early holds, and a random sample of the others.
#[derive(Clone, Debug, Default)]
pub struct Holds {
    /// Number of holds.
    pub count: u64,
    /// Number of holds that are always timed. It includes holds that have not ended.
    pub early_begun: u64,
    /// Times of the always timed holds that have ended.
    pub early: Times,
    /// Times of other holds, which were chosen at random.
    pub by_chance: Times,
    /// Ticks for which threads were preempted within the timed holds. All times except the longest
    /// exclude these ticks.
    pub lost: u64,
}

impl Holds {
    /// Adds other holds.
    pub fn add(&mut self, other: &Holds) {
        self.count += other.count;
        self.early_begun += other.early_begun;
        self.early.add(&other.early);
        self.by_chance.add(&other.by_chance);
        self.lost = self.lost.wrapping_add(other.lost);
    }

    /// Returns the number of timed holds.
    pub fn timed(&self) -> u64 {
        self.early.count + self.by_chance.count
    }

    /// Returns the number of holds that each hold of the random sample stands for.
    fn weight(&self) -> f64 {
        match self.by_chance.count {
            0 => 0.0,
            count => self.count.saturating_sub(self.early_begun) as f64 / count as f64,
        }
    }

    /// Returns the total time in ticks. It is an estimate if some holds were not timed.
    pub fn total(&self) -> f64 {
        let early = self.early.total as f64;
        let rest = self.count.saturating_sub(self.early_begun) as f64;
        match (self.by_chance.count, self.early.count) {
            (0, 0) => 0.0,
            // No hold was timed at random: the early holds stand for all.
            (0, count) => early + rest * early / count as f64,
            _ => early + self.by_chance.total as f64 * self.weight(),
        }
    }

    /// Returns the error of the total in ticks that comes from the sample: 95 % of samples are
    /// within it, if the untimed holds are like the timed ones. `None` if at most one timed hold
    /// stands for others, because one hold does not show how far holds differ.
    pub fn error(&self) -> Option<f64> {
        let rest = self.count.saturating_sub(self.early_begun) as f64;
        let sample = if self.by_chance.count > 0 { &self.by_chance } else { &self.early };
        let (timed, unseen) = match self.by_chance.count {
            0 => (self.early.count as f64, rest),
            count => (count as f64, rest - count as f64),
        };
        if unseen <= 0.0 {
            return Some(0.0);
        }
        if timed < 2.0 {
            return None;
        }
        // Cochran, Sampling Techniques, 2.6: the variance of a total, with a finite population.
        let variance = sample.squares() / (timed - 1.0);
        Some(OF_NORMAL * (rest * unseen / timed * variance).sqrt())
    }

    /// Returns the longest timed hold in ticks.
    pub fn max(&self) -> u64 {
        self.early.max.max(self.by_chance.max)
    }

    /// Returns the time in ticks below which a share of the holds lies, like [`Times::quantile`].
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let weight = self.weight();
        let mut buckets = std::collections::BTreeMap::<usize, (f64, f64)>::new();
        for (times, weight) in [(&self.early, 1.0), (&self.by_chance, weight)] {
            for &(bucket, count) in &times.buckets {
                let here = buckets.entry(bucket).or_default();
                here.0 += count as f64 * weight;
                here.1 += count as f64;
            }
        }
        let buckets = buckets.iter().map(|(&bucket, &(weight, number))| (bucket, weight, number));
        quantile(buckets, share, self.max())
    }

    /// Returns the holds as JSON, in nanoseconds.
    pub(crate) fn json(&self, ticks_per_ns: f64) -> Value {
        let ns = |ticks: f64| round(ticks / ticks_per_ns);
        json!({
            "count": self.count,
            "timed": self.timed(),
            "total_ns": ns(self.total()),
            "total_error_ns": self.error().map(ns),
            "without_cpu_ns": ns(self.lost as f64),
            "p50_ns": self.quantile(0.5).map(ns),
            "p99_ns": self.quantile(0.99).map(ns),
            "max_ns": ns(self.max() as f64),
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

    /// Returns times of a length.
    fn times(count: u64, ticks: u64) -> Times {
        let mut times = Times { count, total: count * ticks, max: ticks, ..Times::default() };
        times.add_bucket(bucket(ticks), count);
        times
    }

    #[test]
    fn a_sample_stands_for_all_and_early_holds_for_themselves() {
        // 100 early holds of 1,000 ticks; of 10,000 others, 100 were timed, of 10 ticks each.
        let holds = Holds {
            count: 10_100,
            early_begun: 100,
            early: times(100, 1000),
            by_chance: times(100, 10),
            lost: 0,
        };
        assert_eq!((holds.timed(), holds.total(), holds.max()), (200, 200_000.0, 1000));
        assert!(holds.quantile(0.5).is_some_and(|median| median < 16.0));
        // One in 101 holds is early: the 99.5th percentile is an early hold. Few holds are beyond.
        assert!(holds.quantile(0.995).is_some_and(|long| long > 800.0));
        assert_eq!(holds.quantile(0.9999), None);
        // Without a sample, the early holds stand for all.
        let early = Holds { count: 200, early_begun: 100, early: times(50, 8), ..holds };
        let early = Holds { by_chance: Times::default(), ..early };
        assert_eq!(early.total(), 400.0 + 100.0 * 8.0);
    }

    #[test]
    fn the_error_is_that_of_the_sample() {
        // 64 of 8,192 holds were timed, one of them far longer than the others.
        let mut by_chance = times(63, 16);
        by_chance.add(&times(1, 1 << 20));
        let holds = Holds { count: 8192, by_chance, ..Holds::default() };
        let (total, error) = (holds.total(), holds.error().expect("there are enough"));
        // That hold is a sixty-fourth of the sample: the sum might as well be nearly zero, or three
        // times the estimate.
        assert!((1.9..2.3).contains(&(error / total)), "{total} {error}");
        // Equal holds leave no doubt.
        let equal = Holds { count: 8192, by_chance: times(64, 1024), ..Holds::default() };
        assert_eq!(equal.error(), Some(0.0));
        // If all holds are timed, none stands for others. One timed hold says nothing about others.
        let all = Holds { count: 9, early_begun: 9, early: times(9, 10), ..Holds::default() };
        assert_eq!(all.error(), Some(0.0));
        let one = Holds { count: 9, by_chance: times(1, 10), ..Holds::default() };
        assert_eq!(one.error(), None);
    }
}
