//! This host: which CPUs the process may use, and what there is to know about them.

pub mod calibrate;
pub mod measure;
mod placement;
mod run;
mod stage;

pub use placement::Placement;
pub use stage::{OnHost, OnHostTimed};

use std::collections::BTreeMap;
use std::fs;

/// The CPUs that this process may use, whole cores first where the system says which share a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus {
    cpus: Vec<usize>,
}

impl Cpus {
    /// The CPUs in the process's affinity mask.
    pub fn allowed() -> Cpus {
        let mut cpus = affinity();
        // The position among the siblings of a core comes first: first threads of all cores, then
        // second ones.
        cpus.sort_by_key(|&cpu| (sibling_rank(cpu), number(cpu, "physical_package_id"), cpu));
        Cpus { cpus }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Whether there is none (there is always one).
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// All of them, whole cores first.
    pub fn all(&self) -> &[usize] {
        &self.cpus
    }

    /// All of them, the packages in turn: the first whole core of each, then the second, then the siblings.
    pub(crate) fn spread(&self) -> Vec<usize> {
        let mut of_package: BTreeMap<usize, usize> = BTreeMap::new();
        let mut ranked: Vec<(usize, usize, usize)> = Vec::new();
        for &cpu in &self.cpus {
            let package = number(cpu, "physical_package_id");
            let rank = of_package.entry(package).or_default();
            ranked.push((*rank, package, cpu));
            *rank += 1;
        }
        ranked.sort_unstable();
        ranked.into_iter().map(|(.., cpu)| cpu).collect()
    }

    /// All of them, the threads of a core one after another.
    pub(crate) fn siblings_together(&self) -> Vec<usize> {
        let mut cpus = self.cpus.clone();
        let core = |cpu| (number(cpu, "physical_package_id"), number(cpu, "core_id"), cpu);
        cpus.sort_by_key(|&cpu| core(cpu));
        cpus
    }

    /// The CPU of task `index`.
    ///
    /// # Panics
    ///
    /// If there are fewer.
    pub fn cpu(&self, index: usize) -> usize {
        self.cpus[index]
    }
}

#[cfg(target_os = "linux")]
fn affinity() -> Vec<usize> {
    // SAFETY: an all-zero `cpu_set_t` is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a live set of the size that is passed; 0 is the calling thread.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    let cpus: Vec<usize> = (0..libc::CPU_SETSIZE as usize)
        // SAFETY: the index is below the set's size.
        .filter(|&cpu| result == 0 && unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

#[cfg(not(target_os = "linux"))]
fn affinity() -> Vec<usize> {
    (0..std::thread::available_parallelism().map_or(1, usize::from)).collect()
}

/// Pins the calling thread to `cpu`; says whether that worked.
#[cfg(target_os = "linux")]
pub fn pin(cpu: usize) -> bool {
    // SAFETY: an all-zero `cpu_set_t` is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if cpu >= libc::CPU_SETSIZE as usize {
        return false;
    }
    // SAFETY: the index is below the set's size.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` is a live set of the size that is passed; 0 is the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0 }
}

/// Pins the calling thread to `cpu`; says whether that worked.
#[cfg(not(target_os = "linux"))]
pub fn pin(_cpu: usize) -> bool {
    false
}

fn topology(cpu: usize, file: &str) -> Option<String> {
    fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/{file}")).ok()
}

fn number(cpu: usize, file: &str) -> usize {
    topology(cpu, file).and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// The position of a CPU among the siblings of its core; 0 where the system does not say.
fn sibling_rank(cpu: usize) -> usize {
    let Some(list) = topology(cpu, "thread_siblings_list") else { return 0 };
    let mut siblings: Vec<usize> = Vec::new();
    for range in list.trim().split(',') {
        let mut ends = range.split('-').filter_map(|n| n.parse::<usize>().ok());
        if let Some(first) = ends.next() {
            let last = ends.next().unwrap_or(first);
            siblings.extend(first..=last.min(first + 64));
        }
    }
    siblings.iter().position(|&s| s == cpu).unwrap_or(0)
}

/// What there is to know about this host, by name; for results.
pub fn environment() -> Vec<(&'static str, String)> {
    let first_line = |path: &str| {
        fs::read_to_string(path).ok().and_then(|text| text.lines().next().map(str::to_owned))
    };
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim().to_owned())
    };
    let unknown = || "not known".to_owned();
    let virtualised = match field("flags") {
        Some(flags) if flags.split(' ').any(|flag| flag == "hypervisor") => "yes",
        Some(_) => "no",
        None => "not known",
    };
    let cpus = Cpus::allowed();
    vec![
        ("cpu", field("model name").unwrap_or_else(unknown)),
        ("cpus", cpus.len().to_string()),
        ("virtualised", virtualised.to_owned()),
        (
            "governor",
            first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
                .unwrap_or_else(unknown),
        ),
        ("kernel", first_line("/proc/sys/kernel/osrelease").unwrap_or_else(unknown)),
        ("architecture", std::env::consts::ARCH.to_owned()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_cpus_are_used_and_a_thread_can_be_pinned_to_each() {
        let cpus = Cpus::allowed();
        assert!(!cpus.is_empty());
        std::thread::spawn(move || {
            for index in 0..cpus.len() {
                if pin(cpus.cpu(index)) {
                    assert_eq!(affinity(), [cpus.cpu(index)]);
                }
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_is_not_there_cannot_be_pinned_to() {
        assert!(!pin(100_000));
    }
}
