//! What this host is: its CPUs and what they share, its clock, what limits the process, what else runs, and what of all
//! that spoils a measurement.
//!
//! | file | what |
//! | --- | --- |
//! | `tree.rs`, `list.rs` | reading the kernel's files, below any directory |
//! | `topology.rs`, `caches.rs`, `processor.rs`, `clock.rs`, `virtualisation.rs`, `limits.rs`, `load.rs`, `kernel.rs` | one concern each |
//! | `warnings.rs` | what spoils a measurement, and what to do about it |
//! | `environment.rs` | what results say of their host |
//! | `report.rs`, `picture.rs` | the description for people and programs |
//!
//! Nothing is guessed: what the system does not say is `None`, and is printed as "not available here". The directory with
//! `sys` and `proc` is a parameter, so that hosts that are not at hand are described, and tested, from recordings.
//!
//! Files are read with code of its own: `procfs` reads no `/sys` and has no root to choose, `hwlocality` needs a C library,
//! `core_affinity` knows no topology. What only the processor can say is asked by `raw-cpuid`.

mod caches;
mod clock;
mod environment;
mod kernel;
mod limits;
mod list;
mod load;
mod picture;
mod processor;
mod report;
mod topology;
mod tree;
mod virtualisation;
mod warnings;

pub use caches::Cache;
pub use clock::{Clock, Frequency, Turbo};
pub use environment::{Environment, NOT_AVAILABLE};
pub use kernel::Kernel;
pub use limits::{Limits, Quota};
pub use list::CpuList;
pub use load::Load;
pub use processor::Processor;
pub use report::render;
pub use topology::{Cpu, Node, Topology};
pub use virtualisation::Virtualisation;
pub use warnings::{Warning, warnings};

use crate::cpus::affinity;
use lockyard_support::InputError;
use processor::Instruction;
use serde::Serialize;
use std::path::Path;
use std::sync::OnceLock;
use tree::Tree;

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

/// The host that runs, as it was when this was first called: do so before anything is measured, since its load is in it.
/// Takes a quarter of a second then, and nothing later.
pub fn here() -> &'static Description {
    static HERE: OnceLock<Description> = OnceLock::new();
    HERE.get_or_init(|| {
        let allowed = affinity::allowed().map(CpuList::new);
        describe(&Tree::new(Path::new("/")), allowed, &processor::ask(), true)
    })
}

/// The host whose `sys` and `proc` are in `root`. Nothing is known of its load just now, nor what its processor says itself;
/// the CPUs that the process may use are those of `proc/self/status`.
///
/// # Errors
///
/// If `root` has neither directory.
pub fn recorded(root: &Path) -> Result<Description, InputError> {
    if !root.join("sys").is_dir() && !root.join("proc").is_dir() {
        return Err(InputError(format!(
            "{}: has no directory `sys` or `proc`, of which a recorded host consists",
            root.display()
        )));
    }
    let tree = Tree::new(root);
    let status = tree.text("proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let allowed = line.and_then(|list| {
        let parsed = CpuList::parse(list).filter(|list| !list.is_empty());
        if parsed.is_none() {
            tree.remember("proc/self/status", list);
        }
        parsed
    });
    Ok(describe(&tree, allowed, &Instruction::default(), false))
}

/// Of the CPUs that the calling thread may use, what placing threads needs to know. Unlike [`here`] this is asked anew each
/// time, and it is cheap.
pub(super) fn allowed_cpus() -> Vec<Cpu> {
    let allowed = affinity::allowed().unwrap_or_else(|| {
        (0..std::thread::available_parallelism().map_or(1, usize::from)).collect()
    });
    Topology::of_allowed(&Tree::new(Path::new("/")), &CpuList::new(allowed))
}

fn describe(
    tree: &Tree,
    allowed: Option<CpuList>,
    instruction: &Instruction,
    live: bool,
) -> Description {
    let processor = processor::read(tree, live);
    let topology = Topology::read(tree, allowed);
    let flags = processor.flags.as_deref();
    let smt = |text: &str| match text.trim() {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    };
    Description {
        caches: caches::read(tree, topology.cpus.iter().map(|cpu| cpu.number)),
        smt: tree.parsed("sys/devices/system/cpu/smt/active", smt),
        clock: clock::read(tree, &topology.allowed, flags, processor.current_mhz, instruction),
        virtualisation: virtualisation::read(tree, flags, instruction),
        limits: limits::read(tree),
        load: load::read(tree, &topology.allowed, live),
        kernel: kernel::read(tree),
        not_understood: tree.odd(),
        processor,
        topology,
    }
}

/// What there is to know about this host, by name; for results. As it was when something of [`here`] was first
/// asked for: do so before anything is measured.
pub fn environment() -> Vec<(&'static str, String)> {
    Environment::of(here()).pairs().to_vec()
}
