//! Medians, quantiles, means, and intervals of known distributions.

/// Returns a sorted copy of `values`.
pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns the quantile `q` (0 to 1) of `values`; `None` if there are none. It interpolates
/// linearly between order statistics (type 7 of Hyndman and Fan, *Sample Quantiles in Statistical
/// Packages*, 1996).
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let sorted = sorted(values);
    let last = sorted.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64))
}

/// Returns the median of `values`; `None` if there are none.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns the mean of `values`; `None` if there are none.
pub fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
}

/// Returns the two-sided 5 % critical value of Student's distribution with `degrees` degrees of
/// freedom, in standard errors (M. Abramowitz, I. Stegun, *Handbook of Mathematical Functions*,
/// 26.7.5). The approximation is within 1 % from 3 degrees of freedom up.
pub fn student(degrees: usize) -> f64 {
    // Quantile of the normal distribution.
    let x: f64 = 1.959_964;
    let n = degrees as f64;
    let first = (x.powi(3) + x) / 4.0;
    let second = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / 96.0;
    let third = (3.0 * x.powi(7) + 19.0 * x.powi(5) + 17.0 * x.powi(3) - 15.0 * x) / 384.0;
    x + first / n + second / n.powi(2) + third / n.powi(3)
}

/// Returns the 95 % confidence interval for the mean of a Poisson distribution, given one observed
/// count (F. Garwood, *Fiducial Limits for the Poisson Distribution*, Biometrika 28, 1936).
pub fn poisson(seen: u64) -> (f64, f64) {
    // Probability of at most `most` events.
    let up_to = |most: u64, mean: f64| {
        let mut term = (-mean).exp();
        let mut sum = term;
        for n in 1..=most {
            term *= mean / n as f64;
            sum += term;
        }
        sum
    };
    // Finds, by bisection, the smallest mean between `low` and `high` that is too great.
    let solve = |mut low: f64, mut high: f64, too_great: &dyn Fn(f64) -> bool| {
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if too_great(middle) { high = middle } else { low = middle }
        }
        low
    };
    let number = seen as f64;
    let least = match seen.checked_sub(1) {
        None => 0.0,
        Some(fewer) => solve(0.0, number, &|mean| 1.0 - up_to(fewer, mean) > 0.025),
    };
    (least, solve(number, 3.0 * number + 20.0, &|mean| up_to(seen, mean) < 0.025))
}

/// Confidence interval for a median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability that the interval covers the median, for any distribution.
    pub coverage: f64,
}

/// Returns the narrowest symmetric interval of two order statistics that covers the median with a
/// probability of at least 0.95. With fewer than 6 values that is impossible, so it returns the
/// whole range. `None` if there are no values. It assumes only that the values are independent (W.
/// J. Conover, *Practical Nonparametric Statistics*, section 3.2).
pub fn median_interval(values: &[f64]) -> Option<Interval> {
    let sorted = sorted(values);
    let n = sorted.len();
    if n == 0 {
        return None;
    }
    // Coverage of (x[r], x[n-1-r]), with indices from 0: 1 - 2 P(Binomial(n, 1/2) <= r).
    let mut probability = 0.5f64.powi(n as i32);
    let mut tail = probability;
    let mut rank = 0;
    let mut coverage = (1.0 - 2.0 * tail).max(0.0);
    for r in 1..n.div_ceil(2) {
        probability *= (n - r + 1) as f64 / r as f64;
        tail += probability;
        let next = 1.0 - 2.0 * tail;
        if next < 0.95 {
            break;
        }
        (rank, coverage) = (r, next);
    }
    Some(Interval { low: sorted[rank], high: sorted[n - 1 - rank], coverage })
}

/// Returns half the width of the 95 % interval of a share. It is 1.96 standard deviations of a
/// binomial share of `samples` equally weighted samples. The deviation is at least `1 / samples`,
/// about that of a share based on one sample.
pub fn half_width(samples: f64, share: f64) -> f64 {
    let samples = samples.max(1.0);
    let deviation = (share * (1.0 - share) / samples).sqrt();
    1.96 * deviation.max(1.0 / samples)
}

/// Describes the interval of a result with this number of rounds.
pub fn coverage(rounds: usize) -> &'static str {
    match rounds {
        0..6 => "fewer than 6 rounds: the whole range, which covers less",
        _ => "order statistics",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_quantiles_are_those_of_the_textbook() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.9), Some(4.6));
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
    }

    #[test]
    fn student_s_quantiles_are_those_of_the_table() {
        for (degrees, right) in [(3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (39, 2.023)] {
            assert!((student(degrees) / right - 1.0).abs() < 0.01, "{degrees}");
        }
    }

    #[test]
    fn poisson_intervals_are_those_of_the_table() {
        for (seen, low, high) in
            [(0, 0.0, 3.689), (1, 0.0253, 5.572), (2, 0.2422, 7.225), (10, 4.795, 18.39)]
        {
            let found = poisson(seen);
            assert!((found.0 - low).abs() < 1e-3 && (found.1 - high).abs() < 1e-2, "{found:?}");
        }
    }

    #[test]
    fn intervals_have_the_ranks_and_the_coverage_of_the_binomial_table() {
        let of = |n: usize| {
            let values: Vec<f64> = (1..=n).map(|i| i as f64).collect();
            median_interval(&values).unwrap()
        };
        // n = 5: the whole range covers 93.75 %. n = 6: 96.9 %. n = 9: ranks 2 and 8, 96.1 %.
        assert_eq!(of(5), Interval { low: 1.0, high: 5.0, coverage: 0.9375 });
        assert_eq!(of(6), Interval { low: 1.0, high: 6.0, coverage: 0.96875 });
        assert_eq!(of(9), Interval { low: 2.0, high: 8.0, coverage: 0.9609375 });
        assert_eq!((of(20).low, of(20).high), (6.0, 15.0));
        assert_eq!(of(1).coverage, 0.0);
    }
}
