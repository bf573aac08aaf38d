//! CPUs that the process may use, in the orders in which threads can be placed.

use crate::detect::{self, Cpu, CpuList};
use std::collections::BTreeMap;

/// Maximum number of threads.
pub const MOST_THREADS: usize = 4096;

/// CPUs that this process may use. If the system reports which CPUs share a core, the first thread
/// of each core comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus {
    cpus: Vec<usize>,
    known: BTreeMap<usize, Cpu>,
}

impl Cpus {
    /// Returns the CPUs in the process's affinity mask.
    pub fn allowed() -> Cpus {
        Cpus::of(detect::allowed_cpus())
    }

    /// Orders these CPUs. The process may use all of them.
    fn of(cpus: Vec<Cpu>) -> Cpus {
        let known: BTreeMap<usize, Cpu> = cpus.into_iter().map(|cpu| (cpu.number, cpu)).collect();
        let all = CpuList::new(known.keys().copied().collect());
        let mut ranked: Vec<(usize, usize, usize)> =
            // Sort by the position among the core's siblings. So the first threads of all cores
            // precede the second ones.
            known.values().map(|cpu| (cpu.rank(&all), package(cpu), cpu.number)).collect();
        ranked.sort_unstable();
        Cpus { cpus: ranked.into_iter().map(|(.., cpu)| cpu).collect(), known }
    }

    /// Number of CPUs.
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Returns true if there are no CPUs, which never happens.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// Returns the system's description of one of the CPUs.
    ///
    /// # Panics
    ///
    /// If the process may not use this CPU.
    pub fn known(&self, number: usize) -> &Cpu {
        &self.known[&number]
    }

    /// Returns all CPUs: the first thread of each core, then the siblings.
    pub fn all(&self) -> &[usize] {
        &self.cpus
    }

    /// Returns all CPUs, alternating between packages: first one thread of each core, then the
    /// siblings.
    pub fn spread(&self) -> Vec<usize> {
        let mut of_package: BTreeMap<usize, usize> = BTreeMap::new();
        let mut ranked: Vec<(usize, usize, usize)> = Vec::new();
        for &cpu in &self.cpus {
            let package = package(&self.known[&cpu]);
            let rank = of_package.entry(package).or_default();
            ranked.push((*rank, package, cpu));
            *rank += 1;
        }
        ranked.sort_unstable();
        ranked.into_iter().map(|(.., cpu)| cpu).collect()
    }

    /// Returns all CPUs by package, then by complex. The threads of a core follow each other.
    pub fn siblings_together(&self) -> Vec<usize> {
        let complex = |cpu: &Cpu| cpu.complex.as_ref().and_then(CpuList::first).unwrap_or(0);
        let mut cpus: Vec<_> = self
            .known
            .values()
            .map(|cpu| (package(cpu), complex(cpu), cpu.core(), cpu.number))
            .collect();
        cpus.sort_unstable();
        cpus.into_iter().map(|(.., cpu)| cpu).collect()
    }

    /// Returns the CPU of task `index`.
    ///
    /// # Panics
    ///
    /// If there is no CPU for this task.
    pub fn cpu(&self, index: usize) -> usize {
        self.cpus[index]
    }
}

/// Returns the package of a CPU; 0 if the system does not report it.
pub fn package(cpu: &Cpu) -> usize {
    cpu.package.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(number: usize, package: Option<usize>, siblings: &str, complex: &str) -> Cpu {
        let list = |text: &str| CpuList::parse(text).filter(|list| !list.is_empty());
        let (siblings, complex) = (list(siblings), list(complex));
        Cpu { number, allowed: true, package, siblings, complex, node: None, capacity: None }
    }

    #[test]
    fn only_allowed_cpus_are_used() {
        let cpus = Cpus::allowed();
        assert!(!cpus.is_empty());
        if let Some(allowed) = crate::cpus::affinity::allowed() {
            let mut all = cpus.all().to_vec();
            all.sort_unstable();
            assert_eq!(all, allowed);
        }
    }

    #[test]
    fn threads_are_placed_by_cores_complexes_and_packages() {
        // Two packages, each with two cores of two threads. The CPUs are numbered as on many
        // servers.
        let cpus = Cpus::of(
            (0..8)
                .map(|n| cpu(n, Some(n % 4 / 2), &format!("{},{}", n % 4, n % 4 + 4), ""))
                .collect(),
        );
        assert_eq!(cpus.all(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(cpus.siblings_together(), [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(cpus.spread(), [0, 2, 1, 3, 4, 6, 5, 7]);
        // One package with two complexes. The firmware numbers their cores alternately.
        let cpus = Cpus::of(
            (0..4)
                .map(|n| cpu(n, Some(0), &n.to_string(), &format!("{},{}", n % 2, n % 2 + 2)))
                .collect(),
        );
        assert_eq!(cpus.siblings_together(), [0, 2, 1, 3], "complex by complex");
    }

    #[test]
    fn a_cpu_whose_sibling_may_not_be_used_is_a_whole_core() {
        let cpus = Cpus::of(vec![
            cpu(1, Some(0), "1,9", ""),
            cpu(8, Some(0), "0,8", ""),
            cpu(9, Some(0), "1,9", ""),
        ]);
        assert_eq!(cpus.all(), [1, 8, 9]);
    }

    #[test]
    fn where_the_system_says_nothing_cpus_are_taken_by_number() {
        let cpus = Cpus::of(vec![cpu(5, None, "", ""), cpu(2, None, "", "")]);
        assert_eq!(cpus.all(), [2, 5]);
        assert_eq!(cpus.siblings_together(), [2, 5]);
        assert_eq!(cpus.spread(), [2, 5]);
    }
}
