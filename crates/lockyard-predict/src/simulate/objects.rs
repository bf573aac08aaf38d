//! A cell's simulation and the objects in it.

use super::spec::CellSpec;
use super::stage::OnMachine;
use crate::interruptible;
use lockyard_scenarios::Prepared;
use lockyard_sim::Simulation;
use std::rc::Rc;

/// Maximum time for a thread to finish its operation after the stop, in simulated nanoseconds.
pub(super) const DRAIN_NS: f64 = 1e9;

/// Returns a simulation with room for the contents of the variant's tables.
pub(super) fn simulation(cell: &CellSpec, seed: u64) -> Simulation {
    let tables: usize = cell.variant.tables().map(|table| table.bytes()).sum();
    let bytes = Simulation::MEMORY + tables * cell.variant.guests.unwrap_or(1);
    interruptible(Simulation::with_memory(cell.machine, seed, bytes))
}

/// Lays out the variant's objects in a simulation.
///
/// # Errors
///
/// If they do not fit.
pub(super) fn objects(
    simulation: &mut Simulation,
    cell: &CellSpec,
    seed: u64,
) -> Result<Rc<Prepared<OnMachine>>, &'static str> {
    let home = cell.home.min(cell.machine.sockets() - 1) as u32;
    let line = cell.machine.line_bytes();
    let objects = simulation
        .setup(|| Prepared::new(cell.variant, line, Some(home), cell.local_work))
        .ok_or("the objects do not fit into the arena")?;
    Ok(Rc::new(objects.with_seed(seed)))
}
