//! CPUs of this host: those that the process may use, and their properties.

pub(crate) mod affinity;
mod allowed;
pub(crate) mod distance;
pub mod guard;
pub mod placement;

pub use affinity::pin;
pub use allowed::{Cpus, MOST_THREADS, package};
pub use distance::CpuDistance;
pub use placement::Placement;

/// Returns the default thread counts: the powers of two below this number of CPUs, and the number
/// itself.
pub fn usual_threads(cpus: usize) -> Vec<usize> {
    let mut threads: Vec<usize> =
        (0..usize::BITS).map(|bit| 1 << bit).take_while(|&n| n < cpus).collect();
    threads.push(cpus);
    threads
}
