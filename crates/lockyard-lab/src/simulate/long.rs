//! Runs that last seconds, of which a millisecond is simulated.
//!
//! An operation of a lockref that loses [`MAX_FAILURES`] compare-exchanges in a row takes the lock. Without trywait, and with some tasks, all
//! others then find the lock held, queue for it, and stay there (`docs/model/runs-of-seconds.md`). Under contention that may happen a few times a
//! second, so a published run of seconds has it in its beginning, and a simulated millisecond does not. How often it happens is extrapolated
//! from how many compare-exchanges operations lose in a row; what it makes of the run is simulated: by a run in which one task begins by
//! holding the lock. The figure is the mean over a run of the length that the script says (`mean_over`), which begins without, and does not come back.

use super::{Effort, Prediction, SimulationError, runs};
use crate::placement::Placement;
use crate::statistics;
use lockyard::lockref::policy::MAX_FAILURES;
use lockyard_scenarios::{ObjectKind, Variant};
use lockyard_sim::Machine;

/// A run in which fewer fallbacks are to be expected is as if there were none.
const RARE: f64 = 0.01;
/// A run that fallbacks make slower by less than this share comes back from them, or does not mind.
const SLOWER: f64 = 0.02;
/// Runs of losses that are extrapolated: the longest, one in so many operations.
const TAIL: f64 = 0.02;
/// There have to be so many of them.
const ENOUGH: u64 = 50;

/// What a fallback makes of a long run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongRun {
    /// How long it is.
    pub seconds: f64,
    /// Fallbacks to be expected in a second, until the first one.
    pub fallbacks_per_second: f64,
    /// Operations a second until then.
    pub until: f64,
    /// Operations a second from then on.
    pub from_then: f64,
    /// The share of the run until then, on the average.
    pub share: f64,
    /// Operations a second, the mean over the run, if there are as many fallbacks a second as the greatest rate and the least rate of its
    /// interval say.
    pub by_rate: Option<(f64, f64)>,
}

impl LongRun {
    /// Of a run of so many seconds with so many fallbacks a second: a first one comes at an exponentially distributed time.
    fn new(seconds: f64, fallbacks_per_second: f64, until: f64, from_then: f64) -> LongRun {
        let expected = seconds * fallbacks_per_second;
        let share = if expected > 0.0 { -(-expected).exp_m1() / expected } else { 1.0 };
        LongRun { seconds, fallbacks_per_second, until, from_then, share, by_rate: None }
    }

    /// The same run with the interval of its rate.
    fn with_interval(self, rates: Option<(f64, f64)>) -> LongRun {
        let mean = |rate| LongRun::new(self.seconds, rate, self.until, self.from_then).mean();
        LongRun { by_rate: rates.map(|(least, greatest)| (mean(greatest), mean(least))), ..self }
    }

    /// Operations a second, the mean over the run.
    fn mean(&self) -> f64 {
        self.share * self.until + (1.0 - self.share) * self.from_then
    }
}

/// As [`super::cell`], but the mean over so many seconds, if that is given, of a variant with one lockref, without guests. All but the
/// throughput, its range and the fallbacks is of the part of the run that is longer, on the average.
///
/// # Errors
///
/// As [`super::cell`].
///
/// # Panics
///
/// As [`super::cell`].
pub(super) fn cell(
    machine: &Machine,
    variant: &Variant,
    placement: (&Placement, usize),
    threads: usize,
    local_work: f64,
    (effort, seconds): (Effort, Option<f64>),
) -> Result<Prediction, SimulationError> {
    let found = super::cell(machine, variant, placement, threads, local_work, effort)?;
    let one = bounds(variant).count() == 1 && variant.guests.is_none();
    // If every run has fallen by itself, they are as long runs are.
    let (Some(seconds), Some(until), true) = (seconds, found.without_fallbacks, one) else {
        return Ok(found);
    };
    let (rate, interval) = (found.fallbacks_per_second, found.fallbacks_interval);
    if interval.map_or(rate, |(_, greatest)| greatest) * seconds < RARE {
        return Ok(found);
    }
    // Until every task has begun; they do so in a random order. A queue keeps the order in which it
    // began, and that of a run of seconds has been shuffled by interrupts.
    let round = threads as f64 / until * 1e9;
    let effort = Effort { warm_up_ns: effort.warm_up_ns + 2.0 * round, ..effort };
    let of = (effort, true);
    let fallen = runs(machine, variant, placement, threads, local_work, of)?;
    if fallen.throughput > until * (1.0 - SLOWER) {
        return Ok(found);
    }
    let long = LongRun::new(seconds, rate, until, fallen.throughput).with_interval(interval);
    let range = (fallen.range.0.min(found.range.0), fallen.range.1.max(found.range.1));
    let most = if long.share < 0.5 { fallen } else { found };
    Ok(Prediction {
        throughput: long.mean(),
        range,
        fallbacks_per_second: rate,
        fallbacks_interval: interval,
        without_fallbacks: Some(until),
        long: Some(long),
        ..most
    })
}

/// Of each lockref of a variant: how many losses in a row are a fallback. With trywait an operation tries as often again before it takes
/// the lock.
fn bounds(variant: &Variant) -> impl Iterator<Item = usize> {
    variant.objects.iter().filter_map(|object| match object.kind {
        ObjectKind::LockRef { trywait, .. } => {
            Some(MAX_FAILURES as usize * if trywait { 2 } else { 1 })
        }
        _ => None,
    })
}

/// What the runs of a cell say of fallbacks.
#[derive(Debug, Default)]
pub(super) struct Fallbacks {
    /// How many losses in a row of each lockref are one.
    bounds: Vec<usize>,
    /// Seconds of all runs.
    seconds: f64,
    /// How many runs had some.
    fell: u64,
    /// Those that had none.
    without: Vec<Without>,
}

/// A run without fallbacks.
#[derive(Debug)]
struct Without {
    seconds: f64,
    throughput: f64,
    /// How many compare-exchanges of each lockref succeeded after how many losses in a row.
    lost: Vec<Vec<u64>>,
}

impl Fallbacks {
    pub(super) fn of(variant: &Variant) -> Fallbacks {
        Fallbacks { bounds: bounds(variant).collect(), ..Fallbacks::default() }
    }

    /// Adds a run of so many seconds with so many fallbacks, and the losses in a row before it and after it.
    pub(super) fn add(
        &mut self,
        seconds: f64,
        throughput: f64,
        fallbacks: u64,
        (before, after): (&[Vec<u64>], &[Vec<u64>]),
    ) {
        self.seconds += seconds;
        if fallbacks > 0 {
            // From the first one on it is another run.
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

    /// How many are to be expected in a second: as many as were seen, a first one in each run; if none was, as the runs let expect.
    pub(super) fn per_second(&self) -> f64 {
        match self.fell {
            0 => self.extrapolated(self.without.iter()),
            seen => seen as f64 / self.seconds,
        }
    }

    /// Where their number is with 95 % confidence: by how many were seen, or else by how the runs differ (a jackknife of the rate's
    /// logarithm); `None` of fewer than four runs, or if without one of them nothing is to be expected. That the tail is geometric is not in
    /// doubt here.
    pub(super) fn interval(&self) -> Option<(f64, f64)> {
        if self.fell > 0 {
            let (least, greatest) = statistics::poisson(self.fell);
            return Some((least / self.seconds, greatest / self.seconds));
        }
        let runs = self.without.len();
        if runs < 4 {
            return None;
        }
        let all = self.extrapolated(self.without.iter()).ln();
        let but_one = |one: usize| {
            let others = self.without.iter().enumerate().filter(move |(index, _)| *index != one);
            self.extrapolated(others.map(|(_, run)| run)).ln()
        };
        let estimates: Vec<f64> = (0..runs).map(but_one).collect();
        let mean = statistics::mean(&estimates)?;
        let squares: f64 = estimates.iter().map(|estimate| (estimate - mean).powi(2)).sum();
        let error = ((runs - 1) as f64 / runs as f64 * squares).sqrt();
        let away = statistics::student(runs - 1) * error;
        (all.is_finite() && away.is_finite()).then(|| ((all - away).exp(), (all + away).exp()))
    }

    /// How many runs that had none let expect in a second.
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
        // Those of each guest, one after another.
        let of_each = lost.iter().zip(self.bounds.iter().cycle());
        let expected =
            of_each.map(|(counts, &bound)| expected(counts, bound)).fold(0.0, |sum, one| sum + one);
        if seconds > 0.0 { expected / seconds } else { 0.0 }
    }

    /// Operations a second of the runs without.
    pub(super) fn throughput_without(&self) -> Option<f64> {
        let throughputs: Vec<f64> = self.without.iter().map(|run| run.throughput).collect();
        statistics::mean(&throughputs)
    }
}

/// Of operations of which `counts[n]` lost `n` times in a row: how many are to be expected to lose `bound` times or more. The tail of the
/// distribution is taken to be geometric, as it is if each further try has the same chance; its parameter is the one of greatest likelihood.
fn expected(counts: &[u64], bound: usize) -> f64 {
    let all: u64 = counts.iter().sum();
    let enough = ENOUGH.max((all as f64 * TAIL) as u64);
    // The tail begins as late as it can.
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
    tail as f64 * again.powf((bound - begin) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_scenarios::Script;

    /// Counts of a million operations that lose each try with probability `again`, the first `free` never.
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
        found.add(0.25, 8.0, 0, (&[vec![]], &[vec![1000, 500, 250, 125, 62]]));
        let rare = found.per_second();
        assert!(rare < 1e-20, "{rare}");
        found.add(0.25, 2.0, 3, (&[vec![]], &[vec![0; 129]]));
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
                found.add(0.5, 8.0, 0, (&[vec![]], &[geometric(again, 0)]));
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
        // A mean of five is nearer than its runs, but not by much.
        assert!(greatest / least > 1.5, "{least} to {greatest}");
        assert!(slow < least && greatest < 1.5 * fast, "{least} to {greatest}, {slow}, {fast}");
        let mut fell = differ;
        fell.add(0.5, 2.0, 1, (&[vec![]], &[vec![0; 129]]));
        let (least, greatest) = fell.interval().expect("one of three seconds");
        assert!((least * 3.0 - 0.025).abs() < 0.001 && (greatest * 3.0 - 5.57).abs() < 0.01);
        let nobody = |run: &mut Fallbacks| run.add(0.5, 8.0, 0, (&[vec![]], &[vec![1_000_000]]));
        let mut never = Fallbacks { bounds: vec![30], ..Fallbacks::default() };
        (0..5).for_each(|_| nobody(&mut never));
        assert_eq!((never.per_second(), never.interval()), (0.0, None));
    }

    /// 96 tasks of `fstat2` on a Cascade Lake.
    fn of_96_tasks(variant: &str, trywait: bool, seconds: Option<f64>) -> Prediction {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let script = Script::shipped("fstat2").expect("it is shipped");
        let mut variant = script.variant(variant).expect("it has it").clone();
        let waits = trywait;
        for object in &mut variant.objects {
            if let ObjectKind::LockRef { trywait, .. } = &mut object.kind {
                *trywait = waits;
            }
        }
        let order = Placement::Order(script.order);
        let effort = Effort { warm_up_ns: 100_000.0, window_ns: 400_000.0, seeds: 2 };
        cell(&machine, &variant, (&order, 0), 96, 320.0, (effort, seconds)).expect("it runs")
    }

    #[test]
    fn with_a_pause_96_tasks_fall_and_the_figure_is_the_mean_over_the_run() {
        let found = of_96_tasks("lockref-pause", false, Some(5.0));
        let long = found.long.expect("it falls");
        assert!(found.locked > 0, "all else is of the part that has fallen");
        assert!(found.fallbacks_per_second > 0.5, "{}", found.fallbacks_per_second);
        assert!(long.from_then < found.throughput && found.throughput < long.until, "{long:?}");
        assert!(2.0 * long.from_then < long.until, "{long:?}");
        assert!(found.range.0 <= long.from_then && long.until <= found.range.1);
        // Two runs are too few for an interval of the rate.
        assert_eq!((found.fallbacks_interval, long.by_rate), (None, None));
        let moment = of_96_tasks("lockref-pause", false, None);
        assert_eq!((moment.long, moment.throughput), (None, long.until));
    }

    #[test]
    fn who_retries_at_once_or_waits_for_the_lock_does_not_fall() {
        for (variant, trywait) in [("lockref", false), ("lockref-pause", true)] {
            let found = of_96_tasks(variant, trywait, Some(5.0));
            assert_eq!(found.long, None, "{variant}, {trywait}");
        }
    }

    #[test]
    fn a_run_is_what_it_is_until_the_first_fallback_and_then_the_other() {
        let long = |rate| LongRun::new(5.0, rate, 8.0, 2.0);
        assert_eq!(long(0.0).mean(), 8.0);
        assert!((long(1e-6).mean() - 8.0).abs() < 1e-4);
        assert!((long(1e6).mean() - 2.0).abs() < 1e-4);
        // The more often, the slower.
        let between = long(0.2).with_interval(Some((1e-6, 1e6))).by_rate.expect("it has one");
        assert!((between.0 - 2.0).abs() < 1e-4 && (between.1 - 8.0).abs() < 1e-4, "{between:?}");
        // One is to be expected: 63 % of a run, on the average, is before it.
        assert!((long(0.2).share - 0.632).abs() < 0.001);
    }
}
