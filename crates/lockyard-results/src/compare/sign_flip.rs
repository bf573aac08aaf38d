//! Sign-flip test of paired rounds (R. A. Fisher, *The Design of Experiments*, 1935; F. Wilcoxon,
//! *Individual Comparisons by Ranking Methods*, 1945).
//!
//! In each round a coin toss decides which program runs first. If the two programs are equally
//! fast, the toss also decides the sign of the round's difference. So all sign combinations are
//! equally likely, whatever the host does. The rounds need not be independent or identically
//! distributed.
//!
//! The statistic of a row is the sum of its signed ranks, which is robust to outliers.
//!
//! There is one toss per round for all rows. So flipping a round flips its sign in all rows, and
//! the test compares the largest statistic over all rows (P. H. Westfall, S. S. Young,
//! *Resampling-Based Multiple Testing*, 1993, section 2.3). This bounds the probability of any
//! false verdict. Correlated rows lose less power than with a correction for their number.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// Maximum number of rounds for which all sign combinations are counted.
const EXACT_UP_TO: usize = 13;

/// Number of sign combinations tried with more rounds, including the observed one.
const FLIPS: usize = 10_000;

/// Side on which a statistic counts as extreme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Values below 0.
    Below,
    /// Values on either side of 0.
    Both,
}

/// Returns, for each row, the probability that any row is at least this extreme by chance. By
/// chance means that all sign combinations are equally likely. A row has one value per round.
///
/// # Panics
///
/// If rows have different numbers of values, or no values.
pub fn sign_flip(rows: &[Vec<f64>], tail: Tail) -> Vec<f64> {
    let Some(first) = rows.first() else { return Vec::new() };
    let rounds = first.len();
    assert!(rounds > 0 && rows.iter().all(|row| row.len() == rounds), "rows have the same rounds");
    let ranks: Vec<Vec<f64>> = rows.iter().map(|row| signed_ranks(row)).collect();
    let sum = |row: &[f64], signs: &[f64]| {
        let sum: f64 = row.iter().zip(signs).map(|(rank, sign)| rank * sign).sum();
        match tail {
            Tail::Below => -sum,
            Tail::Both => sum.abs(),
        }
    };
    let found: Vec<f64> = ranks.iter().map(|row| sum(row, &vec![1.0; rounds])).collect();
    let mut largest: Vec<f64> = all_signs(rounds)
        .map(|signs| ranks.iter().map(|row| sum(row, &signs)).fold(f64::NEG_INFINITY, f64::max))
        .collect();
    largest.sort_by(f64::total_cmp);
    let share = |statistic: f64| {
        // Rank sums that are equal in theory differ in their last digits.
        let below = largest.partition_point(|&one| one < statistic - 1e-9);
        (largest.len() - below) as f64 / largest.len() as f64
    };
    found.into_iter().map(share).collect()
}

/// Returns sign combinations for `rounds` rounds: all of them, or the observed one followed by
/// random ones.
fn all_signs(rounds: usize) -> Box<dyn Iterator<Item = Vec<f64>>> {
    let sign = |bit: bool| if bit { -1.0 } else { 1.0 };
    if rounds <= EXACT_UP_TO {
        let each = move |bits: u32| (0..rounds).map(|i| sign(bits >> i & 1 == 1)).collect();
        return Box::new((0..1u32 << rounds).map(each));
    }
    let mut random = SplitMix64::seed_from_u64(rounds as u64);
    let mut each = move || (0..rounds).map(|_| sign(random.next_u64() >> 63 == 1)).collect();
    let found = std::iter::once(vec![1.0; rounds]);
    Box::new(found.chain((1..FLIPS).map(move |_| each())))
}

/// Returns the rank of each value's size, with the value's sign; 0 has rank 0. The ranks are scaled
/// so that their squares add up to 1, which makes rows with ties comparable.
fn signed_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&x, &y| values[x].abs().total_cmp(&values[y].abs()));
    let mut ranks = vec![0.0; values.len()];
    let mut begin = 0;
    for group in order.chunk_by(|&x, &y| values[x].abs() == values[y].abs()) {
        let mean = begin as f64 + (group.len() as f64 + 1.0) / 2.0;
        for &index in group.iter().filter(|&&index| values[index] != 0.0) {
            ranks[index] = mean * values[index].signum();
        }
        begin += group.len();
    }
    let scale = ranks.iter().map(|rank| rank * rank).sum::<f64>().sqrt();
    if scale > 0.0 {
        ranks.iter_mut().for_each(|rank| *rank /= scale);
    }
    ranks
}

/// Centre of paired differences, and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Centre {
    /// Median of the means of all pairs of values (J. L. Hodges, E. L. Lehmann, 1963).
    pub value: f64,
    /// Interval with at least the requested coverage; `None` with too few values.
    pub interval: Option<(f64, f64)>,
}

/// Returns the centre of `values`, and the interval of shifts that the signed-rank test accepts (M.
/// Hollander, D. A. Wolfe, *Nonparametric Statistical Methods*, section 3.3).
///
/// # Panics
///
/// If `values` is empty.
pub fn centre(values: &[f64], coverage: f64) -> Centre {
    assert!(!values.is_empty(), "there are rounds");
    let mut means: Vec<f64> = (0..values.len())
        .flat_map(|i| (i..values.len()).map(move |j| values[i] / 2.0 + values[j] / 2.0))
        .collect();
    means.sort_by(f64::total_cmp);
    let middle = means.len() / 2;
    let value = if means.len().is_multiple_of(2) {
        means[middle - 1] / 2.0 + means[middle] / 2.0
    } else {
        means[middle]
    };
    let outside = outside(values.len(), (1.0 - coverage) / 2.0);
    let interval = outside.map(|outside| (means[outside], means[means.len() - 1 - outside]));
    Centre { value, interval }
}

/// Returns the number of pair means to leave out on each side: the greatest k for which the rank
/// sum is at most k with a probability of at most `tail`. `None` if even a sum of 0 is more likely
/// than that.
fn outside(count: usize, tail: f64) -> Option<usize> {
    let most = count * (count + 1) / 2;
    // Probability of each sum of the positive ranks.
    let mut sums = vec![0.0f64; most + 1];
    sums[0] = 1.0;
    for rank in 1..=count {
        for sum in (0..=most).rev() {
            let with = if sum >= rank { sums[sum - rank] } else { 0.0 };
            sums[sum] = (sums[sum] + with) / 2.0;
        }
    }
    let mut below = 0.0;
    let few = sums.iter().take_while(|&&one| {
        below += one;
        below <= tail
    });
    few.count().checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_rounds_on_one_side_are_two_of_512_signs() {
        let values = vec![0.3, 0.1, 0.2, 0.5, 0.4, 0.9, 0.7, 0.6, 0.8];
        let both = sign_flip(std::slice::from_ref(&values), Tail::Both);
        assert_eq!(both, [2.0 / 512.0]);
        assert_eq!(sign_flip(std::slice::from_ref(&values), Tail::Below), [1.0]);
        let negative: Vec<f64> = values.iter().map(|v| -v).collect();
        assert_eq!(sign_flip(&[negative], Tail::Below), [1.0 / 512.0]);
    }

    #[test]
    fn the_table_of_wilcoxon_is_met() {
        // The negative ranks have the sum 3. Five sets of ranks have a sum of at most 3: {}, {1},
        // {2}, {3} and {1, 2}.
        let values = vec![-0.1, -0.2, 0.3, 0.4, 0.5, 0.6];
        assert_eq!(sign_flip(&[values], Tail::Both), [10.0 / 64.0]);
    }

    #[test]
    fn equal_rounds_are_no_evidence_and_do_not_disturb_other_rows() {
        assert_eq!(sign_flip(&[vec![0.0; 9]], Tail::Both), [1.0]);
        let rows = [vec![0.0; 9], (1..=9).map(f64::from).collect()];
        assert_eq!(sign_flip(&rows, Tail::Both), [1.0, 2.0 / 512.0]);
        assert_eq!(sign_flip(&[], Tail::Both), Vec::<f64>::new());
    }

    #[test]
    fn a_row_among_many_is_judged_by_the_largest() {
        let one: Vec<f64> = (1..=9).map(|i| if i == 3 { -3.0 } else { f64::from(i) }).collect();
        let alone = sign_flip(std::slice::from_ref(&one), Tail::Both)[0];
        let mut other = one.clone();
        other.reverse();
        let among = sign_flip(&[one, other], Tail::Both);
        assert!(among[0] > alone && among[0] <= 2.0 * alone, "{alone} {among:?}");
    }

    #[test]
    fn random_signs_agree_with_all_of_them() {
        let values: Vec<f64> =
            (1..=14).map(|i| if i % 4 == 0 { -1.0 } else { 1.0 } * f64::from(i)).collect();
        let random = sign_flip(std::slice::from_ref(&values), Tail::Both)[0];
        let ranks = signed_ranks(&values);
        let found: f64 = ranks.iter().sum();
        let extreme = (0..1u32 << 14)
            .filter(|bits| {
                let signed =
                    |(i, rank): (usize, &f64)| if bits >> i & 1 == 1 { -rank } else { *rank };
                ranks.iter().enumerate().map(signed).sum::<f64>().abs() >= found.abs() - 1e-9
            })
            .count();
        let exact = extreme as f64 / f64::from(1u32 << 14);
        assert!((random - exact).abs() < 0.02, "{random} {exact}");
    }

    #[test]
    fn the_interval_is_that_of_the_textbook() {
        // With nine values, the sum is at most 5 with a probability of 0.0195.
        assert_eq!(outside(9, 0.025), Some(5));
        assert_eq!(outside(6, 0.025), Some(0));
        assert_eq!(outside(5, 0.025), None);
        let found = centre(&[3.0, 1.0, 2.0], 0.95);
        assert_eq!((found.value, found.interval), (2.0, None));
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(centre(&values, 0.95).value, 5.0);
        let (low, high) = centre(&values, 0.95).interval.expect("nine are enough");
        assert_eq!((low, high), (2.5, 7.5));
    }
}
