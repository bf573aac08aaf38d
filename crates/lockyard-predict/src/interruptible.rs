//! Simulations that the user's interrupt ends.

use lockyard_sim::Simulation;
use lockyard_support::jobs;

/// Returns the simulation, which an interrupt now ends.
pub fn interruptible(mut simulation: Simulation) -> Simulation {
    simulation.cancel_by(jobs::interrupt_flag());
    simulation
}
