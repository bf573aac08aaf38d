//! Versions of the format of rows, and of the program that computes them. `build.rs` determines the
//! latter.

/// Version with the commit that the program was built from, if that is known. If the sources
/// differ from that commit, the version says `dirty`, and has a hash of the difference. A row is
/// reused only by the same version.
pub const VERSION: &str = env!("LOCKYARD_SWEEP_VERSION");

/// Version of the format of plans, rows and merged files. It changes when a field is removed or
/// changes its meaning, or when the id of a cell is computed in another way.
pub const SCHEMA: &str = "lockyard-sweep-1";
