//! CPUs of this host: those that the process may use, and their properties.

pub(crate) mod affinity;
mod allowed;
pub(crate) mod distance;
pub mod guard;
pub(crate) mod placement;

pub use affinity::pin;
pub use allowed::{Cpus, MOST_THREADS, package};
pub use distance::CpuDistance;
pub use placement::Placement;
