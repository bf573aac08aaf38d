//! Rank-sum test: checks whether the rounds of one run are above those of another (H. B. Mann, D.
//! R. Whitney, *On a Test of Whether one of Two Random Variables is Stochastically Larger than the
//! Other*, 1947).
//!
//! The test counts all ways to deal the pooled ranks to the two runs. Its result is the share of
//! them with a rank sum at least as extreme as the observed one. It assumes only that rounds are
//! independent; they may have any distribution.
//!
//! Small runs get an exact result, even with ties. Large runs get the normal approximation,
//! corrected for ties (M. Hollander, D. A. Wolfe, *Nonparametric Statistical Methods*, section
//! 4.1).

use std::collections::HashMap;
use std::rc::Rc;

/// Maximum number of rounds, both runs together, for the exact count.
const EXACT_UP_TO: usize = 60;

/// Probabilities of a rank sum at least as extreme as the observed one, if the runs do not differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probabilities {
    /// Probability that `b`'s values are at least this far below `a`'s.
    pub below: f64,
    /// Probability that `b`'s values are at least this far above `a`'s.
    pub above: f64,
}

impl Probabilities {
    /// Returns the two-sided probability: twice the smaller one.
    pub fn two_sided(self) -> f64 {
        (2.0 * self.below.min(self.above)).min(1.0)
    }
}

/// Tests whether the values of `b` are below or above those of `a`.
///
/// For at most 60 values in total, the cost is the product of three numbers: values in total,
/// values of `b`, and possible rank sums. For more values it is the cost of sorting them.
///
/// # Panics
///
/// If `a` or `b` is empty.
pub fn rank_test(a: &[f64], b: &[f64]) -> Probabilities {
    RankTests::default().test(a, b)
}

/// Rank tests of many rows, which share work. Rows without ties that have the same numbers of
/// rounds need only one count.
#[derive(Clone, Debug, Default)]
pub struct RankTests {
    /// Number of ways to reach each rank sum, by the ranks and the number of ranks chosen.
    counts: HashMap<(Vec<usize>, usize), Rc<[f64]>>,
}

impl RankTests {
    /// Maximum number of counts to cache. Rows with ties rarely share a count.
    const MOST: usize = 64;

    /// Tests two runs, as [`rank_test`] does.
    ///
    /// # Panics
    ///
    /// If `a` or `b` is empty.
    pub fn test(&mut self, a: &[f64], b: &[f64]) -> Probabilities {
        assert!(!a.is_empty() && !b.is_empty(), "both runs have rounds");
        let mut pooled: Vec<(f64, bool)> =
            a.iter().map(|&v| (v, false)).chain(b.iter().map(|&v| (v, true))).collect();
        pooled.sort_by(|x, y| x.0.total_cmp(&y.0));
        // Twice the mean rank of each group of equal values. The factor makes it a whole number.
        let mut ranks = vec![0usize; pooled.len()];
        let mut ties = 0.0;
        let mut begin = 0;
        for group in pooled.chunk_by(|x, y| x.0 == y.0) {
            let end = begin + group.len();
            ranks[begin..end].fill(begin + end + 1);
            ties += (group.len() as f64).powi(3) - group.len() as f64;
            begin = end;
        }
        let found: usize =
            ranks.iter().zip(&pooled).filter(|(_, p)| p.1).map(|(rank, _)| rank).sum();
        if pooled.len() <= EXACT_UP_TO {
            let ways = self.ways(ranks, b.len());
            let all: f64 = ways.iter().sum();
            Probabilities {
                below: ways[..=found].iter().sum::<f64>() / all,
                above: ways[found..].iter().sum::<f64>() / all,
            }
        } else {
            approximate(a.len() as f64, b.len() as f64, found as f64 / 2.0, ties)
        }
    }

    /// Returns the number of ways to reach each rank sum.
    fn ways(&mut self, ranks: Vec<usize>, count: usize) -> Rc<[f64]> {
        let key = (ranks, count);
        if let Some(known) = self.counts.get(&key) {
            return known.clone();
        }
        let ways: Rc<[f64]> = exact(&key.0, count).into();
        if self.counts.len() < Self::MOST {
            self.counts.insert(key, ways.clone());
        }
        ways
    }
}

/// Counts the ways to choose `count` of `ranks`, by their sum.
fn exact(ranks: &[usize], count: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    // ways[c][s]: number of ways to choose c of the ranks seen so far with sum s. The numbers are
    // at most 2^60, and stored as floats.
    let mut ways = vec![vec![0.0f64; most + 1]; count + 1];
    ways[0][0] = 1.0;
    for (seen, &rank) in ranks.iter().enumerate() {
        for chosen in (1..=count.min(seen + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(chosen);
            for (to, from) in more[0][rank..].iter_mut().zip(&fewer[chosen - 1]) {
                *to += from;
            }
        }
    }
    ways.swap_remove(count)
}

/// Returns the normal approximation of the rank sum of the second run.
fn approximate(a: f64, b: f64, found: f64, ties: f64) -> Probabilities {
    let n = a + b;
    let mean = b * (n + 1.0) / 2.0;
    let variance = a * b / 12.0 * ((n + 1.0) - ties / (n * (n - 1.0)));
    if variance <= 0.0 {
        return Probabilities { below: 1.0, above: 1.0 };
    }
    // Continuity correction: move the sum half a rank towards the mean, because it is a whole
    // number.
    let below = (found - mean + 0.5) / variance.sqrt();
    let above = (found - mean - 0.5) / variance.sqrt();
    Probabilities { below: normal(below), above: normal(-above) }
}

/// Returns the normal distribution function, by Abramowitz and Stegun 7.1.26. That approximation is
/// off by at most 1.5e-7. The code adds this bound, so it never understates a probability. W. J.
/// Cody's error function would be more precise than needed.
fn normal(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let polynomial = series.iter().rev().fold(0.0, |sum, &c| (sum + c) * t);
    let tail = 0.5 * polynomial * (-x * x).exp();
    let probability = if z < 0.0 { tail } else { 1.0 - tail };
    (probability + 1.5e-7).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_runs_have_the_probabilities_that_are_counted_by_hand() {
        // If all of b is above all of a, the probability is 1/70, 1/20 and 1/48620.
        let run = |n: usize, from: f64| (0..n).map(|i| from + i as f64).collect::<Vec<_>>();
        let four = rank_test(&run(4, 0.0), &run(4, 10.0));
        assert!((four.above - 1.0 / 70.0).abs() < 1e-15, "{four:?}");
        assert_eq!(four.below, 1.0);
        let three = rank_test(&run(3, 10.0), &run(3, 0.0));
        assert!((three.two_sided() - 0.1).abs() < 1e-15, "{three:?}");
        let nine = rank_test(&run(9, 0.0), &run(9, 10.0));
        assert!((nine.above - 1.0 / 48_620.0).abs() < 1e-18);
        // The ranks of b are 4, 7 and 8, with sum 19. Three other choices reach at least 19: 5, 6,
        // 8; 5, 7, 8; and 6, 7, 8. That makes 4 of the 56 ways to choose three.
        let a = [1.0, 2.0, 3.0, 5.0, 6.0];
        let b = [4.0, 7.0, 8.0];
        assert!((rank_test(&a, &b).above - 4.0 / 56.0).abs() < 1e-12, "{:?}", rank_test(&a, &b));
    }

    #[test]
    fn the_count_is_that_of_all_choices_one_by_one_ties_included() {
        let mut state = 7u64;
        for _ in 0..200 {
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % 6
            };
            let values: Vec<f64> = (0..9).map(|_| random() as f64).collect();
            let (b, a) = values.split_at(4);
            // Twice the mean rank: smaller values count twice, equal ones once.
            let rank = |value: f64| -> usize {
                let of =
                    |other: &f64| if *other < value { 2 } else { usize::from(*other == value) };
                values.iter().map(of).sum()
            };
            let sum = |chosen: u32| -> usize {
                (0..9).filter(|i| chosen >> i & 1 == 1).map(|i| rank(values[i])).sum()
            };
            let sums: Vec<usize> =
                (0..1u32 << 9).filter(|c| c.count_ones() == 4).map(sum).collect();
            let found = sum(0b1111);
            let share = |counts: &dyn Fn(usize) -> bool| {
                sums.iter().filter(|&&s| counts(s)).count() as f64 / sums.len() as f64
            };
            let test = rank_test(a, b);
            assert!((test.below - share(&|s| s <= found)).abs() < 1e-12, "{values:?}");
            assert!((test.above - share(&|s| s >= found)).abs() < 1e-12, "{values:?}");
        }
    }

    #[test]
    fn equal_values_are_no_evidence() {
        let probabilities = rank_test(&[5.0; 9], &[5.0; 9]);
        assert_eq!((probabilities.below, probabilities.above), (1.0, 1.0));
        assert_eq!(rank_test(&[5.0; 40], &[5.0; 40]).two_sided(), 1.0);
    }

    #[test]
    fn the_approximation_meets_the_exact_count() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // With only a hundred different values, some are equal.
            (state >> 33) as f64 % 100.0
        };
        for shift in [0.0, 5.0, 15.0, 30.0] {
            let a: Vec<f64> = (0..30).map(|_| random()).collect();
            let b: Vec<f64> = (0..30).map(|_| random() + shift).collect();
            let exact = rank_test(&a, &b);
            let ranks_of = |extra: f64| {
                // One more round in each run exceeds the limit of the exact count. It lies in the
                // middle of both runs, so it changes little.
                let (mut a, mut b) = (a.clone(), b.clone());
                a.push(50.0 + shift / 2.0 + extra);
                b.push(50.0 + shift / 2.0 - extra);
                rank_test(&a, &b)
            };
            let approximate = ranks_of(0.25);
            assert!((exact.above - approximate.above).abs() < 0.03, "{exact:?} {approximate:?}");
            assert!((exact.below - approximate.below).abs() < 0.03, "{exact:?} {approximate:?}");
        }
    }

    #[test]
    fn the_normal_distribution_is_that_of_the_table() {
        for (z, p) in [(0.0, 0.5), (1.0, 0.841_344_7), (-1.959_964, 0.025), (-3.0, 0.001_349_9)] {
            assert!((normal(z) - p).abs() < 1e-6, "{z}: {}", normal(z));
        }
    }
}
