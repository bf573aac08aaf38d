//! Published runs that last seconds. Only a millisecond of each is simulated.
//!
//! An operation of a lockref that loses `MAX_FAILURES` compare-exchanges in a row takes the lock.
//! Without trywait, and with some numbers of tasks, all others then find the lock held, queue for
//! it, and stay there (`docs/model/runs-of-seconds.md`). Under contention this may happen a few
//! times per second. A published run of seconds then has such a fallback near its start, but a
//! simulated millisecond has none.
//!
//! The rate of fallbacks is extrapolated from the compare-exchanges lost in a row. Their effect is
//! simulated by a run in which one task begins by holding the lock. The figure is the mean over a
//! run of the length that the script states (`mean_over`). That run begins undisturbed and does not
//! recover.

use super::fallbacks::bounds;
use super::prediction::{LongRun, Prediction, SimulationError};
use super::spec::CellSpec;
use super::{SimulationEffort, windows};

/// If fewer fallbacks than this are expected in a run, they are ignored.
const RARE: f64 = 0.01;
/// Share of the throughput. If fallbacks slow a run by less, it recovers, or is not affected.
const SLOWER: f64 = 0.02;

/// Simulates as [`windows::simulate`] does, and takes the mean over a run of this many seconds. The
/// variant has one lockref and no guests. All details describe the part of the run that is longer
/// on average, except the throughput, its range and the fallbacks.
///
/// # Errors
///
/// Those of [`windows::simulate`].
///
/// # Panics
///
/// Those of [`windows::simulate`].
pub(super) fn simulate(
    cell: &CellSpec,
    effort: SimulationEffort,
    seconds: Option<f64>,
) -> Result<Prediction, SimulationError> {
    let found = windows::simulate(cell, effort, false)?;
    let one = bounds(cell.variant).count() == 1 && cell.variant.guests.is_none();
    // If every run had a fallback, the runs already behave as long ones do.
    let (Some(seconds), Some(until), true) = (seconds, found.without_fallbacks, one) else {
        return Ok(found);
    };
    let (rate, interval) = (found.fallbacks_per_second, found.fallbacks_interval);
    if interval.map_or(rate, |(_, greatest)| greatest) * seconds < RARE {
        return Ok(found);
    }
    // Tasks begin in a random order. A queue keeps its first order, and in a real run of seconds
    // interrupts have shuffled the queue.
    let effort = effort.for_fallen(cell.threads, until);
    let fallen = windows::simulate(cell, effort, true)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::MachinePlacement;
    use lockyard_scenarios::{ObjectKind, Script};
    use lockyard_sim::Machine;

    /// Returns a cell with 96 tasks of `fstat2` on a Cascade Lake.
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
        let order = MachinePlacement::Order(script.order);
        let effort = SimulationEffort {
            warm_up_ns: 100_000.0,
            window_ns: 400_000.0,
            seeds: 2,
            first_seed: 1,
            is_absolute: true,
        };
        let cell = CellSpec {
            machine: &machine,
            variant: &variant,
            placement: &order,
            home: 0,
            threads: 96,
            local_work: 320.0,
        };
        simulate(&cell, effort, seconds).expect("it runs")
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
}
