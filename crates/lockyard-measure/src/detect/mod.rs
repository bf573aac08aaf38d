//! Describes this host: its CPUs and what they share, its clock, the limits and load, and which of
//! these spoil a measurement.
//!
//! | file | what |
//! | --- | --- |
//! | `tree.rs`, `list.rs` | reading the kernel's files, below any directory |
//! | `topology.rs`, `caches.rs`, `processor.rs`, `clock.rs` | one concern each |
//! | `virtualisation.rs`, `limits.rs`, `load.rs`, `kernel.rs` | one concern each |
//! | `warnings.rs` | what spoils a measurement, and the remedy |
//! | `environment.rs` | the description of the host in results |
//! | `report.rs`, `picture.rs` | the description for people and programs |
//!
//! Nothing is guessed. A value that the system does not say is `None`, and is printed as "not
//! available here". The directory with `sys` and `proc` is a parameter. Hosts that are not at hand
//! are thus described, and tested, from recordings.
//!
//! Files are read with code of this crate: `procfs` reads no `/sys` and has no root to choose,
//! `hwlocality` needs a C library, `core_affinity` knows no topology. `raw-cpuid` asks what only
//! the processor can say.

mod caches;
mod clock;
mod description;
mod environment;
mod kernel;
mod limits;
mod list;
mod load;
mod picture;
mod processor;
mod read;
mod report;
mod size;
mod topology;
mod tree;
mod virtualisation;
mod warnings;

pub use caches::Cache;
pub use clock::{Clock, Frequency, Turbo};
pub use description::Description;
pub use environment::{Environment, NOT_AVAILABLE};
pub use kernel::Kernel;
pub use limits::{Limits, Quota};
pub use list::CpuList;
pub use load::HostLoad;
pub use processor::Processor;
pub(crate) use read::allowed_cpus;
pub use read::{environment, here, recorded};
pub use report::render;
pub use topology::{Cpu, Node, Topology};
pub use virtualisation::Virtualisation;
pub use warnings::{Warning, warnings};
