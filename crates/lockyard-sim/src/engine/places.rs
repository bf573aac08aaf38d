//! Positions of cores, domains and sockets. They are in tables, because each operation needs
//! several of them and a division is slow.

use super::accounting::distance::LineDistance;
use crate::machine::description::Machine;

/// Position of a core.
#[derive(Clone, Copy, Debug)]
struct Core {
    domain: u16,
    socket: u16,
    /// Index of the core within its domain.
    within: u8,
}

/// Positions in the whole machine.
#[derive(Debug)]
pub(super) struct Places {
    cores: Vec<Core>,
    /// The socket of each domain.
    sockets: Vec<u16>,
    cores_per_domain: usize,
    /// Binary logarithm of the line size in bytes.
    line_shift: u32,
    /// Mask of a byte's offset within its line.
    within_line: usize,
}

impl Places {
    pub(super) fn new(machine: &Machine) -> Self {
        let cores_per_domain = machine.cores_per_complex();
        assert!(cores_per_domain <= 128, "a set of sharers has 128 bits");
        assert!(machine.line_bytes().is_power_of_two(), "lines are found by shifts");
        let complexes_per_socket = machine.complexes() / machine.sockets();
        let core = |core| Core {
            domain: (core / cores_per_domain) as u16,
            socket: (core / cores_per_domain / complexes_per_socket) as u16,
            within: (core % cores_per_domain) as u8,
        };
        Places {
            cores: (0..machine.cores()).map(core).collect(),
            sockets: (0..machine.complexes()).map(|d| (d / complexes_per_socket) as u16).collect(),
            cores_per_domain,
            line_shift: machine.line_bytes().trailing_zeros(),
            within_line: machine.line_bytes() - 1,
        }
    }

    pub(super) fn domains(&self) -> usize {
        self.sockets.len()
    }

    pub(super) fn domain_of(&self, core: u16) -> u16 {
        self.cores[core as usize].domain
    }

    pub(super) fn socket_of(&self, core: u16) -> u16 {
        self.cores[core as usize].socket
    }

    /// Bit of a core in its domain's set of sharers.
    pub(super) fn bit(&self, core: u16) -> u128 {
        1 << self.cores[core as usize].within
    }

    /// Core of `domain` that has bit number `within` in the domain's set of sharers.
    pub(super) fn core(&self, domain: u16, within: u32) -> u16 {
        domain * self.cores_per_domain as u16 + within as u16
    }

    /// Number of the line of a byte of the arena.
    pub(super) fn line(&self, offset: usize) -> usize {
        offset >> self.line_shift
    }

    /// Index of a byte's 64-bit unit within its line.
    pub(super) fn unit(&self, offset: usize) -> usize {
        (offset & self.within_line) / 8
    }

    pub(super) fn same_socket(&self, a: u16, b: u16) -> bool {
        self.sockets[a as usize] == self.sockets[b as usize]
    }

    /// Distance from core `a` to core `b`. Computed without branches, because the core that last
    /// had a line is random.
    #[inline(always)]
    pub(super) fn distance(&self, a: u16, b: u16) -> LineDistance {
        let (at, to) = (self.cores[a as usize], self.cores[b as usize]);
        let differ = [a != b, at.domain != to.domain, at.socket != to.socket];
        LineDistance::ALL[differ.map(usize::from).into_iter().sum::<usize>()]
    }
}
