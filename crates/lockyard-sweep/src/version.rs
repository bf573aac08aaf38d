//! Version of the program that computes rows. `build.rs` determines it.

/// Version with the commit that the program was built from, if that is known. If the sources
/// differ from that commit, the version says `dirty`, and has a hash of the difference. A row is
/// reused only by the same version.
pub const VERSION: &str = env!("LOCKYARD_SWEEP_VERSION");
