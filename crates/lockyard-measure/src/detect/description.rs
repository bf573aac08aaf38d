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
    /// Processor.
    pub processor: Processor,
    /// CPUs and what they share.
    pub topology: Topology,
    /// Caches of the CPUs.
    pub caches: Vec<Cache>,
    /// True if the kernel reports that it runs several threads per core.
    pub smt: Option<bool>,
    /// Clock of the CPUs.
    pub clock: Clock,
    /// Layers between the process and the hardware.
    pub virtualisation: Virtualisation,
    /// Limits that control groups set on the process.
    pub limits: Limits,
    /// Load of the host.
    pub load: HostLoad,
    /// Kernel.
    pub kernel: Kernel,
    /// Files that exist but could not be parsed.
    pub not_understood: Vec<String>,
}
