//! Simulations that end when the user interrupts the program.

use lockyard_sim::Simulation;
use lockyard_support::jobs;

/// Returns the simulation, changed so that an interrupt ends it.
pub fn interruptible(mut simulation: Simulation) -> Simulation {
    simulation.cancel_by(jobs::interrupt_flag());
    simulation
}
