//! Scenarios on this host: a single run with its threads, the observations of a run, and the rounds
//! of many cells.

pub mod detail;
pub mod handover;
pub mod longest_waits;
pub mod presence;
pub(crate) mod probe;
pub mod rounds;
pub mod run;
pub mod stage;
mod timeline;
pub mod warnings;
pub(crate) mod watch;
