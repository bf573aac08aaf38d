//! Training: the tables on which the simulated machine's protocol was fitted, and what it makes of them.
//!
//! | file | what |
//! | --- | --- |
//! | `programs.rs` | what the benchmarks of the tables do to shared lines |
//! | `tables.rs` | the cells, with their headers' corrections |
//! | `report.rs` | each cell beside its simulation |
//!
//! No cell here is reported as a prediction, and no cell of a table that is reported as a prediction is here.

mod programs;
mod report;
mod tables;

pub use programs::Program;
pub use report::{Report, count, report};
pub use tables::{Cell, Left, cells};

use crate::simulate::SimulationError;
use lockyard_sim::{Machine, Outcome, Simulation};
use programs::Shared;

/// Simulated nanoseconds before counting begins, and that are counted at least.
const WARM_UP_NS: f64 = 100_000.0;
const WINDOW_NS: f64 = 300_000.0;
/// From the beginning of one thread to that of the next, in simulated nanoseconds.
const BETWEEN_BEGINNINGS_NS: f64 = 100.0;
/// The window is doubled until each thread has done so many operations on average.
const ENOUGH: u64 = 12;

/// The hardware thread of `machine` on which thread `index` runs: siblings are neighbours.
fn place(machine: &Machine, index: usize) -> usize {
    let siblings = machine.threads_per_core();
    index % siblings * machine.cores() + index / siblings
}

/// The threads in the order in which they begin: a random one. A queue of threads that all come back keeps its first order for ever in a
/// machine without interrupts; in the benchmark each tick of a CPU moves its thread to another place of the queue, a dozen times and more
/// in a run. In the order of their numbers, siblings would always be neighbours, and every other hand-over within a core.
fn mixed(threads: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..threads).collect();
    // SplitMix64.
    let mut state = seed;
    for last in (1..threads).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        order.swap(last, ((z ^ (z >> 31)) % (last as u64 + 1)) as usize);
    }
    order
}

/// The simulated figure of a cell on `machine`: nanoseconds for one operation, all threads together.
///
/// # Errors
///
/// If the run is stuck.
pub fn simulate(machine: &Machine, cell: &Cell, seed: u64) -> Result<f64, SimulationError> {
    simulate_for(machine, cell, seed, (WARM_UP_NS, WINDOW_NS))
}

/// The same, with other times than usual: simulated nanoseconds before counting begins, and that are counted at least.
///
/// # Errors
///
/// If the run is stuck.
pub fn simulate_for(
    machine: &Machine,
    cell: &Cell,
    seed: u64,
    (warm_up, at_least): (f64, f64),
) -> Result<f64, SimulationError> {
    let without_pause = (!cell.pauses).then(|| machine.clone().with("cycles.pause", 1.0)).flatten();
    let machine = without_pause.as_ref().unwrap_or(machine);
    let mut simulation = Simulation::new(machine, seed);
    let shared = Shared::new(&mut simulation, cell.program);
    let [inside, between, own] = cell.work;
    for (turn, index) in mixed(cell.threads, seed).into_iter().enumerate() {
        let shared = shared.clone();
        let begin = machine.cycles(turn as f64 * BETWEEN_BEGINNINGS_NS);
        simulation.spawn_at(place(machine, index), begin, move || {
            while !lockyard_sim::stop_requested() {
                shared.perform(|| lockyard_sim::work(inside));
                lockyard_sim::work(between + own);
                lockyard_sim::operation_done();
            }
        });
    }
    let run = |simulation: &mut Simulation, ns: f64| {
        let outcome = simulation.run_until(machine.cycles(ns));
        if matches!(outcome, Outcome::TimeOver) {
            return Ok(simulation.operations().iter().sum::<u64>());
        }
        Err(SimulationError::new(format!("{}, {} threads: {outcome}", cell.variant, cell.threads)))
    };
    let before = run(&mut simulation, warm_up)?;
    let mut window = at_least;
    loop {
        let operations = run(&mut simulation, warm_up + window)? - before;
        if operations >= ENOUGH * (cell.threads as u64).max(16) {
            simulation.request_stop();
            let outcome = simulation.run_until(u64::MAX);
            if matches!(outcome, Outcome::Finished) {
                return Ok(window / operations as f64);
            }
            return Err(SimulationError::new(format!("{}: {outcome}", cell.variant)));
        }
        window *= 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::mixed;

    #[test]
    fn every_thread_begins_once_and_siblings_are_not_neighbours_as_a_rule() {
        for seed in 1..=20 {
            let order = mixed(48, seed);
            assert_eq!(order, mixed(48, seed));
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..48).collect::<Vec<_>>());
            // Threads 2k and 2k + 1 are siblings; by chance one in 47 neighbours is one.
            let together = order.windows(2).filter(|pair| pair[0] / 2 == pair[1] / 2).count();
            assert!(together <= 6, "{order:?}");
        }
        assert_ne!(mixed(48, 1), mixed(48, 2));
    }
}
