//! The machine of a latency matrix: latencies solved from the hand-overs, all other numbers from a
//! relative, and the error on each pair.

use super::topology::{self, Placed};
use super::{Matrix, Topology};
use crate::calibrate_host::{
    Calibrated, CalibratedProcessor, Given, Layout, LineDistance, Measurements, Pair, PairFigure,
    calibrate,
};
use lockyard_predict::machine::known_figures;
use lockyard_results::row::Measured;
use lockyard_results::statistics;
use lockyard_sim::Machine;
use std::collections::BTreeMap;

/// Request of the user.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Short name of the file with the matrix.
    pub origin: String,
    /// Name of the machine.
    pub name: String,
    /// Shipped machine that provides the numbers that are not in the matrix.
    pub relative: String,
    /// Topology, if it is given instead of derived from the matrix.
    pub topology: Option<Topology>,
    /// Clock in GHz, if it is known.
    pub ghz: Option<f64>,
    /// Today's date.
    pub date: String,
}

/// Hand-overs at one distance.
#[derive(Clone, Debug, PartialEq)]
pub struct AtDistance {
    /// Distance.
    pub distance: LineDistance,
    /// Number of pairs.
    pub pairs: usize,
    /// Median of the matrix, in nanoseconds.
    pub published: f64,
    /// Median of the simulated hand-overs.
    pub simulated: f64,
}

/// A machine made from a matrix.
#[derive(Clone, Debug)]
pub struct Made {
    /// The machine and its file.
    pub calibrated: Calibrated,
    /// Description of the topology.
    pub layout: String,
    /// Hand-overs by distance.
    pub distances: Vec<AtDistance>,
    /// Number of pairs.
    pub pairs: usize,
    /// Median of the absolute errors over all pairs.
    pub median_error: f64,
    /// Their 90th percentile.
    pub p90_error: f64,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Makes a machine.
///
/// # Errors
///
/// One line if the topology does not fit, or no machine has such hand-overs.
pub fn make(matrix: &Matrix, asked: &Asked) -> Result<Made, String> {
    let placed = match asked.topology {
        Some(topology) => topology::given(matrix, topology)?,
        None => topology::find(matrix, has_complexes(&asked.relative)),
    };
    let layout = Layout::new(&placed.cpus);
    let measurements = measurements(matrix, &layout, &placed, asked);
    let calibrated = calibrate(&measurements, Some(&asked.name))?;
    Ok(made(matrix, &layout, &placed, calibrated))
}

/// Compares a machine with every pair of the matrix.
fn made(matrix: &Matrix, layout: &Layout, placed: &Placed, calibrated: Calibrated) -> Made {
    let simulated = simulate(matrix, layout, placed, &calibrated.machine);
    let errors: Vec<f64> =
        matrix.pairs().zip(&simulated).map(|((_, ns), found)| (found / ns - 1.0).abs()).collect();
    let quantile = |share: f64| statistics::quantile(&errors, share).unwrap_or(f64::NAN);
    let mut notes = placed.notes.clone();
    notes.extend(layout.notes.iter().cloned());
    notes.extend(calibrated.notes.iter().cloned());
    Made {
        layout: layout.describe(),
        distances: distances(matrix, layout, &simulated),
        pairs: matrix.len(),
        median_error: quantile(0.5),
        p90_error: quantile(0.9),
        notes,
        calibrated,
    }
}

/// Makes a machine from a whole measurement of a host, which has more than the latencies.
///
/// # Errors
///
/// One line if no machine has such figures.
pub fn make_of_host(measurements: &Measurements, name: Option<&str>) -> Result<Made, String> {
    let calibrated = calibrate(measurements, name)?;
    let layout = &measurements.layout;
    let hand_overs = measurements.pairs.iter().filter(|pair| pair.what == Pair::HandOver);
    let pairs = hand_overs.map(|pair| (pair.tasks, pair.figure.value));
    let matrix = Matrix::of(layout.cpus(), pairs);
    let placed = Placed { cpus: layout.cpus_at(), home: None, notes: measurements.notes.clone() };
    Ok(made(&matrix, layout, &placed, calibrated))
}

/// Returns true if processors like this machine have several complexes per socket.
fn has_complexes(relative: &str) -> bool {
    let complexes = |machine: Machine| machine.complexes() > machine.sockets();
    // The one AMD machine with a single complex is a notebook.
    relative.starts_with("zen") || Machine::shipped(relative).is_some_and(complexes)
}

/// Returns the matrix as measurements of a host. If the word has a home, the distance between
/// complexes is measured in the home socket, and the distance between sockets is measured from the
/// home socket.
fn measurements(matrix: &Matrix, layout: &Layout, placed: &Placed, asked: &Asked) -> Measurements {
    let at_home = |task: usize| placed.home.is_none_or(|home| placed.cpus[task].package == home);
    let counts = |&((a, b), _): &((usize, usize), f64)| match layout.distance(a, b) {
        LineDistance::Core | LineDistance::Complex => true,
        LineDistance::Socket => at_home(a) && at_home(b),
        LineDistance::Remote => at_home(a) || at_home(b),
    };
    let pair = |(tasks, ns): ((usize, usize), f64)| PairFigure {
        what: Pair::HandOver,
        tasks,
        figure: Measured { value: ns, ci_low: ns, ci_high: ns, samples: 1 },
        series: Vec::new(),
    };
    Measurements {
        given: Given {
            origin: Some(format!("latencies of {}", asked.origin)),
            relative: Some(asked.relative.clone()),
            ghz: asked.ghz,
        },
        processor: CalibratedProcessor {
            name: asked.name.clone(),
            ..CalibratedProcessor::default()
        },
        layout: layout.clone(),
        date: asked.date.clone(),
        seconds: 0.0,
        rounds: 0,
        alone: Vec::new(),
        pairs: matrix.pairs().filter(counts).map(pair).collect(),
        contended: Vec::new(),
        beside_sibling: None,
        siblings: Vec::new(),
        kernel: Vec::new(),
        lost: 0.0,
        notes: Vec::new(),
    }
}

/// Simulates the hand-over of each pair, with the word at its home. Pairs that are alike are
/// simulated once. Without a known home, the word lives in the socket of the pair's first CPU.
fn simulate(matrix: &Matrix, layout: &Layout, placed: &Placed, machine: &Machine) -> Vec<f64> {
    let mut known: BTreeMap<(LineDistance, bool, bool), f64> = BTreeMap::new();
    let one = |((a, b), _): ((usize, usize), f64)| {
        let places = [layout.place(a), layout.place(b)];
        let sockets = places.map(|place| machine.place(place).socket);
        let home = placed.home.unwrap_or(sockets[0]);
        let alike = (layout.distance(a, b), sockets[0] == home, sockets[1] == home);
        *known
            .entry(alike)
            .or_insert_with(|| known_figures::ping_pong_between(machine, places, home))
    };
    matrix.pairs().map(one).collect()
}

fn distances(matrix: &Matrix, layout: &Layout, simulated: &[f64]) -> Vec<AtDistance> {
    let of = |distance: LineDistance| {
        let here = matrix
            .pairs()
            .zip(simulated)
            .filter(|(((a, b), _), _)| layout.distance(*a, *b) == distance);
        let (published, simulated): (Vec<f64>, Vec<f64>) =
            here.map(|((_, ns), found)| (ns, *found)).unzip();
        Some(AtDistance {
            distance,
            pairs: published.len(),
            published: statistics::median(&published)?,
            simulated: statistics::median(&simulated)?,
        })
    };
    LineDistance::ALL.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(file: &str, text: &str, relative: &str) -> Made {
        let asked = Asked {
            origin: file.to_owned(),
            name: "mine".to_owned(),
            relative: relative.to_owned(),
            topology: None,
            ghz: None,
            date: "2026-01-31".to_owned(),
        };
        let made = make(&Matrix::parse(file, text).unwrap(), &asked).unwrap();
        println!("{}: {:.3} {:.3}", made.layout, made.median_error, made.p90_error);
        made
    }

    fn topology(made: &Made) -> [usize; 4] {
        let machine = &made.calibrated.machine;
        let complexes = machine.complexes() / machine.sockets();
        let cores = machine.cores_per_complex();
        [machine.sockets(), complexes, cores, machine.threads_per_core()]
    }

    /// Published matrices of `core-to-core-latency`, see `machines/latencies/README.md`.
    macro_rules! published {
        ($name:literal) => {
            include_str!(concat!("../../../../machines/latencies/", $name, ".csv"))
        };
    }

    #[test]
    fn a_desktop_of_two_complexes_is_found_in_its_matrix() {
        let made = made("5950x.csv", published!("ryzen-9-5950x"), "zen4-7840u");
        assert_eq!(topology(&made), [1, 2, 8, 2]);
        assert!(made.median_error < 0.03 && made.p90_error < 0.10, "{made:?}");
        assert_eq!(made.pairs, 496);
    }

    #[test]
    fn two_sockets_are_found_in_their_matrix() {
        let made = made("x5650.csv", published!("dual-xeon-x5650"), "westmere-ex-4s10c");
        assert_eq!(topology(&made), [2, 1, 6, 2]);
        assert!(made.median_error < 0.03 && made.p90_error < 0.10, "{made:?}");
    }

    #[test]
    fn nodes_of_two_complexes_are_found_though_those_of_one_node_seem_far() {
        let made = made("1950x.csv", published!("threadripper-1950x"), "zen4-7840u");
        assert_eq!(topology(&made), [2, 2, 4, 2]);
        let notes = made.notes.join("\n");
        assert!(notes.contains("the word lives in socket 1"), "{notes}");
        assert!(made.median_error < 0.05 && made.p90_error < 0.15, "{made:?}");
        let inputs = made.calibrated.machine.checks().iter().filter(|check| check.is_input);
        assert_eq!(inputs.count(), 4, "{:?}", made.calibrated.machine.checks());
    }

    #[test]
    fn what_is_not_in_the_matrix_is_assumed_and_the_file_says_so() {
        let made = made("5950x.csv", published!("ryzen-9-5950x"), "zen4-7840u");
        let machine = &made.calibrated.machine;
        for name in ["clock.ghz", "cycles.rmw_lock", "cycles.leg", "protocol.store_buffer"] {
            let parameter = machine.parameter(name).expect("it has the number");
            assert!(parameter.assumed.is_some(), "{parameter:?}");
        }
        let source = machine.parameter("cycles.complex_leg").and_then(|p| p.source.clone());
        assert!(source.is_some_and(|source| source.contains("5950x.csv")), "{machine:?}");
        assert!(made.calibrated.file.contains("Written by `lockyard machines new`, 2026-01-31"));
    }
}
