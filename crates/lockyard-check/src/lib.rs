//! Checks of the primitives: under weak memory, on three back-ends, and with one step made wrong.
//!
//! - [`program`]: small concurrent clients of each primitive, written once over the platform.
//! - [`backends`]: runs them in a model checker, on the simulated machine, in threads of the host.
//! - [`explore`]: one model, its bounds, and its number of executions.
//! - [`depth`]: everyday checks, and deeper ones before a release.
//! - [`hooks`]: wrong steps and weakened orderings, injected through the platform.
//! - [`ration`]: memory that is counted, and allocations that fail on demand.
//! - [`primitives`]: the table of primitives that are checked.
//! - [`matrix`]: every operation against every other, generated.
//! - [`mutation`]: every ordering weakened, one at a time; a check must notice.
//! - [`quarantine`]: a host whose freed memory is watched.
//! - [`sources`]: reads the source files.
//! - [`controls`]: primitives that are wrong on purpose; every harness must catch them.
//!
//! The checks themselves are the tests of this crate.

pub mod backends;
pub mod controls;
pub mod depth;
pub mod explore;
mod few_slots;
pub mod finding;
pub mod hooks;
pub mod matrix;
pub mod mutation;
pub mod primitives;
pub mod program;
pub mod quarantine;
pub mod ration;
pub mod sources;

pub use few_slots::FewSlots;
