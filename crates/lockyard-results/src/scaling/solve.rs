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
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::{DMatrix, DVector, Dyn, Owned};

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
struct Problem<'a> {
    threads: &'a [f64],
    observed: &'a [f64],
    free: &'static [usize],
    parameters: DVector<f64>,
}

impl Problem<'_> {
    fn denominator(&self, threads: f64) -> f64 {
        let factors = factors(threads);
        self.free.iter().zip(self.parameters.iter()).map(|(&i, p)| factors[i] * p).sum()
    }

    fn residual(&self, index: usize) -> f64 {
        let denominator = self.denominator(self.threads[index]);
        if denominator > 0.0 {
            self.threads[index] / denominator - self.observed[index]
        } else {
            // The law is undefined for these parameters. A large residual makes the search reject
            // the step.
            1e9
        }
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Problem<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, parameters: &DVector<f64>) {
        self.parameters.copy_from(parameters);
    }

    fn params(&self) -> DVector<f64> {
        self.parameters.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        Some(DVector::from_fn(self.threads.len(), |row, _| self.residual(row)))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        Some(DMatrix::from_fn(self.threads.len(), self.free.len(), |row, column| {
            let threads = self.threads[row];
            let denominator = self.denominator(threads);
            -threads / (denominator * denominator) * factors(threads)[self.free[column]]
        }))
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
    let problem = Problem { threads, observed, free, parameters: start(threads, observed, free)? };
    let (solved, report) = LevenbergMarquardt::new().minimize(problem);
    let mut parameters = [0.0; 3];
    for (&index, &value) in free.iter().zip(solved.parameters.iter()) {
        parameters[index] = value;
    }
    let [a, b, c] = parameters;
    let rest = 2.0 * report.objective_function;
    let allowed = a > 0.0 && b >= 0.0 && c >= 0.0 && parameters.iter().all(|p| p.is_finite());
    (allowed && rest.is_finite()).then_some((parameters, rest))
}

/// Returns the starting point of the search. This is the solution of the linear problem if the law
/// is defined there, otherwise linear scaling.
fn start(threads: &[f64], observed: &[f64], free: &'static [usize]) -> Option<DVector<f64>> {
    // An error d in N / X causes an error of X^2 / N times d in X.
    let weight = |row: usize| observed[row] * observed[row] / threads[row];
    let left = DMatrix::from_fn(threads.len(), free.len(), |row, column| {
        weight(row) * factors(threads[row])[free[column]]
    });
    let right = DVector::from_fn(threads.len(), |row, _| observed[row]);
    let linear = left.svd(true, true).solve(&right, 1e-14).ok()?;
    let mut problem = Problem { threads, observed, free, parameters: linear };
    if !threads.iter().all(|&threads| problem.denominator(threads) > 0.0) {
        problem.parameters.fill(0.0);
        problem.parameters[0] = threads[0] / observed[0];
    }
    Some(problem.parameters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use levenberg_marquardt::differentiate_numerically;
    use proptest::prelude::*;

    const THREADS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    fn of(law: Usl) -> Vec<f64> {
        THREADS.iter().map(|&n| law.throughput(n)).collect()
    }

    #[test]
    fn the_derivatives_are_those_of_the_law() {
        let observed = of(Usl { lambda: 1.0, sigma: 0.1, kappa: 0.001 });
        for free in FACES {
            let parameters = DVector::from_fn(free.len(), |i, _| [1.1, 0.2, 0.003][free[i]]);
            let mut problem = Problem { threads: &THREADS, observed: &observed, free, parameters };
            let numeric = differentiate_numerically(&mut problem).unwrap();
            let ours = problem.jacobian().unwrap();
            assert!((numeric - ours).abs().max() < 1e-5, "{free:?}");
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
