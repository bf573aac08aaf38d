//! The caches of a machine, as sets of lines (`capacity.rs` explains their rules).

use crate::machine::description::Machine;
use crate::random::Random;

/// Lines of one cache, in any order. A last-level cache has numbers of lines, a core's caches have
/// numbers of core lines.
pub(super) struct Cache {
    /// Maximum number of lines.
    pub room: usize,
    pub lines: Vec<u32>,
}

impl Cache {
    pub(super) fn new(kib: f64, line_bytes: usize) -> Self {
        let lines = (kib * 1024.0) as usize / line_bytes;
        let room = if kib == 0.0 { usize::MAX } else { lines.max(1) };
        Cache { room, lines: Vec::new() }
    }

    pub(super) fn holds_everything(&self) -> bool {
        self.room == usize::MAX
    }

    /// Adds `line`. Returns its place.
    pub(super) fn push(&mut self, line: u32) -> u32 {
        if self.holds_everything() {
            return 0;
        }
        self.lines.push(line);
        (self.lines.len() - 1) as u32
    }

    /// Removes the line at `place`. Returns the line that is now there, which was the last one.
    pub(super) fn remove(&mut self, place: u32) -> Option<u32> {
        if self.holds_everything() {
            return None;
        }
        self.lines.swap_remove(place as usize);
        self.lines.get(place as usize).copied()
    }
}

/// The last-level cache of a complex.
pub(super) struct LastLevel {
    pub cache: Cache,
    /// Number of lines that were laid out in this home before threads ran, and not touched since.
    pub untouched: u64,
    /// Number of untouched lines that are in the cache.
    pub cached: u64,
    /// Number of lines laid out in this home, at the last count.
    pub laid_out: u64,
}

/// The caches of the machine.
pub(super) struct Capacity {
    pub random: Random,
    /// First-level cache of each core.
    pub first: Vec<Cache>,
    /// Second-level cache of each core.
    pub second: Vec<Cache>,
    /// Last-level cache of each complex.
    pub last: Vec<LastLevel>,
    /// `true` if the last level has every line that its cores have.
    pub inclusive: bool,
}

impl Capacity {
    pub(super) fn new(machine: &Machine, seed: u64) -> Self {
        let n = machine.numbers();
        let bytes = machine.line_bytes();
        let last = |_| LastLevel {
            cache: Cache::new(n.shared_kib, bytes),
            untouched: 0,
            cached: 0,
            laid_out: 0,
        };
        Capacity {
            random: Random::new(seed ^ 0xcac4e),
            first: (0..machine.cores()).map(|_| Cache::new(n.first_kib, bytes)).collect(),
            second: (0..machine.cores()).map(|_| Cache::new(n.second_kib, bytes)).collect(),
            last: (0..machine.complexes()).map(last).collect(),
            inclusive: n.shared_inclusive > 0,
        }
    }
}
