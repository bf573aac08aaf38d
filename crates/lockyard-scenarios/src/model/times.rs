//! Times and choices that are drawn, from a recording. Scripts cannot express them.

use std::sync::Arc;

/// A distribution of times, as bins of times that are alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    bins: Vec<(f64, f64)>,
    mean: f64,
}

/// Maximum number of bins. Half of the bins are for the longest hundredth of the times.
const BINS: usize = 128;

impl Times {
    /// Returns the distribution of samples, in nanoseconds. The distribution has the samples' mean.
    /// Samples that are not numbers, or below 0, count as 0.
    pub fn of(mut samples: Vec<f64>) -> Times {
        for sample in &mut samples {
            *sample = if *sample > 0.0 { *sample } else { 0.0 };
        }
        samples.sort_by(f64::total_cmp);
        let count = samples.len();
        let mean = samples.iter().sum::<f64>() / count.max(1) as f64;
        let tail = count - count.div_ceil(100).min(count);
        let mut bins = Vec::new();
        for (from, to) in [(0, tail), (tail, count)] {
            let (size, parts) = (to - from, (to - from).min(BINS / 2));
            for part in 0..parts {
                let first = from + size * part / parts;
                let last = from + size * (part + 1) / parts;
                let of_bin = &samples[first..last];
                let time = of_bin.iter().sum::<f64>() / of_bin.len() as f64;
                bins.push((last as f64 / count as f64, time));
            }
        }
        Times { bins, mean }
    }

    /// Returns the mean in nanoseconds.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the longest time in nanoseconds.
    pub fn longest(&self) -> f64 {
        self.bins.last().map_or(0.0, |bin| bin.1)
    }

    /// Returns the share of the times that are above 0.
    pub fn share_above_zero(&self) -> f64 {
        let zeros = self.bins.iter().take_while(|bin| bin.1 <= 0.0).last();
        1.0 - zeros.map_or(0.0, |bin| bin.0)
    }

    /// Returns the time below which a share of all times lies.
    pub fn quantile(&self, share: f64) -> f64 {
        let index = self.bins.partition_point(|bin| bin.0 <= share);
        self.bins.get(index).or(self.bins.last()).map_or(0.0, |bin| bin.1)
    }
}

/// A choice among several: each with its cumulative probability.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice(Vec<(f64, usize)>);

impl Choice {
    /// Returns the choice among these values, with weights.
    pub fn of(weights: impl IntoIterator<Item = (usize, f64)>) -> Choice {
        let weights: Vec<(usize, f64)> = weights.into_iter().filter(|(_, w)| *w > 0.0).collect();
        let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        let each = weights.into_iter().map(|(index, weight)| {
            sum += weight;
            (sum / all, index)
        });
        Choice(each.collect())
    }

    /// Returns the value that a number from 0 to 1 chooses; 0 if there is nothing to choose.
    pub fn at(&self, number: f64) -> usize {
        let index = self.0.partition_point(|(sum, _)| *sum <= number);
        self.0.get(index).or(self.0.last()).map_or(0, |(_, index)| *index)
    }

    /// Returns the choices with their probabilities.
    pub fn probabilities(&self) -> impl Iterator<Item = (usize, f64)> {
        let mut before = 0.0;
        self.0.iter().map(move |&(sum, index)| {
            let probability = sum - before;
            before = sum;
            (index, probability)
        })
    }
}

/// A lock among several, chosen anew each time.
#[derive(Clone, Debug, PartialEq)]
pub struct Among(pub Arc<Choice>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_has_the_mean_and_the_tail_of_its_samples() {
        let samples: Vec<f64> =
            (0..10_000).map(|n| if n % 200 == 0 { 1e6 } else { 100.0 }).collect();
        let mean = samples.iter().sum::<f64>() / samples.len() as f64;
        let times = Times::of(samples);
        let mut before = 0.0;
        let of_bins: f64 = times
            .bins
            .iter()
            .map(|&(sum, time)| {
                let share = sum - before;
                before = sum;
                share * time
            })
            .sum();
        assert!((times.mean() - mean).abs() < 1e-6 && (of_bins / mean - 1.0).abs() < 1e-9);
        assert_eq!((times.quantile(0.5), times.longest()), (100.0, 1e6));
        let none = Times::of(Vec::new());
        assert_eq!((none.mean(), none.quantile(0.5)), (0.0, 0.0));
        assert_eq!(Times::of(vec![-1.0, f64::NAN]).longest(), 0.0);
        assert_eq!(Times::of(vec![7.0]).quantile(0.0), 7.0);
    }

    #[test]
    fn a_choice_has_its_probabilities() {
        let choice = Choice::of([(4, 1.0), (9, 0.0), (2, 3.0)]);
        assert_eq!([0.0, 0.24, 0.26, 0.99, 1.0].map(|n| choice.at(n)), [4, 4, 2, 2, 2]);
        assert_eq!(choice.probabilities().collect::<Vec<_>>(), [(4, 0.25), (2, 0.75)]);
        assert_eq!(Choice::default().at(0.5), 0);
    }
}
