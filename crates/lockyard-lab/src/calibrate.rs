//! The local work of an operation, from the one published cell that may give it.
//!
//! With one thread the time of an operation is linear in the local work, so the work is the published
//! time less the simulated time without work. With more threads it is the smallest work with which
//! the simulated figure meets the cell; where none does, the one that comes nearest, and the row says
//! so. No other cell is looked at.

use crate::simulate::{self, Effort, SimulationError};
use lockyard_scenarios::{Order, Variant};
use lockyard_sim::Machine;

/// A calibration is met if the simulated figure is this near to the published one.
const TOLERANCE: f64 = 0.01;

/// Local work, and how well it meets its cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalWork {
    /// Nanoseconds an operation.
    pub nanoseconds: f64,
    /// Simulated over published throughput of the cell, less 1.
    pub miss: f64,
}

impl LocalWork {
    /// Whether the simulated figure meets the cell.
    pub fn is_met(&self) -> bool {
        self.miss.abs() <= TOLERANCE
    }
}

/// Finds the local work with which `variant`, on `threads` threads, does `throughput` operations a
/// second.
///
/// # Errors
///
/// If a run fails.
pub fn solve(
    machine: &Machine,
    variant: &Variant,
    order: Order,
    threads: usize,
    throughput: f64,
) -> Result<LocalWork, SimulationError> {
    let miss_at = |work: f64| -> Result<f64, SimulationError> {
        let cell = simulate::cell(machine, variant, order, threads, work, Effort::SEARCH)?;
        Ok(cell.throughput / throughput - 1.0)
    };
    if threads == 1 {
        let published_ns = 1e9 / throughput;
        let without_ns = published_ns / (miss_at(0.0)? + 1.0);
        let work = (published_ns - without_ns).max(0.0);
        return Ok(LocalWork { nanoseconds: work, miss: miss_at(work)? });
    }
    // The time of an operation on one of the threads bounds the work.
    let longest = threads as f64 * 1e9 / throughput;
    const STEPS: usize = 24;
    let mut best = LocalWork { nanoseconds: 0.0, miss: miss_at(0.0)? };
    let mut before = best;
    for step in 1..=STEPS {
        let work = longest * (step as f64 / STEPS as f64).powi(2);
        let here = LocalWork { nanoseconds: work, miss: miss_at(work)? };
        if before.miss.signum() != here.miss.signum() {
            let crossing = bisect(before, here, &miss_at)?;
            if crossing.is_met() {
                return Ok(crossing);
            }
        }
        if here.miss.abs() < best.miss.abs() {
            best = here;
        }
        if best.is_met() {
            return Ok(best);
        }
        before = here;
    }
    Ok(best)
}

/// The work between `a` and `b`, whose misses have different signs, that meets the cell best.
fn bisect(
    mut a: LocalWork,
    mut b: LocalWork,
    miss_at: &impl Fn(f64) -> Result<f64, SimulationError>,
) -> Result<LocalWork, SimulationError> {
    for _ in 0..16 {
        let work = (a.nanoseconds + b.nanoseconds) / 2.0;
        let middle = LocalWork { nanoseconds: work, miss: miss_at(work)? };
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
