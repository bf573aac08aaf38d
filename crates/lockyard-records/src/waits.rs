//! Times of waits: a sample where waits are frequent, and all of them otherwise.
//!
//! When a wait ends, all other waiters of the lock stand behind the thread that got it. So all of
//! them pay for a clock read at that moment. Therefore a lock has a [`Pace`]: its first waits are
//! timed, and later waits with a probability that keeps clock reads within a share of the time. The
//! probability is one in a power of two.
//!
//! A wait is chosen by a random number and the pace alone, never by its length. A timed one stands
//! for `2^exponent` of them, so the sum of the times that count this often is right on average,
//! however the pace changes (Horvitz and Thompson, Journal of the American Statistical Association
//! 47, 1952).

use crate::histogram::{BUCKETS, bucket};

/// Waits of a thread at one call site of a lock.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Number of timed waits.
    pub timed: u64,
    /// Estimated total of all waits in ticks: each timed wait counts for all waits that it stands
    /// for.
    pub ticks: u64,
    /// Longest timed wait.
    pub max: u64,
    /// Variance of `ticks` that comes from the choice of the timed waits.
    pub variance: f64,
    /// Not used.
    pub reserved: [u64; 4],
    /// Estimated number of waits in each bucket, from the timed waits.
    pub histogram: [u32; BUCKETS],
}

impl Waits {
    /// No waits.
    pub const NONE: Waits = Waits {
        timed: 0,
        ticks: 0,
        max: 0,
        variance: 0.0,
        reserved: [0; 4],
        histogram: [0; BUCKETS],
    };

    /// Adds a timed wait that stands for `2^exponent` waits.
    #[inline]
    pub fn add(&mut self, wait: u64, exponent: u32) {
        let stands_for = 1u64 << exponent.min(MOST_EXPONENT);
        self.timed += 1;
        self.ticks = self.ticks.wrapping_add(wait.wrapping_mul(stands_for));
        self.max = self.max.max(wait);
        // Each wait is chosen by itself, with a probability of one in `stands_for`. This term is
        // added by that share of them, so its mean is the variance.
        let weight = stands_for as f64;
        self.variance += wait as f64 * wait as f64 * weight * (weight - 1.0);
        let place = &mut self.histogram[bucket(wait)];
        *place = place.saturating_add(stands_for as u32);
    }
}

/// Pace at which waits of a lock are timed. The threads that wait for it share it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// A wait is timed with a probability of one in `2^exponent`.
    pub exponent: u32,
    /// Number of timed waits since the pace was last looked at.
    pub recent: u32,
    /// Number of timed waits before that.
    pub before: u64,
    /// Time in ticks at which the pace was last looked at.
    pub since: u64,
}

/// Number of waits of a lock that are timed in any case: all of them where few wait.
pub const FIRST_WAITS: u64 = 1024;

/// Number of timed waits after which the pace is looked at, if not before.
pub const WAITS_OF_PACE: u64 = 64;

/// Ticks by which a timed wait is assumed to keep the lock from others: 50 to 250 ns on processors
/// of 5 to 1 GHz.
pub const WAIT_TICKS: u64 = 256;

/// Share of the time that timed waits of a lock may keep it from others: one part in this
/// number.
pub const WAIT_SHARE: u64 = 100;

/// Maximum of [`Pace::exponent`]: one wait in a million is timed.
pub const MOST_EXPONENT: u32 = 20;

/// Maximum by which a look makes the exponent larger: a single rush must not hide what comes next.
const MOST_MORE: u32 = 6;

/// Returns true if a wait is timed, given a random number and the pace of its lock.
#[inline(always)]
pub const fn is_chosen(random: u64, exponent: u32) -> bool {
    exponent == 0 || random >> (u64::BITS - exponent) == 0
}

/// Looks at a pace. Returns the exponent that follows, when `recent` timed waits took `passed`
/// ticks; or `None` if it is too early to say. It is the least one that keeps within the budget at
/// this rate.
pub const fn look(exponent: u32, recent: u32, passed: u64) -> Option<u32> {
    const BUDGET: u64 = WAITS_OF_PACE * WAIT_TICKS * WAIT_SHARE;
    if passed < BUDGET && (recent as u64) < WAITS_OF_PACE {
        return None;
    }
    // Few in a long time are enough to see that waits are rare.
    if passed >= BUDGET {
        let less = (passed / BUDGET).ilog2();
        let is_kept = less == 0 && (recent as u64) < WAITS_OF_PACE;
        return if is_kept { None } else { Some(exponent.saturating_sub(less)) };
    }
    let passed = if passed == 0 { 1 } else { passed };
    let more = BUDGET.div_ceil(passed).next_power_of_two().trailing_zeros();
    let next = exponent + if more > MOST_MORE { MOST_MORE } else { more };
    Some(if next > MOST_EXPONENT { MOST_EXPONENT } else { next })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    /// Random numbers (Marsaglia's xorshift).
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }
    }

    /// Returns the number of timed waits of a lock that has one every `gap` ticks. It does what the
    /// preload library does.
    fn timed(waits: u64, gap: u64, pace: &mut Pace, now: &mut u64, random: &mut Random) -> u64 {
        let mut timed = 0;
        for _ in 0..waits {
            *now += gap;
            if !is_chosen(random.next(), pace.exponent) {
                continue;
            }
            timed += 1;
            pace.recent += 1;
            let exponent = look(pace.exponent, pace.recent, *now - pace.since);
            if let Some(exponent) = exponent {
                pace.before += u64::from(std::mem::take(&mut pace.recent));
                pace.since = *now;
                pace.exponent = if pace.before < FIRST_WAITS { 0 } else { exponent };
            }
        }
        timed
    }

    #[test]
    fn readings_of_the_clock_keep_within_the_budget_at_each_rate() {
        for gap in [40, 100, 1000, 12_000, 25_000, 30_000, 10_000_000] {
            let (mut pace, mut now, mut random) = (Pace::default(), 0, Random(gap | 1));
            // The first ones, and the steps by which the pace is found.
            timed(4_000_000, gap, &mut pace, &mut now, &mut random);
            let waits = 4_000_000;
            let timed = timed(waits, gap, &mut pace, &mut now, &mut random);
            let passed = waits * gap;
            let budget = passed / (WAIT_TICKS * WAIT_SHARE);
            // A gap of 25,600 ticks is the budget.
            let most = budget + budget / 10;
            assert!(timed <= most.min(waits).max(1), "{gap}: {timed} of {budget}");
            // The budget is used: a half of it at least.
            assert!(timed >= (budget / 3).min(waits), "{gap}: {timed} of {budget}");
        }
    }

    #[test]
    fn few_waits_are_all_timed_and_those_of_a_slow_lock_again() {
        let (mut pace, mut now, mut random) = (Pace::default(), 1 << 40, Random(5));
        let mut of = |waits, gap| timed(waits, gap, &mut pace, &mut now, &mut random);
        assert_eq!(of(FIRST_WAITS - 1, 50), FIRST_WAITS - 1);
        // Then the pace is found within some steps.
        let fast = of(1_000_000, 50);
        assert!((1000..2500).contains(&fast), "{fast}");
        // When waits are rare, the next timed one notices.
        assert!(of(10_000, 1_000_000) > 8_000);
        assert_eq!(of(1000, 1_000_000), 1000);
    }

    #[test]
    fn the_total_is_right_on_average_and_its_error_is_known() {
        // Waits of 100 to 1,123 ticks, and one in 512 of 100,000.
        let wait = |random: u64| match random % 512 {
            0 => 100_000,
            _ => 100 + (random >> 32) % 1024,
        };
        let (mut errors, mut squares, mut expected) = (0.0, 0.0, 0.0);
        let mut random = Random(7);
        const RUNS: u64 = 200;
        for run in 0..RUNS {
            let (mut waits, mut total) = (Waits::NONE, 0);
            for number in 0..20_000 {
                let wait = wait(random.next());
                total += wait;
                // The pace changes while it goes on.
                let exponent = [0, 3, 5, 4][(number / 5000) as usize];
                if is_chosen(random.next(), exponent) {
                    waits.add(wait, exponent);
                }
            }
            let error = (waits.ticks as f64 - total as f64) / total as f64;
            errors += error;
            squares += error * error;
            expected += waits.variance / (total as f64 * total as f64);
            assert!(waits.timed > 5000 && waits.timed < 8000, "{run}: {}", waits.timed);
            let all: u64 = waits.histogram.iter().map(|&count| u64::from(count)).sum();
            assert!((18_000..22_000).contains(&all), "{run}: {all}");
        }
        let runs = RUNS as f64;
        let (mean, found, expected) = (errors / runs, squares / runs, expected / runs);
        // A standard error of the mean is a fourteenth of that of a run.
        assert!(mean * mean < 9.0 * expected / runs, "{mean} {expected}");
        assert!((0.7..1.4).contains(&(found / expected)), "{found} {expected}");
    }

    #[test]
    fn waits_that_are_all_timed_leave_no_error() {
        let mut waits = Waits::NONE;
        [10, 3000, 20].into_iter().for_each(|wait| waits.add(wait, 0));
        let found = (waits.timed, waits.ticks, waits.max, waits.variance);
        assert_eq!(found, (3, 3030, 3000, 0.0));
        assert_eq!(waits.histogram.iter().sum::<u32>(), 3);
    }
}
