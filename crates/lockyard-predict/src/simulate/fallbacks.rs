//! Rate at which operations of a lockref exhaust their retries and take the lock.
//!
//! An operation that loses [`MAX_FAILURES`] compare-exchanges in a row takes the lock. A simulated
//! millisecond hardly ever contains such a fallback. So the rate is extrapolated from the number of
//! compare-exchanges that operations lose in a row.

use lockyard::lockref::policy::MAX_FAILURES;
use lockyard_results::statistics;
use lockyard_scenarios::{ObjectKind, Variant};

/// Share of all operations that is used for the extrapolation: those with the longest streaks of
/// losses.
const TAIL: f64 = 0.02;
/// Minimum number of operations that are used for the extrapolation.
const ENOUGH: u64 = 50;

/// Returns the number of losses in a row that cause a fallback, for each lockref of a variant. With
/// trywait, an operation retries the same number of times again before it takes the lock.
pub(super) fn bounds(variant: &Variant) -> impl Iterator<Item = usize> {
    variant.objects.iter().filter_map(|object| match object.kind {
        ObjectKind::LockRef { trywait, .. } => {
            Some(MAX_FAILURES as usize * if trywait { 2 } else { 1 })
        }
        _ => None,
    })
}

/// Fallbacks in the runs of a cell.
#[derive(Debug, Default)]
pub(super) struct Fallbacks {
    /// Number of losses in a row that cause a fallback, for each lockref.
    bounds: Vec<usize>,
    /// Length of all runs in seconds.
    seconds: f64,
    /// Number of runs with fallbacks.
    fell: u64,
    /// Runs without fallbacks.
    without: Vec<Without>,
}

/// A run without fallbacks.
#[derive(Debug)]
struct Without {
    seconds: f64,
    throughput: f64,
    /// Number of successful compare-exchanges of each lockref after N losses in a row, by N.
    lost: Vec<Vec<u64>>,
}

impl Fallbacks {
    pub(super) fn of(variant: &Variant) -> Fallbacks {
        Fallbacks { bounds: bounds(variant).collect(), ..Fallbacks::default() }
    }

    /// Adds a run of `seconds` with its number of fallbacks, and the losses in a row before and
    /// after it.
    pub(super) fn add(
        &mut self,
        seconds: f64,
        throughput: f64,
        fallbacks: u64,
        before: &[Vec<u64>],
        after: &[Vec<u64>],
    ) {
        self.seconds += seconds;
        if fallbacks > 0 {
            // After its first fallback, the run behaves differently.
            self.fell += 1;
            return;
        }
        let nothing = Vec::new();
        let before = before.iter().chain(std::iter::repeat(&nothing));
        let since = |(before, after): (&Vec<u64>, &Vec<u64>)| {
            let before = before.iter().chain(std::iter::repeat(&0));
            after.iter().zip(before).map(|(after, before)| after - before).collect()
        };
        let lost = before.zip(after).map(since).collect();
        self.without.push(Without { seconds, throughput, lost });
    }

    /// Returns the expected number of fallbacks per second, from those that occurred. If no run had
    /// any, extrapolates.
    pub(super) fn per_second(&self) -> f64 {
        match self.fell {
            0 => self.extrapolated(self.without.iter()),
            seen => seen as f64 / self.seconds,
        }
    }

    /// Returns the 95 % confidence interval of that number. If fallbacks occurred, it comes from
    /// their number. Otherwise it comes from the differences between runs (a jackknife of the
    /// rate's logarithm). Returns `None` with fewer than four runs, or if leaving out one run
    /// leaves no rate. The interval assumes a geometric tail.
    pub(super) fn interval(&self) -> Option<(f64, f64)> {
        if self.fell > 0 {
            let (least, greatest) = statistics::poisson(self.fell);
            return Some((least / self.seconds, greatest / self.seconds));
        }
        let runs = self.without.len();
        if runs < 4 {
            return None;
        }
        let all = libm::log(self.extrapolated(self.without.iter()));
        let but_one = |one: usize| {
            let others = self.without.iter().enumerate().filter(move |(index, _)| *index != one);
            libm::log(self.extrapolated(others.map(|(_, run)| run)))
        };
        let estimates: Vec<f64> = (0..runs).map(but_one).collect();
        let mean = statistics::mean(&estimates)?;
        let squares: f64 = estimates.iter().map(|estimate| (estimate - mean).powi(2)).sum();
        let error = ((runs - 1) as f64 / runs as f64 * squares).sqrt();
        let away = statistics::student(runs - 1) * error;
        (all.is_finite() && away.is_finite())
            .then(|| (libm::exp(all - away), libm::exp(all + away)))
    }

    /// Returns the expected number of fallbacks per second, extrapolated from the runs without
    /// fallbacks.
    fn extrapolated<'r>(&self, runs: impl Iterator<Item = &'r Without>) -> f64 {
        let mut seconds = 0.0;
        let mut lost: Vec<Vec<u64>> = Vec::new();
        for run in runs {
            seconds += run.seconds;
            lost.resize(lost.len().max(run.lost.len()), Vec::new());
            for (sum, counts) in lost.iter_mut().zip(&run.lost) {
                sum.resize(sum.len().max(counts.len()), 0);
                sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            }
        }
        // The lockrefs are ordered by guest.
        let of_each = lost.iter().zip(self.bounds.iter().cycle());
        let expected =
            of_each.map(|(counts, &bound)| expected(counts, bound)).fold(0.0, |sum, one| sum + one);
        if seconds > 0.0 { expected / seconds } else { 0.0 }
    }

    /// Returns the operations per second of the runs without fallbacks.
    pub(super) fn throughput_without(&self) -> Option<f64> {
        let throughputs: Vec<f64> = self.without.iter().map(|run| run.throughput).collect();
        statistics::mean(&throughputs)
    }
}

/// Returns the expected number of operations that lose at least `bound` times. `counts[n]`
/// operations lost `n` times in a row. The tail of the distribution is assumed to be geometric,
/// which is true if each retry has the same chance. Its parameter is the maximum-likelihood
/// estimate.
fn expected(counts: &[u64], bound: usize) -> f64 {
    let all: u64 = counts.iter().sum();
    let enough = ENOUGH.max((all as f64 * TAIL) as u64);
    // The tail starts as late as possible.
    let mut tail = 0;
    let begin = counts.iter().enumerate().rev().find(|(_, count)| {
        tail += **count;
        tail >= enough
    });
    let Some((begin, _)) = begin else { return 0.0 };
    if begin >= bound {
        return counts.iter().skip(bound).sum::<u64>() as f64;
    }
    let beyond = counts[begin..].iter().zip(0u64..).map(|(count, more)| count * more);
    let mean = beyond.sum::<u64>() as f64 / tail as f64;
    let again = mean / (1.0 + mean);
    tail as f64 * libm::pow(again, (bound - begin) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of a million operations. The first `free` tries never lose. Each further try loses
    /// with probability `again`.
    fn geometric(again: f64, free: usize) -> Vec<u64> {
        let count = |n: usize| match n.checked_sub(free) {
            None => 0,
            Some(more) => (1e6 * (1.0 - again) * again.powi(more as i32)).round() as u64,
        };
        (0..=128).map(count).collect()
    }

    #[test]
    fn a_geometric_tail_is_extrapolated_to_what_it_is() {
        for (again, free) in [(0.5, 0), (0.7, 3), (0.85, 0), (0.9, 10)] {
            let found = expected(&geometric(again, free), 100);
            let right = 1e6 * f64::powi(again, 100 - free as i32);
            assert!((found / right).ln().abs() < 0.2, "{again}, {free}: {found}, {right}");
        }
    }

    #[test]
    fn nothing_is_said_of_too_few_operations() {
        assert_eq!(expected(&[], 100), 0.0);
        assert_eq!(expected(&[30, 10, 5], 100), 0.0);
        assert_eq!(expected(&[1_000_000], 100), 0.0, "nobody lost");
    }

    #[test]
    fn what_was_seen_is_not_extrapolated() {
        let mut counts = vec![0; 129];
        (counts[0], counts[120]) = (100, 100);
        assert_eq!(expected(&counts, 100), 100.0);
    }

    #[test]
    fn a_run_that_fell_says_that_it_did_and_nothing_else() {
        let mut found = Fallbacks { bounds: vec![100], ..Fallbacks::default() };
        found.add(0.25, 8.0, 0, &[vec![]], &[vec![1000, 500, 250, 125, 62]]);
        let rare = found.per_second();
        assert!(rare < 1e-20, "{rare}");
        found.add(0.25, 2.0, 3, &[vec![]], &[vec![0; 129]]);
        assert_eq!(found.per_second(), 2.0);
        assert_eq!(found.throughput_without(), Some(8.0));
        let none = Fallbacks::default();
        assert_eq!((none.per_second(), none.throughput_without()), (0.0, None));
    }

    #[test]
    fn the_rate_s_interval_is_as_wide_as_runs_differ() {
        let of = |again: &[f64]| {
            let mut found = Fallbacks { bounds: vec![30], ..Fallbacks::default() };
            for &again in again {
                found.add(0.5, 8.0, 0, &[vec![]], &[geometric(again, 0)]);
            }
            found
        };
        assert_eq!(of(&[0.8; 3]).interval(), None, "three runs are too few");
        let alike = of(&[0.8; 5]);
        let (least, greatest) = alike.interval().expect("five runs have one");
        assert!((greatest / least - 1.0).abs() < 1e-6, "{least} to {greatest}");
        assert!((least / alike.per_second() - 1.0).abs() < 1e-6);
        let differ = of(&[0.78, 0.79, 0.8, 0.81, 0.82]);
        let (least, greatest) = differ.interval().expect("five runs have one");
        let (slow, fast) = (of(&[0.78; 5]).per_second(), of(&[0.82; 5]).per_second());
        assert!(least < differ.per_second() && differ.per_second() < greatest);
        // A mean of five runs is nearer than single runs, but not by much.
        assert!(greatest / least > 1.5, "{least} to {greatest}");
        assert!(slow < least && greatest < 1.5 * fast, "{least} to {greatest}, {slow}, {fast}");
        let mut fell = differ;
        fell.add(0.5, 2.0, 1, &[vec![]], &[vec![0; 129]]);
        let (least, greatest) = fell.interval().expect("one of three seconds");
        assert!((least * 3.0 - 0.025).abs() < 0.001 && (greatest * 3.0 - 5.57).abs() < 0.01);
        let nobody = |run: &mut Fallbacks| run.add(0.5, 8.0, 0, &[vec![]], &[vec![1_000_000]]);
        let mut never = Fallbacks { bounds: vec![30], ..Fallbacks::default() };
        (0..5).for_each(|_| nobody(&mut never));
        assert_eq!((never.per_second(), never.interval()), (0.0, None));
    }
}
