//! Bootstrap intervals: the spread of a statistic over samples redrawn with replacement.
//!
//! The interval is a percentile interval (B. Efron, R. Tibshirani, *An Introduction to the
//! Bootstrap*, 1993, section 13.3). BCa is not used: its acceleration comes from the jackknife,
//! which is inconsistent for a median (same book, section 11.6). The generator and its seed are
//! fixed, so the same samples give the same interval on every host.
//!
//! The bootstrap is for statistics of unknown distribution, such as the parameters of a fit or the
//! position of a maximum.
//!
//! For the median of one sample there is a better interval. The percentile interval of a median
//! also consists of order statistics, but reaches its nominal coverage only with many samples. With
//! 7 rounds it consists of the second and the sixth value, which cover the median in 87.5 % of
//! cases. [`super::median_interval`] chooses values that cover it in at least 95 % of cases, for
//! any distribution. Tables therefore show that interval, and JSON output has both.

use super::{median, quantile};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Number of bootstrap draws for a median.
const MEDIANS: usize = 10_000;

/// Probability of each tail outside the interval.
const TAIL: f64 = 0.025;

/// Seed of the generator. Any value works; fixing it makes intervals reproducible.
const SEED: u64 = 0x006c_6f63_6b79_6172;

/// Draws `n` indices below `n` with replacement, `draws` times. Passes each draw to `of`.
pub fn resample(n: usize, draws: usize, mut of: impl FnMut(&[usize])) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut indices = vec![0; n];
    for _ in 0..draws {
        for index in &mut indices {
            // The upper half of the product is uniform, with an error of at most n / 2^64.
            *index = ((u128::from(random.next_u64()) * n as u128) >> 64) as usize;
        }
        of(&indices);
    }
}

/// Returns the interval between the percentiles 2.5 and 97.5 of `figures`; `None` if there are
/// none. Figures may be infinite. If any is, there is no interpolation, and each end is the next
/// figure outwards.
pub fn percentiles(figures: &[f64]) -> Option<(f64, f64)> {
    if figures.iter().all(|figure| figure.is_finite()) {
        return Some((quantile(figures, TAIL)?, quantile(figures, 1.0 - TAIL)?));
    }
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let position = TAIL * last as f64;
    Some((sorted[position.floor() as usize], sorted[last - position.floor() as usize]))
}

/// Returns the 95 % percentile bootstrap interval of the median; `None` if there are no values.
///
/// Cost: about a millisecond for ten values, a tenth of a second for a thousand.
pub fn bootstrap_median(values: &[f64]) -> Option<(f64, f64)> {
    let mut medians = Vec::with_capacity(MEDIANS);
    let mut drawn = vec![0.0; values.len()];
    resample(values.len(), MEDIANS, |indices| {
        for (drawn, &index) in drawn.iter_mut().zip(indices) {
            *drawn = values[index];
        }
        medians.extend(median(&drawn));
    });
    percentiles(&medians)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::median_interval;
    use proptest::prelude::*;

    fn one_to(n: usize) -> Vec<f64> {
        (1..=n).map(|i| i as f64).collect()
    }

    /// Returns P(Binomial(n, p) >= k).
    fn at_least(n: i32, p: f64, k: i32) -> f64 {
        let choose = |k: i32| (1..=k).fold(1.0, |c, i| c * f64::from(n - k + i) / f64::from(i));
        (k..=n).map(|j| choose(j) * p.powi(j) * (1.0 - p).powi(n - j)).sum()
    }

    #[test]
    fn the_interval_of_a_median_has_the_ranks_that_are_known_exactly() {
        // The median of n draws (n odd) is at most the k-th of n values if at least half of the
        // draws are among the first k. The probability of that is P(Binomial(n, k/n) >= (n+1)/2)
        // (Maritz and Jarrett, 1978). The lower end is the first k for which it reaches 2.5 %.
        for n in [5i32, 7, 9, 11, 21, 31] {
            let reaches = |k: &i32| at_least(n, f64::from(*k) / f64::from(n), (n + 1) / 2) >= TAIL;
            let rank = (1..=n).find(reaches).unwrap();
            let (low, high) = bootstrap_median(&one_to(n as usize)).unwrap();
            assert_eq!((low, high), (f64::from(rank), f64::from(n + 1 - rank)), "of {n}");
        }
    }

    #[test]
    fn of_few_rounds_it_covers_less_than_it_says_and_order_statistics_do_not() {
        let ends = |n: usize| bootstrap_median(&one_to(n)).unwrap();
        // 1 - 2 P(Binomial(7, 1/2) <= 1) = 87.5 %. With 9 rounds both intervals run from the second
        // to the eighth value.
        assert_eq!(ends(7), (2.0, 6.0));
        let order = |n: usize| median_interval(&one_to(n)).unwrap();
        assert_eq!((order(7).low, order(7).high), (1.0, 7.0));
        assert!(order(7).coverage >= 0.95);
        assert_eq!(ends(9), (order(9).low, order(9).high));
    }

    #[test]
    fn drawings_are_of_all_indices_alike() {
        let mut counts = [0u32; 7];
        resample(7, 10_000, |indices| indices.iter().for_each(|&i| counts[i] += 1));
        assert_eq!(counts.iter().sum::<u32>(), 70_000);
        // Six standard deviations of a binomial count are 556. The generator is fixed, so the test
        // is deterministic.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 556), "{counts:?}");
    }

    #[test]
    fn infinite_figures_do_not_make_nonsense_of_an_interval() {
        let mut figures = vec![5.0; 90];
        figures.extend([f64::INFINITY; 10]);
        assert_eq!(percentiles(&figures), Some((5.0, f64::INFINITY)));
        assert_eq!(percentiles(&[]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn the_interval_is_around_the_median_within_the_range_and_the_same_again(
            values in prop::collection::vec(-1e9f64..1e9, 1..40),
        ) {
            let (low, high) = bootstrap_median(&values).unwrap();
            let middle = median(&values).unwrap();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(least <= low && low <= middle && middle <= high && high <= most);
            prop_assert_eq!(bootstrap_median(&values), Some((low, high)));
        }

        #[test]
        fn it_moves_and_stretches_with_the_values(
            values in prop::collection::vec(1.0f64..1e6, 3..20),
            factor in prop::sample::select(vec![0.25, 2.0, 1024.0]),
        ) {
            // The factors are powers of two, so the products are exact.
            let scaled: Vec<f64> = values.iter().map(|v| v * factor).collect();
            let (low, high) = bootstrap_median(&values).unwrap();
            prop_assert_eq!(bootstrap_median(&scaled), Some((low * factor, high * factor)));
        }

        #[test]
        fn order_statistics_cover_at_least_what_they_say(
            values in prop::collection::vec(0.0f64..1e6, 6..60),
        ) {
            let interval = median_interval(&values).unwrap();
            prop_assert!(interval.coverage >= 0.95);
            let middle = median(&values).unwrap();
            prop_assert!(interval.low <= middle && middle <= interval.high);
        }
    }
}
