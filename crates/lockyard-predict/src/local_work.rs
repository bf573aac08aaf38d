//! The local work of an operation, from the published cell that calibrates it.
//!
//! With one thread, the time of an operation grows with the local work, cycle by cycle. The
//! exception is work that hides behind an earlier operation. So the missing time is added to the
//! work until none is missing.
//!
//! With more threads, the figure may hardly depend on the work, because the line is busy all the
//! time. Then several amounts of work may match the cell. The result is the smallest amount with a
//! local minimum of the error that is small enough to be plausible. The result also gives the range
//! of amounts that match about equally well. No other cell is used.
//!
//! [`solve_cpu_time`] is for operations whose number in the published unit is unknown. It derives
//! their work from CPU time, which includes waits for locks.

use crate::simulate::{CellSpec, Prediction, RunPlan, SimulationEffort, SimulationError, simulate};
use lockyard_scenarios::Region;
use std::cell::RefCell;

/// A calibration is met if the simulated figure differs from the published one by at most this
/// share.
const TOLERANCE: f64 = 0.01;

/// An amount of work is as good as the chosen one if its miss is within this share.
const AS_GOOD: f64 = 0.05;

/// Largest miss at which a local minimum is plausible.
const MEANT: f64 = 0.1;

/// An amount of work that was tried, and its miss.
#[derive(Clone, Copy, Debug)]
struct Tried {
    /// Local work, or the exponent of it.
    at: f64,
    /// Miss of the cell.
    miss: f64,
}

/// Local work, and how well it matches its cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalWork {
    /// Nanoseconds per operation.
    pub nanoseconds: f64,
    /// Simulated throughput divided by the cell's published one, minus 1.
    pub miss: f64,
    /// Least and greatest work among those tried that match the cell within 5 %. Amounts between
    /// them may not.
    pub as_good: (f64, f64),
}

impl LocalWork {
    /// Returns `true` if the simulated figure matches the cell.
    pub fn is_met(&self) -> bool {
        self.miss.abs() <= TOLERANCE
    }

    /// Returns `true` if the cell determines the work: no very different amount that was tried
    /// matches it about as well.
    pub fn is_determined(&self) -> bool {
        let (least, greatest) = self.as_good;
        greatest <= least.max(1.0) * 1.5
    }
}

/// Simulates a cell with this local work instead of its own.
fn at(cell: &CellSpec, local_work: f64) -> Result<Prediction, SimulationError> {
    simulate(&CellSpec { local_work, ..*cell }, &RunPlan::of_windows(SimulationEffort::SEARCH))
}

/// Returns the local work with which a cell does `throughput` operations per second. Ignores the
/// local work in `cell`.
///
/// # Errors
///
/// If a run fails.
pub fn solve(cell: &CellSpec, throughput: f64) -> Result<LocalWork, SimulationError> {
    let miss_at = |work: f64| -> Result<f64, SimulationError> {
        Ok(at(cell, work)?.throughput / throughput - 1.0)
    };
    let threads = cell.threads;
    if threads == 1 {
        let published_ns = 1e9 / throughput;
        let (mut work, mut miss) = (0.0, miss_at(0.0)?);
        // One round is for the work that does not hide. A few more are for added work that hides.
        for _ in 0..6 {
            let lacking = published_ns - published_ns / (miss + 1.0);
            if miss <= TOLERANCE / 20.0 {
                break;
            }
            work += lacking;
            miss = miss_at(work)?;
        }
        return Ok(LocalWork { nanoseconds: work, miss, as_good: (work, work) });
    }
    // The work is at most the time of an operation on one of the threads.
    let longest = threads as f64 * 1e9 / throughput;
    const STEPS: usize = 32;
    let mut tried: Vec<Tried> = Vec::new();
    for step in 0..=STEPS {
        let work = longest * (step as f64 / STEPS as f64).powi(2);
        tried.push(Tried { at: work, miss: miss_at(work)? });
    }
    let chosen = first_meant(&tried);
    // If the miss changes its sign next to the chosen work, some work between them matches the cell
    // exactly.
    let mut best = tried[chosen];
    for (a, b) in [(chosen.wrapping_sub(1), chosen), (chosen, chosen + 1)] {
        if let (Some(&a), Some(&b)) = (tried.get(a), tried.get(b))
            && a.miss.signum() != b.miss.signum()
        {
            let crossing = bisect(a, b, &miss_at)?;
            if crossing.miss.abs() < best.miss.abs() {
                best = crossing;
            }
        }
    }
    Ok(LocalWork { nanoseconds: best.at, miss: best.miss, as_good: as_good(best.at, &tried) })
}

/// Returns the least and the greatest work that match the cell about as well as `best`, among
/// `best` and those in `tried`.
fn as_good(best: f64, tried: &[Tried]) -> (f64, f64) {
    let good = tried.iter().filter(|tried| tried.miss.abs() <= AS_GOOD).map(|tried| tried.at);
    good.fold((best, best), |(least, greatest), work| (least.min(work), greatest.max(work)))
}

/// Range of local work that [`solve_cpu_time`] searches, in nanoseconds.
const WORKS: (f64, f64) = (1e2, 1e6);

/// Finds the local work of an operation from the CPU time of all tasks in a region, in seconds per
/// second (`share`). If the region is the wait for a lock, the work found leads to that waiting
/// time. The number of operations in the published unit does not matter. [`LocalWork::miss`] refers
/// to the CPU time.
///
/// # Errors
///
/// If a run fails.
pub fn solve_cpu_time(
    cell: &CellSpec,
    region: Region,
    share: f64,
) -> Result<LocalWork, SimulationError> {
    // The search uses exponents of ten, because the length of an operation is unknown.
    let tried = RefCell::new(Vec::new());
    let miss_at = |exponent: f64| -> Result<f64, SimulationError> {
        let work = libm::pow(10.0, exponent);
        let miss = at(cell, work)?.cpu.of(region) / share - 1.0;
        tried.borrow_mut().push(Tried { at: work, miss });
        Ok(miss)
    };
    let end = |work: f64| {
        let at = libm::log10(work);
        miss_at(at).map(|miss| Tried { at, miss })
    };
    let (a, b) = (end(WORKS.0)?, end(WORKS.1)?);
    let nearer = if a.miss.abs() < b.miss.abs() { a } else { b };
    let Tried { at: exponent, miss } =
        if a.miss.signum() == b.miss.signum() { nearer } else { bisect(a, b, &miss_at)? };
    let work = libm::pow(10.0, exponent);
    Ok(LocalWork { nanoseconds: work, miss, as_good: as_good(work, &tried.take()) })
}

/// Returns the index of the first plausible local minimum of the miss in `tried`. If there is none,
/// returns the index with the least miss.
fn first_meant(tried: &[Tried]) -> usize {
    let miss = |index: usize| tried.get(index).map_or(f64::INFINITY, |tried| tried.miss.abs());
    let is_least = |&index: &usize| {
        let before = if index == 0 { f64::INFINITY } else { miss(index - 1) };
        miss(index) <= before && miss(index) <= miss(index + 1) && miss(index) <= MEANT
    };
    (0..tried.len())
        .find(is_least)
        .or_else(|| (0..tried.len()).min_by(|&a, &b| miss(a).total_cmp(&miss(b))))
        .unwrap_or(0)
}

/// Returns the value between `a` and `b` that matches the cell best. The misses at `a` and `b` have
/// different signs.
fn bisect(
    mut a: Tried,
    mut b: Tried,
    miss_at: &impl Fn(f64) -> Result<f64, SimulationError>,
) -> Result<Tried, SimulationError> {
    for _ in 0..16 {
        let at = (a.at + b.at) / 2.0;
        let middle = Tried { at, miss: miss_at(at)? };
        if middle.miss.signum() == a.miss.signum() {
            a = middle;
        } else {
            b = middle;
        }
        if middle.miss.abs() < TOLERANCE / 4.0 {
            break;
        }
    }
    Ok(if a.miss.abs() < b.miss.abs() { a } else { b })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::MachinePlacement;
    use lockyard_scenarios::Script;
    use lockyard_sim::Machine;

    fn tried(values: &[(f64, f64)]) -> Vec<Tried> {
        values.iter().map(|&(at, miss)| Tried { at, miss }).collect()
    }

    #[test]
    fn the_first_least_miss_is_chosen_and_a_second_crossing_is_not() {
        // The misses are flat at first, then have a peak, then cross zero.
        let found = tried(&[
            (0.0, 0.05),
            (10.0, 0.03),
            (20.0, 0.04),
            (40.0, 2.0),
            (80.0, 0.2),
            (160.0, -0.2),
        ]);
        assert_eq!(first_meant(&found), 1);
        // No amount before the crossing is plausible. The result is the crossing's nearer side.
        let found = tried(&[(0.0, 0.5), (10.0, 0.4), (20.0, 0.09), (40.0, -0.3)]);
        assert_eq!(first_meant(&found), 2);
        let found = tried(&[(0.0, -0.5), (10.0, -0.4), (20.0, -0.6)]);
        assert_eq!(first_meant(&found), 1, "none is meant: the nearest");
    }

    #[test]
    fn the_work_between_waits_for_a_lock_is_found_from_the_cpu_time() {
        let machine = Machine::shipped("westmere-ex-4s10c").expect("it is shipped");
        let script = Script::shipped("aim7-disk/ext4").expect("it is shipped");
        let ticket = script.variant("ticket").expect("it has it");
        let placement = MachinePlacement::Order(script.order);
        // Uses only a part of the machine's CPUs, so that the test is short.
        let known = 1000.0;
        let cell = CellSpec {
            machine: &machine,
            variant: ticket,
            placement: &placement,
            home: script.home,
            threads: 10,
            local_work: known,
        };
        let run = at(&cell, known).unwrap();
        assert!(run.cpu.system > 1.5 * run.cpu.idle && run.cpu.idle > 0.5, "{:?}", run.cpu);
        let found = solve_cpu_time(&cell, Region::System, run.cpu.system).expect("it runs");
        assert!(found.is_met(), "{found:?}");
        assert!((found.nanoseconds / known - 1.0).abs() < 0.1, "{found:?}");
        // Tasks cannot wait for this share. The least work is nearest, and does not match it.
        let found = solve_cpu_time(&cell, Region::System, 20.0).expect("it runs");
        assert!((found.nanoseconds - WORKS.0).abs() < 1e-6 && !found.is_met(), "{found:?}");
    }

    #[test]
    fn a_one_thread_cell_is_met() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        let script = Script::shipped("fstat2").expect("it is shipped");
        let placement = MachinePlacement::Order(script.order);
        let cell = CellSpec::first_of(&machine, &script, &placement, 1);
        let work = solve(&cell, 3e6).expect("it runs");
        assert!(work.is_met() && work.is_determined(), "{work:?}");
        // Operations cannot be this fast. No work at all is nearest, and does not match.
        let work = solve(&cell, 1e9).expect("it runs");
        assert!(work.nanoseconds == 0.0 && !work.is_met(), "{work:?}");
    }
}
