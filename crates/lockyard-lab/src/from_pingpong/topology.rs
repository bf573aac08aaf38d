//! Topology in a matrix of latencies: which CPUs are threads of a core, cores of a complex, and
//! complexes of a socket.
//!
//! The latencies are cut at gaps. Below a gap, CPUs that are near each other form groups. A gap
//! whose groups all have one size is a level of the topology.
//!
//! There is one exception. The word that is handed over lives in the memory of one socket, its
//! home. Complexes of another socket exchange the word by way of that home, and are as far from
//! each other as sockets are. So one group may be larger than the others, if the others are groups
//! of the level below. The larger group is the home, and the other CPUs are grouped in the order of
//! their numbers.

use super::Matrix;
use crate::calibrate_host::CpuAt;
use lockyard_results::statistics;
use lockyard_support::printable;

/// Minimum ratio of the latencies on the two sides of a gap.
const GAP: f64 = 1.2;

/// Maximum latency of threads of a core, in nanoseconds.
const SIBLINGS_NS: f64 = 15.0;

/// Share of the pairs in groups that must be below the gap.
const NEAR: f64 = 0.98;

/// Numbers of sockets, complexes per socket, cores per complex and threads per core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Sockets.
    pub sockets: usize,
    /// Complexes of a socket.
    pub complexes: usize,
    /// Cores of a complex.
    pub cores: usize,
    /// Threads of a core.
    pub threads: usize,
}

impl Topology {
    /// Reads a topology such as `2x8x8x2`.
    ///
    /// # Errors
    ///
    /// If the text is not four whole numbers above 0.
    pub fn parse(text: &str) -> Result<Topology, String> {
        let numbers: Option<Vec<usize>> = text
            .split('x')
            .map(|n| n.trim().parse().ok().filter(|n| (1..=4096).contains(n)))
            .collect();
        match numbers.as_deref() {
            Some(&[sockets, complexes, cores, threads]) => {
                Ok(Topology { sockets, complexes, cores, threads })
            }
            _ => Err(format!(
                "is `{}`; allowed: sockets x complexes of a socket x cores x threads, such as \
                 2x1x24x2",
                printable(text)
            )),
        }
    }

    /// Returns the number of hardware threads.
    pub fn cpus(&self) -> usize {
        [self.sockets, self.complexes, self.cores, self.threads]
            .into_iter()
            .fold(1, usize::saturating_mul)
    }
}

/// A topology, with a place for each CPU.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub cpus: Vec<CpuAt>,
    /// Socket in which the word lives, if the matrix shows it.
    pub home: Option<usize>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// A level: groups of CPUs, each sorted, and the group that is the home.
#[derive(Clone, Debug)]
struct Level {
    groups: Vec<Vec<usize>>,
    home: Option<usize>,
    /// Median latency within groups, beyond the groups of the level below.
    ns: f64,
}

impl Level {
    fn size(&self) -> usize {
        self.groups[0].len()
    }

    fn group_of(&self, cpu: usize) -> usize {
        self.groups.iter().position(|group| group.contains(&cpu)).unwrap_or_default()
    }
}

/// Returns the thresholds in the gaps between latencies, from small to large.
fn thresholds(matrix: &Matrix) -> Vec<f64> {
    let mut all: Vec<f64> = matrix.pairs().map(|(_, ns)| ns).collect();
    all.sort_by(f64::total_cmp);
    let gap = |pair: &[f64]| (pair[1] / pair[0] >= GAP).then(|| (pair[0] * pair[1]).sqrt());
    all.windows(2).filter_map(gap).collect()
}

/// Returns the levels from near to far.
fn levels(matrix: &Matrix) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for threshold in thresholds(matrix) {
        let groups = matrix.connected(threshold);
        let found = match groups.iter().all(|group| group.len() == groups[0].len()) {
            true => Some((groups, None)),
            false => levels.last().and_then(|below| with_home(groups, below)),
        };
        let Some((groups, home)) = found.filter(|(groups, _)| groups[0].len() > 1) else {
            continue;
        };
        let mut level = Level { groups, home, ns: 0.0 };
        if levels.last().is_some_and(|below| !level.size().is_multiple_of(below.size())) {
            continue;
        }
        let of: Vec<usize> = (0..matrix.cpus().len()).map(|cpu| level.group_of(cpu)).collect();
        let inside = |home: Option<usize>| {
            let same = |&((a, b), _): &((usize, usize), f64)| {
                of[a] == of[b] && home.is_none_or(|home| of[a] == home)
            };
            matrix.pairs().filter(same).map(|(_, ns)| ns).collect::<Vec<f64>>()
        };
        let inside = inside(level.home);
        let near = inside.iter().filter(|ns| **ns < threshold).count();
        if (near as f64) < NEAR * inside.len() as f64 {
            continue;
        }
        let least = levels.last().map_or(0.0, |below| below.ns);
        let own: Vec<f64> = inside.into_iter().filter(|ns| *ns > least * GAP).collect();
        level.ns = statistics::median(&own).unwrap_or(threshold);
        if levels.last().is_none_or(|below| level.size() > below.size()) {
            levels.push(level);
        }
    }
    levels
}

/// If one group is larger than the others, and the others are groups of the level below: returns
/// groups of one size, and the index of the larger group.
fn with_home(groups: Vec<Vec<usize>>, below: &Level) -> Option<(Vec<Vec<usize>>, Option<usize>)> {
    let size = groups.iter().map(Vec::len).max()?;
    let large: Vec<&Vec<usize>> = groups.iter().filter(|group| group.len() == size).collect();
    let small: Vec<&Vec<usize>> = groups.iter().filter(|group| group.len() != size).collect();
    let [home] = large.as_slice() else { return None };
    let is_below = small.iter().all(|group| group.len() == below.size());
    let all: usize = groups.iter().map(Vec::len).sum();
    if !is_below || !size.is_multiple_of(below.size()) || !all.is_multiple_of(size) {
        return None;
    }
    let mut whole: Vec<Vec<usize>> = vec![(*home).clone()];
    for part in small.chunks(size / below.size()) {
        let mut group: Vec<usize> = part.iter().flat_map(|group| group.iter().copied()).collect();
        group.sort_unstable();
        whole.push(group);
    }
    whole.sort();
    let home = whole.iter().position(|group| group == *home);
    Some((whole, home))
}

/// Finds the topology of a matrix. If `complexes`, two distances beyond a core are distances within
/// and between complexes; otherwise, within and between sockets.
pub(super) fn find(matrix: &Matrix, complexes: bool) -> Placed {
    let mut levels = levels(matrix);
    let mut notes = Vec::new();
    let all = matrix.cpus().len();
    let is_core = |level: &Level| level.size() <= 8 && level.ns <= SIBLINGS_NS;
    let core = levels.first().is_some_and(is_core).then(|| levels.remove(0));
    if levels.len() > 2 {
        let farther = levels.split_off(2);
        notes.push(format!(
            "beyond groups of {} CPUs there are more distances, up to groups of {}: all are taken \
             as one distance between sockets",
            levels[1].size(),
            farther.last().map_or(all, Level::size)
        ));
    }
    let mut levels = levels.into_iter();
    let (complex, socket) = match (levels.next(), levels.next()) {
        (None, _) => (None, None),
        (Some(one), None) if complexes && one.home.is_none() => {
            notes.push(
                "one distance beyond a complex: taken as that of complexes of one socket \
                 (--topology says otherwise)"
                    .to_owned(),
            );
            (Some(one), None)
        }
        (Some(one), None) => {
            notes.push(
                "one distance beyond a group of cores: taken as that of sockets (--topology says \
                 otherwise)"
                    .to_owned(),
            );
            (None, Some(one))
        }
        (some, other) => (some, other),
    };
    let home = socket.as_ref().and_then(|socket| socket.home);
    if let Some(home) = home {
        notes.push(format!(
            "complexes within other sockets than {home} are as far from each other as sockets are: \
             the word lives in socket {home}, and the other sockets' complexes are grouped in the \
             order of their numbers"
        ));
    }
    let of = |level: &Option<Level>, cpu: usize, otherwise: usize| {
        level.as_ref().map_or(otherwise, |level| level.group_of(cpu))
    };
    let at = |cpu: usize| {
        let package = of(&socket, cpu, 0);
        CpuAt {
            cpu: matrix.cpus()[cpu],
            package,
            complex: of(&complex, cpu, package),
            core: of(&core, cpu, cpu),
        }
    };
    Placed { cpus: (0..all).map(at).collect(), home, notes }
}

/// Places CPUs on a given topology, in the numbering that suits the matrix better: siblings last,
/// as most systems number them, or side by side.
///
/// # Errors
///
/// If the numbers of CPUs differ.
pub(super) fn given(matrix: &Matrix, topology: Topology) -> Result<Placed, String> {
    let all = matrix.cpus().len();
    if topology.cpus() != all {
        return Err(format!(
            "--topology has {} hardware threads; the matrix has {all} CPUs",
            topology.cpus()
        ));
    }
    let cores = all / topology.threads;
    let numbered = |last: bool| {
        let at = |cpu: usize| {
            let core = if last { cpu % cores } else { cpu / topology.threads };
            let complex = core / topology.cores;
            let package = complex / topology.complexes;
            CpuAt { cpu: matrix.cpus()[cpu], package, complex, core }
        };
        (0..all).map(at).collect::<Vec<CpuAt>>()
    };
    let [last, beside] = [true, false].map(numbered);
    let cpus = if spread(matrix, &beside) < spread(matrix, &last) { beside } else { last };
    Ok(Placed { cpus, home: None, notes: Vec::new() })
}

/// Returns the sum of squared differences of the latencies' logarithms from the medians of their
/// distances.
fn spread(matrix: &Matrix, cpus: &[CpuAt]) -> f64 {
    let distance = |a: usize, b: usize| {
        let (a, b) = (cpus[a], cpus[b]);
        usize::from(a.core != b.core)
            + usize::from(a.complex != b.complex)
            + usize::from(a.package != b.package)
    };
    let mut logs: [Vec<f64>; 4] = Default::default();
    for ((a, b), ns) in matrix.pairs() {
        logs[distance(a, b)].push(ns.ln());
    }
    let of_one = |logs: &Vec<f64>| {
        let middle = statistics::median(logs).unwrap_or_default();
        logs.iter().map(|log| (log - middle).powi(2)).sum::<f64>()
    };
    logs.iter().map(of_one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a matrix of CPUs whose latencies are a function of two numbers.
    fn matrix(cpus: usize, ns: impl Fn(usize, usize) -> f64) -> Matrix {
        let line = |a: usize| (0..a).map(|b| ns(b, a).to_string()).collect::<Vec<_>>().join(",");
        let text: Vec<String> = (0..cpus).map(line).collect();
        Matrix::parse("m", &format!("{}\n", text.join("\n"))).unwrap()
    }

    #[test]
    fn a_topology_is_read() {
        let of = |text: &str| Topology::parse(text);
        assert_eq!(of("2x1x24x2").unwrap().cpus(), 96);
        for wrong in ["", "2x1x24", "2x1x24x0", "axbxcxd", "1x1x1x1x1", "9999x1x1x1"] {
            assert!(of(wrong).unwrap_err().contains("such as 2x1x24x2"), "{wrong}");
        }
    }

    #[test]
    fn four_levels_are_found_wherever_siblings_have_their_numbers() {
        // Two sockets x two complexes x two cores x two threads.
        for last in [true, false] {
            let core = |cpu: usize| if last { cpu % 8 } else { cpu / 2 };
            let ns = |a: usize, b: usize| match (core(a), core(b)) {
                (a, b) if a == b => 7.0 + b as f64 / 10.0,
                (a, b) if a / 2 == b / 2 => 20.0 + b as f64 / 10.0,
                (a, b) if a / 4 == b / 4 => 90.0 + b as f64,
                (_, b) => 200.0 + b as f64,
            };
            let matrix = matrix(16, ns);
            let found = find(&matrix, false);
            assert_eq!((found.home, &found.notes), (None, &Vec::new()));
            assert_eq!(found.cpus.len(), 16);
            let topology = Topology { sockets: 2, complexes: 2, cores: 2, threads: 2 };
            let given = given(&matrix, topology).unwrap();
            for (a, b) in found.cpus.iter().zip(&given.cpus) {
                assert_eq!((a.package, a.complex), (b.package, b.complex), "last {last}");
            }
        }
    }

    #[test]
    fn complexes_that_are_far_because_the_word_lives_elsewhere_are_one_socket() {
        let ns = |a: usize, b: usize| match (a, b) {
            (a, b) if a / 4 == b / 4 => 25.0,
            // Sockets are 0 to 7 and 8 to 15; the word lives in the second.
            (a, b) if a / 8 == 1 && b / 8 == 1 => 90.0,
            _ => 155.0,
        };
        let found = find(&matrix(16, ns), false);
        assert_eq!(found.home, Some(1));
        assert!(found.cpus.iter().all(|at| at.package == at.cpu / 8 && at.complex == at.cpu / 4));
        assert!(found.notes[0].contains("the word lives in socket 1"), "{:?}", found.notes);
    }

    #[test]
    fn latencies_without_groups_are_one_complex() {
        let found = find(&matrix(6, |a, b| 40.0 + (a * 7 + b * 3) as f64 % 5.0), true);
        assert!(found.cpus.iter().all(|at| at.package == 0 && at.complex == 0));
        let odd = find(&matrix(5, |a, b| if a / 2 == b / 2 { 10.0 } else { 50.0 }), true);
        assert!(odd.cpus.iter().all(|at| at.complex == 0 && at.core == at.cpu), "not of one size");
    }

    #[test]
    fn two_distances_are_complexes_or_sockets() {
        let matrix = matrix(8, |a, b| if a / 4 == b / 4 { 18.0 } else { 85.0 });
        let packages = |complexes| {
            let found = find(&matrix, complexes).cpus;
            (found.iter().map(|at| at.package).max(), found.iter().map(|at| at.complex).max())
        };
        assert_eq!(packages(true), (Some(0), Some(1)));
        assert_eq!(packages(false), (Some(1), Some(1)));
    }

    #[test]
    fn a_given_topology_must_have_the_matrix_s_cpus() {
        let topology = Topology { sockets: 1, complexes: 1, cores: 4, threads: 2 };
        let error = given(&matrix(4, |_, _| 10.0), topology).unwrap_err();
        assert_eq!(error, "--topology has 8 hardware threads; the matrix has 4 CPUs");
    }
}
