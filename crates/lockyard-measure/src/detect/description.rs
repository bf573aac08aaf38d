//! Complete description of a host.

use super::caches::Cache;
use super::clock::Clock;
use super::kernel::Kernel;
use super::limits::Limits;
use super::load::HostLoad;
use super::processor::Processor;
use super::topology::Topology;
use super::virtualisation::Virtualisation;
use serde::Serialize;

/// Complete description of a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// The processor.
    pub processor: Processor,
    /// The CPUs.
    pub topology: Topology,
    /// Their caches.
    pub caches: Vec<Cache>,
    /// True if the kernel runs several threads on a core, according to the kernel.
    pub smt: Option<bool>,
    /// Their clock.
    pub clock: Clock,
    /// Layers between the process and the hardware.
    pub virtualisation: Virtualisation,
    /// Limits that control groups set to the process.
    pub limits: Limits,
    /// Load of the host.
    pub load: HostLoad,
    /// The kernel.
    pub kernel: Kernel,
    /// Files that exist but could not be understood.
    pub not_understood: Vec<String>,
}
