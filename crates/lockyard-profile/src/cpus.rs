//! Location of each CPU, in the format that the preload library reads.

use lockyard_records::{CPUS, Cpu, DISTANCES};
use std::fs;

/// Names of the distances of a hand-over, nearest first.
pub const DISTANCE_NAMES: [&str; DISTANCES] =
    ["same_cpu", "same_core", "same_cache", "other_cache"];

/// Returns the contents of the file for the library: a [`Cpu`] for each of [`CPUS`].
pub fn topology() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(CPUS * size_of::<Cpu>());
    for number in 0..CPUS {
        let cpu = place(number);
        bytes.extend(cpu.core.to_le_bytes());
        bytes.extend(cpu.complex.to_le_bytes());
    }
    bytes
}

/// Returns the location of a CPU. A core and a cache are named by their first CPU. If the system
/// does not report one, the CPU itself is used.
fn place(number: usize) -> Cpu {
    let folder = format!("/sys/devices/system/cpu/cpu{number}");
    let first = |file: &str| -> Option<u16> {
        let text = fs::read_to_string(format!("{folder}/{file}")).ok()?;
        text.trim().split([',', '-']).next()?.parse().ok()
    };
    let own = number as u16;
    let core = first("topology/core_cpus_list").or_else(|| first("topology/thread_siblings_list"));
    let complex = first("cache/index3/shared_cpu_list")
        .or_else(|| first("topology/package_cpus_list"))
        .or_else(|| first("topology/core_siblings_list"));
    Cpu { core: core.unwrap_or(own), complex: complex.unwrap_or(own) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_has_a_place() {
        assert_eq!(topology().len(), CPUS * 4);
        assert_eq!(place(CPUS - 1), Cpu { core: CPUS as u16 - 1, complex: CPUS as u16 - 1 });
    }
}
