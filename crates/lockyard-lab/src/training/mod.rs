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
/// The window is doubled until each thread has done so many operations on average.
const ENOUGH: u64 = 12;

/// The hardware thread of `machine` on which thread `index` runs: siblings are neighbours.
fn place(machine: &Machine, index: usize) -> usize {
    let siblings = machine.threads_per_core();
    index % siblings * machine.cores() + index / siblings
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
    for index in 0..cell.threads {
        let shared = shared.clone();
        simulation.spawn(place(machine, index), move || {
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
