//! Machines, apart from any scenario: their pictures, their caches, and the errors of simulated
//! figures against known ones that are not inputs of their files.

pub mod hierarchy;
pub mod known_figures;
pub mod picture;
pub mod report;
