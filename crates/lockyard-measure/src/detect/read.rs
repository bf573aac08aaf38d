//! Reading of a host: the running one, or a recorded one.

use super::description::Description;
use super::environment::Environment;
use super::list::CpuList;
use super::processor::{self, Instruction};
use super::topology::{Cpu, Topology};
use super::tree::Tree;
use super::{caches, clock, kernel, limits, load, virtualisation};
use crate::cpus::affinity;
use lockyard_support::InputError;
use std::path::Path;
use std::sync::OnceLock;

/// Returns the running host, as it was at the first call. Call this before measuring anything,
/// because it contains the load. The first call takes a quarter of a second; later calls are free.
pub fn here() -> &'static Description {
    static HERE: OnceLock<Description> = OnceLock::new();
    HERE.get_or_init(|| {
        let allowed = affinity::allowed().map(CpuList::new);
        describe(&Tree::new(Path::new("/")), allowed, &processor::ask(), true)
    })
}

/// Reads a recorded host from the `sys` and `proc` directories in `root`. Its current load is
/// unknown, and so are the values that only its processor would report. `proc/self/status` says
/// which CPUs the process may use.
///
/// # Errors
///
/// If `root` has neither directory.
pub fn recorded(root: &Path) -> Result<Description, InputError> {
    if !root.join("sys").is_dir() && !root.join("proc").is_dir() {
        return Err(InputError(format!(
            "{}: has no directory `sys` or `proc`; a recorded host consists of these",
            lockyard_support::shown(root)
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

/// Returns the CPUs that the calling thread may use, with the data needed to place threads. Unlike
/// [`here`], this reads the system each time, which is cheap.
pub(crate) fn allowed_cpus() -> Vec<Cpu> {
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

/// Returns the description of this host for results. It dates from the first call of [`here`] in
/// the process. Call this before measuring anything.
pub fn environment() -> Vec<(&'static str, String)> {
    Environment::of(here()).pairs().to_vec()
}
