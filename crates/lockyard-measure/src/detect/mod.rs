//! Description of this host: its CPUs and what they share, its clock, limits and load, and
//! conditions that spoil a measurement.
//!
//! | file | content |
//! | --- | --- |
//! | `tree.rs`, `list.rs` | reading of kernel files, below any directory |
//! | `topology.rs`, `caches.rs`, `processor.rs`, `clock.rs` | one concern each |
//! | `virtualisation.rs`, `limits.rs`, `load.rs`, `kernel.rs` | one concern each |
//! | `warnings.rs` | conditions that spoil a measurement, with remedies |
//! | `environment.rs` | description of the host for results |
//! | `report.rs`, `picture.rs` | output for readers and for programs |
//!
//! Nothing is guessed. If the system does not report a value, it is `None` and printed as "not
//! available here". The directory with `sys` and `proc` is a parameter. So other hosts can be
//! described, and tested, from recordings.
//!
//! The crate reads these files itself. `procfs` does not read `/sys` and its root cannot be chosen,
//! `hwlocality` needs a C library, and `core_affinity` does not report topology. `raw-cpuid` asks
//! for what only the processor reports.

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
