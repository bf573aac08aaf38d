//! Layout of the process's CPUs: which of them share a core, a complex or a package, and a regular
//! machine with room for all of them.
//!
//! A machine file describes equal sockets of equal complexes of equal cores. But the process's CPUs
//! may be irregular: a part of a socket, or a mix of cores with one and with two threads. The
//! layout uses the smallest regular machine with room for them. Each CPU has a place in it, and
//! places without a CPU stay empty.

use lockyard_measure::cpus::{Cpus, package};
use lockyard_measure::detect::CpuList;
use lockyard_sim::LineDistance;
use std::collections::BTreeMap;

/// A CPU with its core, complex and package. CPUs that share one of these have the same number for
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuAt {
    /// Number that the operating system gives to the CPU.
    pub cpu: usize,
    /// Package, that is, socket.
    pub package: usize,
    /// Last-level cache.
    pub complex: usize,
    /// Core.
    pub core: usize,
}

/// Returns the name of a distance in figures. In `[checks]`, "same socket" means cores of one
/// complex.
pub(super) fn name(distance: LineDistance) -> &'static str {
    match distance {
        LineDistance::Core => "same_core",
        LineDistance::Complex => "same_socket",
        LineDistance::Socket => "other_complex",
        LineDistance::Remote => "remote",
    }
}

/// Describes CPUs at this distance for the user.
pub(super) fn describe(distance: LineDistance) -> &'static str {
    match distance {
        LineDistance::Core => "threads of a core",
        LineDistance::Complex => "cores of a complex",
        LineDistance::Socket => "complexes of a socket",
        LineDistance::Remote => "sockets",
    }
}

/// The process's CPUs, each with its place on a regular machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of sockets.
    pub sockets: usize,
    /// Number of complexes per socket.
    pub complexes: usize,
    /// Number of cores per complex.
    pub cores: usize,
    /// Number of threads per core.
    pub threads: usize,
    /// CPUs, first threads of all cores first. Each has the numbers of its socket, complex, core
    /// and thread. Each number is relative to the enclosing unit.
    places: Vec<(usize, [usize; 4])>,
    /// True if the system says that no two cores share a last-level cache.
    merged: bool,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl Layout {
    /// Returns the layout of the process's CPUs.
    pub fn of_process() -> Layout {
        let cpus = Cpus::allowed();
        let of = |number: &usize| {
            let cpu = cpus.known(*number);
            let package = package(cpu);
            // First CPU that shares the cache, or the package if the system does not report the
            // cache.
            let complex = cpu.complex.as_ref().and_then(CpuList::first).unwrap_or(package);
            CpuAt { cpu: *number, package, complex, core: cpu.core() }
        };
        Layout::new(&cpus.all().iter().map(of).collect::<Vec<_>>())
    }

    /// Returns the layout of these CPUs. There must be at least one.
    pub fn new(cpus: &[CpuAt]) -> Layout {
        let mut notes = Vec::new();
        // If a system reports no last-level cache shared by two cores, it usually just does not
        // know.
        let mut cores_of: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for at in cpus {
            cores_of.entry((at.package, at.complex)).or_default().push(at.core);
        }
        let alone = cores_of.values().all(|cores| cores.iter().all(|core| *core == cores[0]));
        let several = |at: &CpuAt| cores_of.keys().filter(|(p, _)| *p == at.package).count() > 1;
        let merged = alone && cpus.iter().any(several);
        if merged {
            notes.push(
                "the system says that no two of these cores share a last-level cache; \
                 they are taken as one complex a socket"
                    .to_owned(),
            );
        }
        // If they are merged, each complex has one core.
        let complex_and_core =
            |at: &CpuAt| if merged { (0, at.complex) } else { (at.complex, at.core) };
        let mut sockets = Ranks::default();
        let mut complexes = Ranks::default();
        let mut cores = Ranks::default();
        let mut threads = Ranks::default();
        let mut places = Vec::new();
        for at in cpus {
            let socket = sockets.rank(&[], at.package);
            let (complex, core) = complex_and_core(at);
            let complex = complexes.rank(&[socket], complex);
            let core = cores.rank(&[socket, complex], core);
            let thread = threads.rank(&[socket, complex, core], at.cpu);
            places.push((at.cpu, [socket, complex, core, thread]));
        }
        let layout = Layout {
            sockets: sockets.most(),
            complexes: complexes.most(),
            cores: cores.most(),
            threads: threads.most(),
            places,
            merged,
            notes,
        };
        layout.noted()
    }

    fn noted(mut self) -> Layout {
        let all = self.sockets * self.complexes * self.cores * self.threads;
        if all != self.places.len() {
            self.notes.push(format!(
                "the {} CPUs that the process may use do not form a regular machine; \
                 the machine of the file has {all} hardware threads, these among them",
                self.places.len()
            ));
        }
        self
    }

    /// Returns the CPUs, first threads of all cores first.
    pub fn cpus(&self) -> Vec<usize> {
        self.places.iter().map(|(cpu, _)| *cpu).collect()
    }

    /// Returns the CPUs with their places as the system gave them, in the same order.
    /// [`Layout::new`] makes the layout of them again.
    pub fn cpus_at(&self) -> Vec<CpuAt> {
        let at = |&(cpu, [package, complex, core, _]): &(usize, [usize; 4])| {
            let complex = package * self.complexes + complex;
            let core = complex * self.cores + core;
            CpuAt { cpu, package, complex: if self.merged { core } else { complex }, core }
        };
        self.places.iter().map(at).collect()
    }

    /// Returns the hardware thread of the machine where task `index` runs, if tasks run on
    /// [`Layout::cpus`] in order.
    pub fn place(&self, index: usize) -> usize {
        let [socket, complex, core, thread] = self.places[index].1;
        let all = self.sockets * self.complexes * self.cores;
        thread * all + (socket * self.complexes + complex) * self.cores + core
    }

    /// Returns the distance between the CPUs of two tasks.
    pub fn distance(&self, a: usize, b: usize) -> LineDistance {
        let (a, b) = (self.places[a].1, self.places[b].1);
        match (a[0] == b[0], a[1] == b[1], a[2] == b[2]) {
            (true, true, true) => LineDistance::Core,
            (true, true, false) => LineDistance::Complex,
            (true, false, _) => LineDistance::Socket,
            (false, ..) => LineDistance::Remote,
        }
    }

    /// Returns all pairs of tasks, grouped by distance.
    pub fn pairs(&self) -> BTreeMap<LineDistance, Vec<(usize, usize)>> {
        let mut pairs: BTreeMap<LineDistance, Vec<(usize, usize)>> = BTreeMap::new();
        for a in 0..self.places.len() {
            for b in a + 1..self.places.len() {
                pairs.entry(self.distance(a, b)).or_default().push((a, b));
            }
        }
        pairs
    }

    /// Returns pairs of sibling tasks, for cores with at least two threads: the task on the first
    /// thread and the task on the second.
    pub fn siblings(&self) -> Vec<(usize, usize)> {
        let pairs = self.pairs();
        let of_core = pairs.get(&LineDistance::Core).cloned().unwrap_or_default();
        of_core
            .into_iter()
            .filter(|&(a, b)| self.places[a].1[3] == 0 && self.places[b].1[3] == 1)
            .collect()
    }

    /// Describes the layout for the user.
    pub fn describe(&self) -> String {
        let some = |count: usize, one: &str, more: &str| match count {
            1 => format!("1 {one}"),
            _ => format!("{count} {more}"),
        };
        let complexes = match self.complexes {
            1 => String::new(),
            count => format!("{count} complexes x "),
        };
        format!(
            "{} x {complexes}{} x {}",
            some(self.sockets, "socket", "sockets"),
            some(self.cores, "core", "cores"),
            some(self.threads, "thread", "threads")
        )
    }
}

/// Numbers items within their enclosing unit, from 0, in order of appearance.
#[derive(Default)]
struct Ranks(BTreeMap<Vec<usize>, Vec<usize>>);

impl Ranks {
    fn rank(&mut self, around: &[usize], thing: usize) -> usize {
        let things = self.0.entry(around.to_vec()).or_default();
        things.iter().position(|&t| t == thing).unwrap_or_else(|| {
            things.push(thing);
            things.len() - 1
        })
    }

    /// Returns the maximum number of items in any unit.
    fn most(&self) -> usize {
        self.0.values().map(Vec::len).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns CPUs numbered as systems do: first threads of all cores, then second threads.
    fn host(packages: usize, complexes: usize, cores: usize, threads: usize) -> Vec<CpuAt> {
        let all = packages * complexes * cores;
        (0..all * threads)
            .map(|cpu| {
                let core = cpu % all;
                let complex = core / cores;
                CpuAt { cpu, package: complex / complexes, complex, core }
            })
            .collect()
    }

    #[test]
    fn a_regular_host_is_itself() {
        let layout = Layout::new(&host(2, 3, 4, 2));
        let machine = (layout.sockets, layout.complexes, layout.cores, layout.threads);
        assert_eq!(machine, (2, 3, 4, 2));
        assert!(layout.notes.is_empty(), "{:?}", layout.notes);
        assert!((0..48).all(|task| layout.place(task) == task), "as machines number them");
        let pairs = layout.pairs();
        let count = |distance| pairs.get(&distance).map_or(0, Vec::len);
        assert_eq!(LineDistance::ALL.map(count), [24, 2 * 3 * 6 * 4, 2 * 3 * 64, 24 * 24]);
        assert_eq!(pairs.values().map(Vec::len).sum::<usize>(), 48 * 47 / 2);
        assert_eq!(layout.siblings().len(), 24);
        assert_eq!(layout.describe(), "2 sockets x 3 complexes x 4 cores x 2 threads");
        assert_eq!(Layout::new(&layout.cpus_at()), layout);
    }

    #[test]
    fn a_part_of_a_host_has_places_on_the_least_regular_machine() {
        // Three CPUs of the first package, and one of the second.
        let all = host(2, 1, 4, 1);
        let layout = Layout::new(&[all[0], all[1], all[2], all[5]]);
        assert_eq!((layout.sockets, layout.cores), (2, 3));
        assert_eq!((0..4).map(|task| layout.place(task)).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(layout.cpus(), [0, 1, 2, 5]);
        assert_eq!(layout.distance(0, 3), LineDistance::Remote);
        assert!(layout.notes[0].contains("6 hardware threads"), "{:?}", layout.notes);
    }

    #[test]
    fn one_cpu_is_a_machine_without_pairs() {
        let layout = Layout::new(&host(1, 1, 1, 1));
        assert_eq!((layout.sockets, layout.cores, layout.threads), (1, 1, 1));
        assert!(layout.pairs().is_empty() && layout.siblings().is_empty());
        assert_eq!(layout.describe(), "1 socket x 1 core x 1 thread");
    }

    #[test]
    fn cores_that_all_seem_to_have_a_cache_of_their_own_are_one_complex() {
        let layout = Layout::new(&host(1, 8, 1, 2));
        assert_eq!((layout.complexes, layout.cores, layout.threads), (1, 8, 2));
        assert!(layout.notes[0].contains("one complex a socket"), "{:?}", layout.notes);
        assert_eq!(Layout::new(&layout.cpus_at()), layout, "the note stays");
    }

    #[test]
    fn the_process_has_a_layout() {
        let layout = Layout::of_process();
        assert_eq!(layout.cpus().len(), Cpus::allowed().len());
        let room = layout.sockets * layout.complexes * layout.cores * layout.threads;
        let mut places: Vec<usize> = (0..layout.cpus().len()).map(|t| layout.place(t)).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), layout.cpus().len(), "a place each");
        assert!(places.iter().all(|&place| place < room));
    }
}
