//! How the primitives are checked: under weak memory, on three back-ends, and with one step made
//! wrong.
//!
//! - [`program`]: small concurrent clients of each primitive, written once over the platform.
//! - [`backends`]: what runs them: a model checker, the simulated machine, threads of the host.
//! - [`explore`]: one model, its bounds, and how many executions it took.
//! - [`hooks`]: wrong steps and weakened orderings, injected through the platform.
//! - [`ration`]: memory that is counted, and that ends when a test says so.
//! - [`primitives`]: the table of what is checked.
//! - [`matrix`]: operation against operation, generated.
//! - [`mutation`]: every ordering weakened, one at a time; a check must notice.
//! - [`quarantine`]: a host whose freed memory is watched.
//! - [`sources`]: what the source files contain.
//! - [`controls`]: primitives that are wrong on purpose; a harness that does not catch them is
//!   worth nothing.
//!
//! The checks themselves are this crate's tests.

pub mod backends;
pub mod controls;
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
