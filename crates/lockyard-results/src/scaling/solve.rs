//! Least-squares search for the parameters of the law.
//!
//! The law is fitted as `X(N) = N / (a + b (N - 1) + c N (N - 1))`, by Levenberg and Marquardt's
//! method. The parameters follow: `lambda = 1/a`, `sigma = b/a`, `kappa = c/a`.
//!
//! The search starts from the solution of the linear problem `N / X = a + b (N - 1) + c N (N - 1)`.
//! Each equation is weighted by the effect of its error on X.
//!
//! `b` and `c` must be at least 0. So there are four fits, in which both, one or neither of them is
//! fixed at 0. The best fit without a negative parameter is chosen.

use super::Usl;
use super::search::{self, Row};

/// Free parameters of the four fits: 0 is `a`, 1 is `b`, 2 is `c`. All others are fixed at 0. Fits
/// with fewer parameters come first.
const FACES: [&[usize]; 4] = [&[0], &[0, 1], &[0, 2], &[0, 1, 2]];

/// Minimum relative improvement of the sum of squares by a fit with more parameters. Anything less
/// is a rounding error.
const ROUNDING: f64 = 1e-16;

/// Returns the coefficients of `a`, `b` and `c`.
fn factors(threads: f64) -> [f64; 3] {
    [1.0, threads - 1.0, threads * (threads - 1.0)]
}

/// Least-squares problem in some of the parameters.
#[derive(Clone, Copy)]
struct Problem<'a> {
    threads: &'a [f64],
    observed: &'a [f64],
    free: &'static [usize],
}

impl Problem<'_> {
    /// Returns the residuals and their derivatives; `None` if the law is undefined there.
    fn rows(&self, parameters: [f64; 3]) -> Option<Vec<Row>> {
        let row = |(&threads, &observed): (&f64, &f64)| {
            let factors = factors(threads);
            let denominator: f64 = (0..3).map(|i| factors[i] * parameters[i]).sum();
            let by = -threads / (denominator * denominator);
            let slope = self.only_free(factors.map(|factor| by * factor));
            (denominator > 0.0).then_some(Row { residual: threads / denominator - observed, slope })
        };
        self.threads.iter().zip(self.observed).map(row).collect()
    }

    fn only_free(&self, values: [f64; 3]) -> [f64; 3] {
        [0, 1, 2].map(|i| if self.free.contains(&i) { values[i] } else { 0.0 })
    }
}

/// Returns the best parameters for thread counts and their throughputs. `None` if a throughput is
/// not positive, or if there are fewer thread counts than parameters.
pub(super) fn solve(threads: &[f64], observed: &[f64]) -> Option<Usl> {
    let most = observed.iter().copied().fold(0.0, f64::max);
    let usable = |&x: &f64| x > 0.0 && x.is_finite();
    if threads.len() < 3 || threads.len() != observed.len() || !observed.iter().all(usable) {
        return None;
    }
    // Scale to the greatest throughput, so the same tolerances fit every metric.
    let observed: Vec<f64> = observed.iter().map(|x| x / most).collect();
    let squares: f64 = observed.iter().map(|x| x * x).sum();
    let mut best: Option<([f64; 3], f64)> = None;
    for free in FACES {
        let Some((parameters, rest)) = face(threads, &observed, free) else { continue };
        if best.is_none_or(|(_, least)| rest < least - ROUNDING * squares) {
            best = Some((parameters, rest));
        }
    }
    let ([a, b, c], _) = best?;
    Some(Usl { lambda: most / a, sigma: b / a, kappa: c / a })
}

/// Returns the best parameters if only those in `free` may differ from 0, and the remaining sum of
/// squares.
fn face(threads: &[f64], observed: &[f64], free: &'static [usize]) -> Option<([f64; 3], f64)> {
    let problem = Problem { threads, observed, free };
    let ([a, b, c], rest) = search::minimise(start(problem), |at| problem.rows(at))?;
    let allowed = a > 0.0 && b >= 0.0 && c >= 0.0 && [a, b, c].iter().all(|p| p.is_finite());
    (allowed && rest.is_finite()).then_some(([a, b, c], rest))
}

/// Returns the starting point of the search. This is the solution of the linear problem if the law
/// is defined there, otherwise linear scaling.
fn start(problem: Problem<'_>) -> [f64; 3] {
    // An error d in N / X causes an error of X^2 / N times d in X.
    let row = |(&threads, &observed): (&f64, &f64)| {
        let weight = observed * observed / threads;
        let slope = problem.only_free(factors(threads).map(|factor| weight * factor));
        Row { residual: observed, slope }
    };
    let rows: Vec<Row> = problem.threads.iter().zip(problem.observed).map(row).collect();
    let linear = search::linear(&rows);
    match problem.rows(linear) {
        Some(_) => linear,
        None => [problem.threads[0] / problem.observed[0], 0.0, 0.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const THREADS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    fn of(law: Usl) -> Vec<f64> {
        THREADS.iter().map(|&n| law.throughput(n)).collect()
    }

    #[test]
    fn the_derivatives_are_those_of_the_law() {
        let observed = of(Usl { lambda: 1.0, sigma: 0.1, kappa: 0.001 });
        let at = [1.1, 0.2, 0.003];
        for free in FACES {
            let problem = Problem { threads: &THREADS, observed: &observed, free };
            let rows = problem.rows(at).unwrap();
            for i in 0..3 {
                let moved = |by: f64| {
                    let mut parameters = at;
                    parameters[i] += by;
                    problem.rows(parameters).unwrap()
                };
                let step = 1e-6 * at[i];
                for ((row, more), less) in rows.iter().zip(moved(step)).zip(moved(-step)) {
                    let numeric = (more.residual - less.residual) / (2.0 * step);
                    let ours = row.slope[i];
                    let wanted = if free.contains(&i) { numeric } else { 0.0 };
                    assert!((ours - wanted).abs() < 1e-6 * (1.0 + wanted.abs()), "{free:?}");
                }
            }
        }
    }

    #[test]
    fn parameters_that_are_0_are_found_to_be_0() {
        for (sigma, kappa) in [(0.0, 0.0), (0.2, 0.0), (0.0, 0.004)] {
            let found = solve(&THREADS, &of(Usl { lambda: 1e7, sigma, kappa })).unwrap();
            let zeros = |s: f64, k: f64| (s == 0.0, k == 0.0);
            assert_eq!(zeros(found.sigma, found.kappa), zeros(sigma, kappa), "{found:?}");
        }
    }

    #[test]
    fn superlinear_figures_have_the_best_law_that_is_allowed() {
        // Doubling the threads triples the throughput, which the law does not allow. The best fit
        // is linear scaling, not a negative sigma.
        let found = solve(&[1.0, 2.0, 4.0, 8.0], &[1.0, 3.0, 9.0, 27.0]).unwrap();
        assert_eq!((found.sigma, found.kappa), (0.0, 0.0));
        // Least squares of lambda N: sum(N X) / sum(N^2).
        assert!((found.lambda - (1.0 + 6.0 + 36.0 + 216.0) / 85.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn what_cannot_be_fitted_is_not() {
        assert_eq!(solve(&[1.0, 2.0, 3.0], &[1.0, 0.0, 1.0]), None);
        assert_eq!(solve(&[1.0, 2.0], &[1.0, 2.0]), None);
        assert_eq!(solve(&[1.0, 2.0, 3.0], &[1.0, f64::NAN, 1.0]), None);
    }

    proptest! {
        #[test]
        fn the_parameters_of_a_law_are_recovered_from_its_figures(
            lambda in 1.0f64..1e9, sigma in 0.0f64..6.0, kappa in 0.0f64..0.3,
        ) {
            let law = Usl { lambda, sigma, kappa };
            let found = solve(&THREADS, &of(law)).unwrap();
            prop_assert!((found.lambda / lambda - 1.0).abs() < 1e-5, "{:?} {:?}", law, found);
            let near = |a: f64, b: f64, by: f64| (a - b).abs() < by * (1.0 + sigma);
            prop_assert!(near(found.sigma, sigma, 1e-4), "{law:?} {found:?}");
            prop_assert!(near(found.kappa, kappa, 1e-5), "{law:?} {found:?}");
        }

        #[test]
        fn no_law_nearby_is_better(
            noise in prop::collection::vec(0.7f64..1.3, 7..8),
            sigma in 0.0f64..1.0, kappa in 0.0f64..0.05,
            step in prop::sample::select(vec![
                (1.001, 0.0, 0.0),
                (0.999, 0.0, 0.0),
                (1.0, 1e-3, 0.0),
                (1.0, 0.0, 1e-4),
                (1.0, -1e-3, 0.0),
                (1.0, 0.0, -1e-4),
            ]),
        ) {
            let observed: Vec<f64> =
                of(Usl { lambda: 1.0, sigma, kappa })
                    .iter()
                    .zip(&noise)
                    .map(|(x, n)| x * n)
                    .collect();
            let rest = |law: Usl| -> f64 {
                THREADS.iter().zip(&observed).map(|(&n, x)| (law.throughput(n) - x).powi(2)).sum()
            };
            let best = solve(&THREADS, &observed).unwrap();
            prop_assert!(best.sigma >= 0.0 && best.kappa >= 0.0);
            let near = Usl {
                lambda: best.lambda * step.0,
                sigma: (best.sigma + step.1).max(0.0),
                kappa: (best.kappa + step.2).max(0.0),
            };
            prop_assert!(rest(best) <= rest(near) * (1.0 + 1e-6) + 1e-12, "{:?} {:?}", best, near);
        }
    }
}
