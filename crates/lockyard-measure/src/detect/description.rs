//! All that is known of a host, together.

use super::caches::Cache;
use super::clock::Clock;
use super::kernel::Kernel;
use super::limits::Limits;
use super::load::Load;
use super::processor::Processor;
use super::topology::Topology;
use super::virtualisation::Virtualisation;
use serde::Serialize;

/// All that is known of a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// The processor.
    pub processor: Processor,
    /// The CPUs.
    pub topology: Topology,
    /// Their caches.
    pub caches: Vec<Cache>,
    /// Whether the kernel runs several threads on a core; as it says itself.
    pub smt: Option<bool>,
    /// Their clock.
    pub clock: Clock,
    /// What is between the process and the hardware.
    pub virtualisation: Virtualisation,
    /// What control groups leave to the process.
    pub limits: Limits,
    /// What else runs.
    pub load: Load,
    /// The kernel.
    pub kernel: Kernel,
    /// Files that were there, but could not be understood.
    pub not_understood: Vec<String>,
}
