//! Studies whose figures the documents show: measurements beside other people's code that users of
//! the command need not build. `cargo evidence STUDY` runs one.
//!
//! This is a workspace of its own, above the command. Nothing in the product uses it.
//!
//! - [`measure_tables`]: lockyard's tables, counters and reclamation beside alternatives.
//! - [`tables`]: those alternatives, as rows.

pub mod measure_tables;
pub mod tables;
