//! Runs that last seconds, of which a millisecond is simulated.
//!
//! An operation of a lockref that loses [`MAX_FAILURES`] compare-exchanges in a row takes the lock. Without trywait, and with some tasks, all
//! others then find the lock held, queue for it, and stay there (`docs/degradation.md`). Under contention that may happen a few times a
//! second, so a published run of seconds has it in its beginning, and a simulated millisecond does not. How often it happens is extrapolated
//! from how many compare-exchanges operations lose in a row; what it makes of the run is simulated: by a run in which one task begins by
//! holding the lock. The figure is the mean over a run of the length that the script says (`mean_over`), which begins without, and does not come back.

use super::{Effort, Prediction, SimulationError, runs};
use crate::placement::Placement;
use lockyard::lockref::policy::MAX_FAILURES;
use lockyard_scenarios::Variant;
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
}

impl LongRun {
    /// Of a run of so many seconds with so many fallbacks a second: a first one comes at an exponentially distributed time.
    fn new(seconds: f64, fallbacks_per_second: f64, until: f64, from_then: f64) -> LongRun {
        let expected = seconds * fallbacks_per_second;
        let share = if expected > 0.0 { -(-expected).exp_m1() / expected } else { 1.0 };
        LongRun { seconds, fallbacks_per_second, until, from_then, share }
    }

    /// Operations a second, the mean over the run.
    fn mean(&self) -> f64 {
        self.share * self.until + (1.0 - self.share) * self.from_then
    }
}

/// As [`super::cell`], but the mean over so many seconds, if that is given.
pub(super) fn cell(
    machine: &Machine,
    variant: &Variant,
    placement: (&Placement, usize),
    threads: usize,
    local_work: f64,
    (effort, seconds): (Effort, Option<f64>),
) -> Result<Prediction, SimulationError> {
    let found = super::cell(machine, variant, placement, threads, local_work, effort)?;
    let Some(seconds) = seconds else { return Ok(found) };
    // A run that had some is as long runs are.
    if found.locked > 0 || found.fallbacks_per_second * seconds < RARE {
        return Ok(found);
    }
    // So long that every task comes by. In which order, is drawn: a queue keeps the order in which it began, and that of a run of
    // seconds has been shuffled by interrupts.
    let held = threads as f64 / found.throughput * 1e9;
    let effort = Effort { warm_up_ns: effort.warm_up_ns + 2.0 * held, ..effort };
    let of = (effort, Some(held));
    let fallen = runs(machine, variant, placement, threads, local_work, of)?;
    if fallen.throughput > found.throughput * (1.0 - SLOWER) {
        return Ok(found);
    }
    let rate = found.fallbacks_per_second;
    let long = LongRun::new(seconds, rate, found.throughput, fallen.throughput);
    let range = (fallen.range.0.min(found.range.0), fallen.range.1.max(found.range.1));
    // All else is of what the run is for the most part.
    let most = if long.share < 0.5 { fallen } else { found };
    Ok(Prediction {
        throughput: long.mean(),
        range,
        fallbacks_per_second: rate,
        long: Some(long),
        ..most
    })
}

/// How many compare-exchanges of each lockref succeeded after how many losses in a row.
#[derive(Debug, Default)]
pub(super) struct Lost(Vec<Vec<u64>>);

impl Lost {
    /// Adds what a window had: the counts of each lockref before and after it.
    pub(super) fn add(&mut self, before: &[Vec<u64>], after: &[Vec<u64>]) {
        self.0.resize(after.len(), Vec::new());
        for ((sum, before), after) in self.0.iter_mut().zip(before).zip(after) {
            sum.resize(after.len(), 0);
            for (index, (sum, after)) in sum.iter_mut().zip(after).enumerate() {
                *sum += after - before.get(index).copied().unwrap_or(0);
            }
        }
    }

    /// How many of the operations are to be expected to lose [`MAX_FAILURES`] in a row.
    pub(super) fn fallbacks(&self) -> f64 {
        self.0.iter().map(|counts| expected(counts, MAX_FAILURES as usize)).sum()
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
        return counts[bound..].iter().sum::<u64>() as f64;
    }
    let beyond = counts[begin..].iter().zip(0u64..).map(|(count, more)| count * more);
    let mean = beyond.sum::<u64>() as f64 / tail as f64;
    let again = mean / (1.0 + mean);
    tail as f64 * again.powf((bound - begin) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_run_is_what_it_is_until_the_first_fallback_and_then_the_other() {
        let long = |rate| LongRun::new(5.0, rate, 8.0, 2.0);
        assert_eq!(long(0.0).mean(), 8.0);
        assert!((long(1e-6).mean() - 8.0).abs() < 1e-4);
        assert!((long(1e6).mean() - 2.0).abs() < 1e-4);
        // One is to be expected: 63 % of a run, on the average, is before it.
        assert!((long(0.2).share - 0.632).abs() < 0.001);
    }
}
