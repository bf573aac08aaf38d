//! Machines, apart from any scenario: their pictures, their caches, and how far simulated figures
//! are from known ones that are no inputs of their files.

pub mod hierarchy;
pub mod known_figures;
pub mod picture;
pub mod report;
