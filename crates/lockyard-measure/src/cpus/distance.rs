//! Distance between two CPUs of this host: the same CPU, or a shared core, last-level cache or
//! socket.

use crate::detect::{self, Cpu, CpuList};
use std::collections::BTreeMap;

/// Location of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    /// First CPU of its core.
    core: Option<usize>,
    /// First CPU of those that share its last-level cache.
    complex: Option<usize>,
    socket: Option<usize>,
}

/// Distance of two CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CpuDistance {
    /// The same CPU.
    SameCpu,
    /// Two hardware threads of one core.
    SameCore,
    /// Two cores with a shared last-level cache.
    SameComplex,
    /// Two complexes of one socket.
    SameSocket,
    /// Two sockets.
    Remote,
}

impl CpuDistance {
    /// All distances, nearest first.
    pub const ALL: [CpuDistance; 5] = [
        CpuDistance::SameCpu,
        CpuDistance::SameCore,
        CpuDistance::SameComplex,
        CpuDistance::SameSocket,
        CpuDistance::Remote,
    ];

    /// Returns the name in results.
    pub fn name(self) -> &'static str {
        match self {
            CpuDistance::SameCpu => "same_cpu",
            CpuDistance::SameCore => "same_core",
            CpuDistance::SameComplex => "same_complex",
            CpuDistance::SameSocket => "same_socket",
            CpuDistance::Remote => "remote",
        }
    }
}

/// Locations of CPUs.
#[derive(Clone, Debug)]
pub(crate) struct Places(BTreeMap<usize, Place>);

impl Places {
    /// Returns the locations of the CPUs that the calling thread may use.
    pub(crate) fn here() -> Places {
        Places::of(&detect::allowed_cpus())
    }

    /// Returns the locations of these CPUs. CPUs about which the system reports nothing count as
    /// one socket.
    fn of(cpus: &[Cpu]) -> Places {
        let first = |list: &Option<CpuList>| list.as_ref().and_then(CpuList::first);
        let place = |cpu: &Cpu| Place {
            core: first(&cpu.siblings),
            complex: first(&cpu.complex),
            socket: cpu.package,
        };
        Places(cpus.iter().map(|cpu| (cpu.number, place(cpu))).collect())
    }

    /// Returns the distance of two CPUs.
    pub(crate) fn between(&self, a: usize, b: usize) -> CpuDistance {
        if a == b {
            return CpuDistance::SameCpu;
        }
        let place = |cpu: usize| self.0.get(&cpu).copied().unwrap_or_default();
        let (a, b) = (place(a), place(b));
        let shared = |of: fn(&Place) -> Option<usize>| of(&a).is_some() && of(&a) == of(&b);
        let sockets_differ =
            a.socket.is_some() && b.socket.is_some() && !shared(|place| place.socket);
        if sockets_differ {
            CpuDistance::Remote
        } else if shared(|place| place.core) {
            CpuDistance::SameCore
        } else if shared(|place| place.complex) {
            CpuDistance::SameComplex
        } else {
            CpuDistance::SameSocket
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_topology() {
        // Two sockets, each with two complexes of two cores of two threads: CPU = thread * 8 +
        // core.
        let cpu = |number: usize| {
            let core = number % 8;
            let first = core / 2 * 2;
            Cpu {
                number,
                allowed: true,
                package: Some(core / 4),
                siblings: Some(CpuList::new(vec![core, core + 8])),
                complex: Some(CpuList::new(vec![first, first + 1, first + 8, first + 9])),
                node: None,
                capacity: None,
            }
        };
        let places = Places::of(&(0..16).map(cpu).collect::<Vec<_>>());
        let from_0 = [0, 8, 1, 9, 2, 11, 4, 12].map(|cpu| places.between(0, cpu));
        use CpuDistance::{Remote, SameComplex, SameCore, SameCpu, SameSocket};
        assert_eq!(
            from_0,
            [SameCpu, SameCore, SameComplex, SameComplex, SameSocket, SameSocket, Remote, Remote]
        );
        assert_eq!(places.between(4, 0), Remote, "core 0 of another socket is another core");
    }

    #[test]
    fn where_nothing_is_known_two_cpus_are_of_one_socket() {
        let places = Places::of(&[]);
        assert_eq!(places.between(0, 1), CpuDistance::SameSocket);
        assert_eq!(places.between(2, 2), CpuDistance::SameCpu);
        assert_eq!(places.between(0, 99), CpuDistance::SameSocket);
    }

    #[test]
    fn this_hosts_cpus_have_a_distance_from_each_other_both_ways() {
        let cpus = super::super::Cpus::allowed();
        let places = Places::here();
        for &a in cpus.all().iter().take(8) {
            for &b in cpus.all().iter().take(8) {
                assert_eq!(places.between(a, b), places.between(b, a));
                assert_eq!(places.between(a, b) == CpuDistance::SameCpu, a == b);
            }
        }
    }
}
