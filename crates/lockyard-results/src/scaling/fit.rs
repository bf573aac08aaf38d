//! Fit of the law to points, with remarks on its quality.

use super::usl::Usl;
use crate::statistics::{median, percentiles, resample};
use lockyard_support::{InputError, threads as in_words};

/// Minimum number of different thread counts for a fit. Three would not do: the law has three
/// parameters, so it fits any three figures.
pub const FEWEST_POINTS: usize = 4;

/// Minimum number of rounds for intervals. With fewer, a bootstrap does not reach its nominal
/// coverage.
pub const FEWEST_ROUNDS: usize = 6;

/// Number of bootstrap draws.
const DRAWS: usize = 1000;

/// Maximum residual for a good fit, as a share of the observed figure.
const GREATEST_RESIDUAL: f64 = 0.2;
/// Minimum share of the variance that a good fit explains. It does not apply if all residuals are
/// small.
const LEAST_R_SQUARED: f64 = 0.9;
/// Maximum residual that counts as small. Nearly equal figures have almost no variance to explain.
const SMALL_RESIDUAL: f64 = 0.1;

/// Figures at one thread count.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Number of threads.
    pub threads: usize,
    /// Operations per second in each round. All points have their rounds in the same order.
    pub rounds: Vec<f64>,
}

/// 95 % intervals of a fit, by the percentile bootstrap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intervals {
    /// Interval of lambda.
    pub lambda: (f64, f64),
    /// Interval of sigma.
    pub sigma: (f64, f64),
    /// Interval of kappa.
    pub kappa: (f64, f64),
    /// Interval of the knee. An end without a knee is infinite.
    pub knee: (f64, f64),
}

/// A fitted law.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Parameters.
    pub law: Usl,
    /// Intervals of the parameters; `None` if there are too few rounds.
    pub intervals: Option<Intervals>,
    /// Share of the variance that the law explains; `None` if all figures are equal. A bad fit can
    /// have a negative share.
    pub r_squared: Option<f64>,
    /// Thread count with the greatest residual, and that residual, `law / observed - 1`.
    pub worst: (usize, f64),
    /// Least and greatest observed thread count.
    pub observed: (usize, usize),
}

impl Fit {
    /// Returns true if the law describes the figures. Otherwise its knee is meaningless.
    pub fn describes(&self) -> bool {
        let worst = self.worst.1.abs();
        let explained = self.r_squared.is_none_or(|r| r >= LEAST_R_SQUARED);
        worst <= SMALL_RESIDUAL || explained && worst <= GREATEST_RESIDUAL
    }

    /// Returns remarks on the fit: sentences without a full stop.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let (least, most) = self.observed;
        if !self.describes() {
            let r = self.r_squared.map_or(String::new(), |r| format!("R squared is {r:.4}, and "));
            remarks.push(format!(
                "the law does not describe these figures ({r}with {} it is off by {:+.0} \
                 %): do not use its parameters or its knee; look at the figures themselves",
                in_words(self.worst.0),
                self.worst.1 * 100.0
            ));
        }
        let knee = self.law.knee();
        if knee.is_finite() && knee > most as f64 {
            remarks.push(format!(
                "the knee is beyond {most} threads, the most that were observed: \
                 it is extrapolated; observe more threads if there are CPUs for them"
            ));
        }
        if self.law.sigma > 1.0 {
            remarks.push(
                "sigma is above 1, so two threads together do less than one: \
                 it is not a share of serial work, but the cost of handing the shared line over \
                 instead of keeping it"
                    .to_owned(),
            );
        }
        if least > 1 {
            remarks.push(format!(
                "lambda is extrapolated from {least} threads; observe one thread too"
            ));
        }
        remarks
    }
}

/// Refuses thread counts that allow no fit, before anything is measured.
///
/// # Errors
///
/// If there are fewer than four different thread counts.
pub fn check(threads: &[usize]) -> Result<(), InputError> {
    let mut different = threads.to_vec();
    different.sort_unstable();
    different.dedup();
    if different.len() >= FEWEST_POINTS {
        return Ok(());
    }
    let listed: Vec<String> = different.iter().map(usize::to_string).collect();
    Err(InputError(format!(
        "--fit: {} different number{} of threads ({}); at least {FEWEST_POINTS} are needed, \
         because three parameters fit any three figures",
        different.len(),
        if different.len() == 1 { "" } else { "s" },
        listed.join(",")
    )))
}

/// Fits the law to points. If several points have the same thread count, only the first is used.
///
/// # Errors
///
/// A sentence that explains why there is no fit: too few points, or figures that are not positive.
pub fn fit(points: &[Point]) -> Result<Fit, String> {
    let mut points: Vec<&Point> = points.iter().filter(|point| !point.rounds.is_empty()).collect();
    points.sort_by_key(|point| point.threads);
    points.dedup_by_key(|point| point.threads);
    if points.len() < FEWEST_POINTS {
        return Err(format!(
            "figures for {} thread counts; at least {FEWEST_POINTS} are needed",
            points.len()
        ));
    }
    let threads: Vec<f64> = points.iter().map(|point| point.threads as f64).collect();
    let figures: Vec<f64> = points.iter().filter_map(|point| median(&point.rounds)).collect();
    let Some(law) = super::solve::solve(&threads, &figures) else {
        return Err("a figure is not above 0, or no law could be found".to_owned());
    };
    let mean = figures.iter().sum::<f64>() / figures.len() as f64;
    let squares = |of: &dyn Fn(usize) -> f64| -> f64 {
        figures.iter().enumerate().map(|(i, x)| (x - of(i)).powi(2)).sum()
    };
    let (rest, total) = (squares(&|i| law.throughput(threads[i])), squares(&|_| mean));
    let residuals = points.iter().zip(&figures).map(|(point, figure)| {
        (point.threads, law.throughput(point.threads as f64) / figure - 1.0)
    });
    let worst = residuals.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    Ok(Fit {
        law,
        intervals: intervals(&points, &threads),
        r_squared: (total > 1e-18 * mean * mean).then(|| 1.0 - rest / total),
        worst: worst.unwrap_or_default(),
        observed: (points[0].threads, points[points.len() - 1].threads),
    })
}

fn intervals(points: &[&Point], threads: &[f64]) -> Option<Intervals> {
    let rounds = points.iter().map(|point| point.rounds.len()).min()?;
    if rounds < FEWEST_ROUNDS {
        return None;
    }
    let mut laws = Vec::with_capacity(DRAWS);
    let mut drawn = vec![0.0; rounds];
    resample(rounds, DRAWS, |indices| {
        let figures = points.iter().filter_map(|point| {
            for (drawn, &index) in drawn.iter_mut().zip(indices) {
                *drawn = point.rounds[index];
            }
            median(&drawn)
        });
        laws.extend(super::solve::solve(threads, &figures.collect::<Vec<f64>>()));
    });
    // Draws without a fit are left out. If they were many, the intervals would describe only the
    // others.
    if laws.len() < DRAWS * 9 / 10 {
        return None;
    }
    let of = |value: fn(&Usl) -> f64| percentiles(&laws.iter().map(value).collect::<Vec<f64>>());
    Some(Intervals {
        lambda: of(|law| law.lambda)?,
        sigma: of(|law| law.sigma)?,
        kappa: of(|law| law.kappa)?,
        knee: of(Usl::knee)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    const THREADS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

    /// Returns points of a law with noise that is the same in each test run. The noise is the sum
    /// of twelve uniform numbers, which is nearly normal.
    fn noisy(law: Usl, rounds: usize, deviation: f64, seed: u64) -> Vec<Point> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut uniform = move || random.next_u64() as f64 / 2f64.powi(64);
        let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let points = THREADS.iter().map(|&threads| Point {
            threads,
            rounds: (0..rounds)
                .map(|_| law.throughput(threads as f64) * (1.0 + deviation * normal()))
                .collect(),
        });
        points.collect()
    }

    const LAW: Usl = Usl { lambda: 2e6, sigma: 0.08, kappa: 0.002 };

    #[test]
    fn figures_of_a_law_have_its_parameters_and_no_residual() {
        let fit = fit(&noisy(LAW, 9, 0.0, 1)).unwrap();
        assert!((fit.law.lambda / LAW.lambda - 1.0).abs() < 1e-6, "{fit:?}");
        assert!((fit.law.sigma - LAW.sigma).abs() < 1e-6, "{fit:?}");
        assert!((fit.law.kappa - LAW.kappa).abs() < 1e-7, "{fit:?}");
        assert!((fit.law.knee() - (0.92f64 / 0.002).sqrt()).abs() < 1e-3);
        assert!(fit.r_squared.unwrap() > 1.0 - 1e-9 && fit.worst.1.abs() < 1e-6);
        assert!(fit.describes() && fit.remarks().is_empty(), "{:?}", fit.remarks());
        let of = fit.intervals.unwrap();
        assert!((of.lambda.0 / of.lambda.1 - 1.0).abs() < 1e-6, "all rounds are the same");
    }

    #[test]
    fn intervals_of_noisy_figures_hold_the_parameters_about_as_often_as_they_say() {
        let mut held = [0; 4];
        const RUNS: u64 = 40;
        for seed in 0..RUNS {
            let of = fit(&noisy(LAW, 15, 0.03, seed)).unwrap().intervals.unwrap();
            let within = |(low, high): (f64, f64), value: f64| low <= value && value <= high;
            held[0] += u64::from(within(of.lambda, LAW.lambda));
            held[1] += u64::from(within(of.sigma, LAW.sigma));
            held[2] += u64::from(within(of.kappa, LAW.kappa));
            held[3] += u64::from(within(of.knee, LAW.knee()));
        }
        // Of 40 intervals with a coverage of 95 %, 38 hold on average. For one parameter, 33 or
        // fewer hold with a probability of 1 in 295; for any of the four parameters, of at most 1
        // in 70.
        assert!(held.iter().all(|&held| held >= 34), "{held:?} of {RUNS}");
    }

    #[test]
    fn the_same_rounds_give_the_same_fit() {
        let points = noisy(LAW, 9, 0.05, 7);
        assert_eq!(fit(&points), fit(&points));
        let mut backwards = points.clone();
        backwards.reverse();
        assert_eq!(fit(&points), fit(&backwards), "in any order of the points");
    }

    #[test]
    fn a_retrograde_law_has_its_knee_at_one_thread() {
        let law = Usl { lambda: 9e7, sigma: 5.0, kappa: 0.01 };
        let fit = fit(&noisy(law, 9, 0.0, 1)).unwrap();
        assert_eq!(fit.law.knee(), 1.0);
        assert!(fit.remarks()[0].contains("sigma is above 1"), "{:?}", fit.remarks());
    }

    #[test]
    fn a_knee_that_nobody_saw_is_called_extrapolated() {
        let law = Usl { lambda: 1e6, sigma: 0.02, kappa: 1e-5 };
        let fit = fit(&noisy(law, 9, 0.0, 1)).unwrap();
        assert!(fit.law.knee() > 300.0);
        assert!(fit.remarks()[0].contains("beyond 64 threads"), "{:?}", fit.remarks());
    }

    #[test]
    fn figures_that_follow_no_such_law_are_told_so() {
        // A host with two sockets: the throughput falls to a third when the second socket is used,
        // and then rises again.
        let figures = [1.0, 2.0, 4.0, 8.0, 2.6, 5.0, 9.0];
        let points = THREADS.iter().zip(figures);
        let points: Vec<Point> =
            points.map(|(&threads, x)| Point { threads, rounds: vec![x; 6] }).collect();
        let fit = fit(&points).unwrap();
        assert!(!fit.describes(), "{fit:?}");
        assert!(fit.remarks()[0].starts_with("the law does not describe these figures"));
    }

    #[test]
    fn figures_that_are_nearly_the_same_have_little_variance_and_a_law_all_the_same() {
        let figures = [1.0, 1.02, 0.99, 1.01, 0.98, 1.02, 1.0];
        let points = THREADS.iter().zip(figures);
        let points: Vec<Point> =
            points.map(|(&threads, x)| Point { threads, rounds: vec![x; 6] }).collect();
        let fit = fit(&points).unwrap();
        assert!(fit.r_squared.unwrap() < 0.9 && fit.describes(), "{fit:?}");
    }

    #[test]
    fn too_few_numbers_of_threads_are_refused_in_a_line() {
        assert!(check(&[1, 2, 4, 8]).is_ok());
        assert_eq!(
            check(&[2, 1, 2, 2]).unwrap_err().to_string(),
            "--fit: 2 different numbers of threads (1,2); at least 4 are needed, \
             because three parameters fit any three figures"
        );
        assert!(check(&[1]).unwrap_err().to_string().contains("1 different number of threads (1)"));
        let few = noisy(LAW, 9, 0.0, 1);
        assert!(fit(&few[..3]).unwrap_err().starts_with("figures for 3 thread counts"));
        let same = vec![few[0].clone(); 5];
        assert!(fit(&same).unwrap_err().starts_with("figures for 1 thread counts"));
    }

    #[test]
    fn few_rounds_have_a_law_and_no_intervals() {
        assert_eq!(fit(&noisy(LAW, 5, 0.02, 3)).unwrap().intervals, None);
        assert!(fit(&noisy(LAW, 6, 0.02, 3)).unwrap().intervals.is_some());
    }
}
