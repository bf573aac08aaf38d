//! Checks of the primitives: under weak memory, on three back-ends, and with one step made wrong.
//!
//! - [`program`]: small concurrent clients of each primitive, each written once for all platforms.
//! - [`backends`]: run the programs in a model checker, on the simulated machine, and in threads of
//!   the host.
//! - [`explore`]: one model, its bounds, and its number of executions.
//! - [`dpor`]: a second model checker, which explores execution graphs.
//! - [`depth`]: everyday checks, and deeper ones before a release.
//! - [`hooks`]: wrong steps and weakened orderings, injected through the platform.
//! - [`ration`]: memory that is counted, with allocations that fail on demand.
//! - [`primitives`]: the table of the checked primitives.
//! - [`matrix`]: every operation against every other operation, generated.
//! - [`mutation`]: every ordering weakened, one at a time; a check must notice each.
//! - [`own`]: all of this for a lock of a user's crate.
//! - [`quarantine`]: a host that detects accesses to freed memory.
//! - [`soak`]: random programs over every primitive, for as long as asked.
//! - [`sources`]: reads the source files.
//! - [`controls`]: primitives that are wrong on purpose; every harness must catch them.
//!
//! The checks of the library's primitives are the tests of this crate.

pub mod backends;
pub mod controls;
pub mod depth;
pub mod dpor;
pub mod explore;
mod few_slots;
pub mod finding;
pub mod hooks;
pub mod matrix;
pub mod mutation;
pub mod own;
pub mod primitives;
pub mod program;
pub mod quarantine;
pub mod ration;
pub mod soak;
pub mod sources;
#[cfg(all(
    feature = "stacks",
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod stacks;

pub use few_slots::FewSlots;
