//! Confidence interval of a ratio of medians, by the bootstrap (B. Efron, R. Tibshirani, *An
//! Introduction to the Bootstrap*, 1993, chapter 13: percentile intervals).
//!
//! Each replicate draws as many rounds as the run had, with replacement, and takes the median. A
//! round measures each cell once, so a slow moment of the host affects all cells of that round.
//!
//! A replicate therefore draws the same rounds for all rows of a file with the same number of
//! rounds. This way the interval of their mean accounts for their correlation. The seed is fixed:
//! the same two files always give the same intervals.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// Number of replicates. A 95 % interval leaves out 50 on each side.
pub const REPLICATES: usize = 2000;

/// Confidence level of the intervals.
pub const COVERAGE: f64 = 0.95;

/// File that a run belongs to. Each file is resampled independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// First file.
    A,
    /// Second file.
    B,
}

/// Returns a random number below `bound`. The bias is below one in 2^50 for the numbers of rounds
/// that occur.
fn below(random: &mut SplitMix64, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}

/// Returns the median of each bootstrap replicate of `rounds`.
///
/// # Panics
///
/// If there is no round.
pub fn medians(rounds: &[f64], side: Side) -> Vec<f64> {
    assert!(!rounds.is_empty(), "a run has rounds");
    let side = match side {
        Side::A => 1,
        Side::B => 2,
    };
    // Rows of one file with the same number of rounds draw the same rounds.
    let mut random = SplitMix64::seed_from_u64(side << 32 | rounds.len() as u64);
    let mut drawn = vec![0.0; rounds.len()];
    (0..REPLICATES)
        .map(|_| {
            drawn.fill_with(|| rounds[below(&mut random, rounds.len())]);
            median(&mut drawn)
        })
        .collect()
}

/// Returns the median, and reorders `values`.
///
/// # Panics
///
/// If `values` is empty.
pub fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if !even {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    lower + (upper - lower) / 2.0
}

/// Returns the interval that covers the share [`COVERAGE`] of the replicates. Equally many of them
/// lie below it and above it.
///
/// # Panics
///
/// If `replicates` is empty.
pub fn interval(mut replicates: Vec<f64>) -> (f64, f64) {
    replicates.sort_by(f64::total_cmp);
    let outside = ((1.0 - COVERAGE) / 2.0 * replicates.len() as f64).floor() as usize;
    (replicates[outside], replicates[replicates.len() - 1 - outside])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_or_between_the_two_in_the_middle() {
        assert_eq!(median(&mut [3.0]), 3.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [9.0, 1.0, 5.0]), 5.0);
    }

    #[test]
    fn replicates_are_the_same_each_time_and_alike_for_rows_of_a_file() {
        let rounds = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(medians(&rounds, Side::A), medians(&rounds, Side::A));
        assert_ne!(medians(&rounds, Side::A), medians(&rounds, Side::B));
        let twice = rounds.map(|round| round * 2.0);
        let doubled: Vec<f64> = medians(&rounds, Side::A).iter().map(|m| m * 2.0).collect();
        assert_eq!(medians(&twice, Side::A), doubled);
    }

    #[test]
    fn a_replicate_of_nine_rounds_has_the_distribution_of_the_textbook() {
        // P(median of a replicate <= x(2)) = P(Binomial(9, 2/9) >= 5) = 0.0302. So the interval
        // begins at x(2) or x(3).
        let rounds: Vec<f64> = (1..=9).map(f64::from).collect();
        let medians = medians(&rounds, Side::A);
        let share = |below: f64| {
            medians.iter().filter(|&&m| m <= below).count() as f64 / medians.len() as f64
        };
        assert!((share(2.0) - 0.0302).abs() < 0.012, "{}", share(2.0));
        assert!((share(5.0) - 0.633).abs() < 0.04, "{}", share(5.0));
        assert_eq!(interval(medians), (2.0, 8.0));
    }
}
