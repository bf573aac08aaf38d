//! Topology: the CPUs, and which of them share a core, a last-level cache, a socket or a NUMA node.
//!
//! A field is `None` if the system does not report it, and so is any count that depends on it.
//! Inconsistent lists are ignored, for example if a CPU is not among its own siblings.

use super::list::CpuList;
use super::tree::Tree;
use serde::Serialize;
use std::collections::BTreeSet;

const CPUS: &str = "sys/devices/system/cpu";
const NODES: &str = "sys/devices/system/node";

/// Maximum number of cache indices to read per CPU.
const MOST_CACHES: usize = 16;

/// A CPU (a hardware thread).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cpu {
    /// Index of the CPU.
    pub number: usize,
    /// True if the process may use the CPU.
    pub allowed: bool,
    /// Socket of the CPU.
    pub package: Option<usize>,
    /// CPUs of the same core, including this one.
    pub siblings: Option<CpuList>,
    /// CPUs of the same core complex: those that share its level-3 cache, including this one.
    pub complex: Option<CpuList>,
    /// NUMA node of the CPU.
    pub node: Option<usize>,
    /// Speed relative to the fastest CPU, which has 1024.
    pub capacity: Option<u32>,
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Index of the node.
    pub number: usize,
    /// CPUs of the node.
    pub cpus: Option<CpuList>,
    /// Memory of the node in MiB.
    pub memory_mib: Option<u64>,
    /// Distances to all online nodes, in ascending order of nodes. The distance to itself is 10.
    pub distances: Option<Vec<u32>>,
}

/// CPUs of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Topology {
    /// CPUs that are online.
    pub online: Option<CpuList>,
    /// CPUs that are present but switched off.
    pub offline: Option<CpuList>,
    /// CPUs that the process may use.
    pub allowed: CpuList,
    /// CPUs that are isolated from the scheduler.
    pub isolated: Option<CpuList>,
    /// All CPUs that are online, or that the process may use, by number.
    pub cpus: Vec<Cpu>,
    /// NUMA nodes, by number.
    pub nodes: Vec<Node>,
}

impl Topology {
    /// Reads all CPUs of the tree. The process may use those in `allowed`.
    pub(super) fn read(tree: &Tree, allowed: Option<CpuList>) -> Topology {
        let online = tree.list(&format!("{CPUS}/online"));
        // If `allowed` is unknown, assume that the process may use all online CPUs.
        let allowed = allowed.or_else(|| online.clone()).unwrap_or_default();
        let described: BTreeSet<usize> =
            online.iter().chain([&allowed]).flat_map(|list| list.numbers()).copied().collect();
        let nodes: Vec<Node> =
            tree.numbered(NODES, "node").into_iter().map(|number| node(tree, number)).collect();
        Topology {
            cpus: described.into_iter().map(|number| cpu(tree, number, &allowed, &nodes)).collect(),
            offline: tree.list(&format!("{CPUS}/offline")),
            isolated: tree.list(&format!("{CPUS}/isolated")),
            online,
            allowed,
            nodes,
        }
    }

    /// Reads only the CPUs that the process may use. That suffices to place threads.
    pub(super) fn of_allowed(tree: &Tree, allowed: &CpuList) -> Vec<Cpu> {
        allowed.numbers().iter().map(|&number| cpu(tree, number, allowed, &[])).collect()
    }

    /// Returns the numbers of the sockets; `None` if the socket of any CPU is unknown.
    pub fn packages(&self) -> Option<Vec<usize>> {
        let packages: Option<BTreeSet<usize>> = self.cpus.iter().map(|cpu| cpu.package).collect();
        packages.filter(|packages| !packages.is_empty()).map(|p| p.into_iter().collect())
    }

    /// Returns the CPUs of each core; `None` if the core of any CPU is unknown.
    pub fn cores(&self) -> Option<Vec<CpuList>> {
        groups(self.cpus.iter().map(|cpu| cpu.siblings.as_ref()))
    }

    /// Returns the CPUs of each core complex; `None` if the complex of any CPU is unknown.
    pub fn complexes(&self) -> Option<Vec<CpuList>> {
        groups(self.cpus.iter().map(|cpu| cpu.complex.as_ref()))
    }

    /// Returns the greatest number of threads per core that the process may use; `None` if the core
    /// of any of its CPUs is unknown.
    pub fn threads_per_core(&self) -> Option<usize> {
        let mine = self.cpus.iter().filter(|cpu| cpu.allowed);
        let counts: Option<Vec<usize>> =
            mine.map(|cpu| Some(cpu.siblings.as_ref()?.both(&self.allowed).len())).collect();
        counts?.into_iter().max()
    }

    /// Returns the distinct speeds of the CPUs that the process may use, if they are known.
    pub fn capacities(&self) -> BTreeSet<u32> {
        self.cpus.iter().filter(|cpu| cpu.allowed).filter_map(|cpu| cpu.capacity).collect()
    }
}

impl Cpu {
    /// Returns the first CPU of the same core; this CPU itself if the core is unknown.
    pub fn core(&self) -> usize {
        self.siblings.as_ref().and_then(CpuList::first).unwrap_or(self.number)
    }

    /// Returns the position of this CPU among the CPUs of its core in `among`; 0 if the core is
    /// unknown.
    pub fn rank(&self, among: &CpuList) -> usize {
        let siblings = self.siblings.as_ref().map(|siblings| siblings.both(among));
        let position = |s: CpuList| s.numbers().iter().position(|&cpu| cpu == self.number);
        siblings.and_then(position).unwrap_or(0)
    }
}

/// Returns the distinct lists, ordered by their first CPU; `None` if any list is missing, or if
/// there are none.
fn groups<'a>(lists: impl Iterator<Item = Option<&'a CpuList>>) -> Option<Vec<CpuList>> {
    let different: Option<BTreeSet<&CpuList>> = lists.collect();
    let different: Vec<CpuList> = different?.into_iter().cloned().collect();
    (!different.is_empty()).then_some(different)
}

fn cpu(tree: &Tree, number: usize, allowed: &CpuList, nodes: &[Node]) -> Cpu {
    let at = format!("{CPUS}/cpu{number}");
    let with_itself = |path: &str| {
        let list = tree.list(path)?;
        if !list.contains(number) {
            tree.remember(path, &list.to_string());
            return None;
        }
        Some(list)
    };
    let siblings = ["thread_siblings_list", "core_cpus_list"]
        .into_iter()
        .find_map(|name| with_itself(&format!("{at}/topology/{name}")));
    let third = tree
        .numbered(&format!("{at}/cache"), "index")
        .into_iter()
        .take(MOST_CACHES)
        .find(|index| tree.number::<u32>(&format!("{at}/cache/index{index}/level")) == Some(3));
    // Some virtual machines report -1.
    let package = tree
        .number::<i64>(&format!("{at}/topology/physical_package_id"))
        .and_then(|package| usize::try_from(package).ok());
    let holds = |node: &&Node| node.cpus.as_ref().is_some_and(|cpus| cpus.contains(number));
    Cpu {
        number,
        allowed: allowed.contains(number),
        package,
        siblings,
        complex: third
            .and_then(|index| with_itself(&format!("{at}/cache/index{index}/shared_cpu_list"))),
        node: nodes.iter().find(holds).map(|node| node.number),
        capacity: tree.number(&format!("{at}/cpu_capacity")),
    }
}

fn node(tree: &Tree, number: usize) -> Node {
    let at = format!("{NODES}/node{number}");
    let distances = |text: &str| -> Option<Vec<u32>> {
        let distances: Vec<u32> =
            text.split_whitespace().map(|d| d.parse().ok()).collect::<Option<_>>()?;
        (!distances.is_empty()).then_some(distances)
    };
    // `Node 0 MemTotal:       32768000 kB`
    let memory = tree.text(&format!("{at}/meminfo")).and_then(|text| {
        let (_, rest) = text.split_once("MemTotal:")?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    });
    Node {
        number,
        cpus: tree.list(&format!("{at}/cpulist")),
        memory_mib: memory.map(|kib| kib / 1024),
        distances: tree.parsed(&format!("{at}/distance"), distances),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> CpuList {
        CpuList::parse(text).unwrap()
    }

    fn sibling(number: usize, siblings: Option<&str>) -> Cpu {
        let siblings = siblings.map(list);
        Cpu {
            number,
            allowed: true,
            package: Some(0),
            siblings,
            complex: None,
            node: None,
            capacity: None,
        }
    }

    #[test]
    fn a_cpu_is_ranked_among_those_siblings_that_may_be_used() {
        let cpu = sibling(8, Some("0,8"));
        assert_eq!(cpu.rank(&list("0-15")), 1, "the second thread of its core");
        assert_eq!(cpu.rank(&list("8-15")), 0, "the core is its own");
        assert_eq!(sibling(8, None).rank(&list("0-15")), 0);
        assert_eq!((cpu.core(), sibling(8, None).core()), (0, 8));
    }

    #[test]
    fn what_is_not_known_of_one_cpu_is_not_counted() {
        let mut topology = Topology { allowed: list("0-1"), ..Topology::default() };
        assert_eq!((topology.packages(), topology.cores()), (None, None), "no CPU at all");
        topology.cpus = vec![sibling(0, Some("0-1")), sibling(1, Some("0-1"))];
        assert_eq!(topology.cores(), Some(vec![list("0-1")]));
        assert_eq!(topology.threads_per_core(), Some(2));
        assert_eq!(topology.complexes(), None);
        topology.cpus[1].siblings = None;
        assert_eq!((topology.cores(), topology.threads_per_core()), (None, None));
    }
}
