//! Machines without a scenario: pictures, caches, and the errors of simulated figures. These are
//! compared with known figures that are not inputs of the machine files.

pub mod hierarchy;
pub mod known_figures;
pub mod picture;
pub mod report;
