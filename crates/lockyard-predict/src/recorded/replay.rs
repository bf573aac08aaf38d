//! Simulation of a recorded program's variant.

use crate::placement::MachinePlacement;
use crate::simulate::{CellSpec, Prediction, RunPlan, SimulationEffort, SimulationError, simulate};
use lockyard_scenarios::{Order, Variant};
use lockyard_sim::Machine;

/// Returns a variant for this many threads of a machine: under its scheduler, if there are more
/// than it has hardware threads.
pub fn on(machine: &Machine, variant: Variant, threads: usize) -> Variant {
    let guests = if threads > machine.hardware_threads() { Some(1) } else { variant.guests };
    Variant { guests, ..variant }
}

/// Returns the simulated operations a second.
pub(super) fn throughput(
    machine: &Machine,
    variant: &Variant,
    threads: usize,
) -> Result<f64, SimulationError> {
    Ok(replay(machine, variant, threads)?.throughput)
}

/// Simulates a variant.
pub(super) fn replay(
    machine: &Machine,
    variant: &Variant,
    threads: usize,
) -> Result<Prediction, SimulationError> {
    let placement = MachinePlacement::Order(Order::default());
    let cell =
        CellSpec { machine, variant, placement: &placement, home: 0, threads, local_work: 0.0 };
    let effort = SimulationEffort::usual(machine, &placement, threads);
    simulate(&cell, &RunPlan::of_windows(effort))
}
