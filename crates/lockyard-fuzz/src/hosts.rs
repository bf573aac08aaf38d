//! Descriptions of a host by other programs: standard measurements, latencies between cores,
//! topologies.

use crate::errors::{ORIGIN, check, check_in, text};
use lockyard_lab::from_pingpong::{Matrix, Topology};
use lockyard_lab::standard;

/// Measurements are the same after they were written and read.
pub(crate) fn measurements(input: &[u8]) {
    let Some(text) = text(input) else { return };
    match standard::read(ORIGIN, text) {
        Err(error) => check_in(text, &error),
        Ok(found) => {
            let written = standard::write(&found, &[], None);
            let again = standard::read(ORIGIN, &written);
            assert_eq!(again.as_ref(), Ok(&found), "{written}");
        }
    }
}

/// A matrix has a latency above 0 for pairs of its own CPUs.
pub(crate) fn latencies(input: &[u8]) {
    let Some(text) = text(input) else { return };
    match Matrix::parse(ORIGIN, text) {
        Err(error) => check_in(text, &error),
        Ok(matrix) => {
            let cpus = matrix.cpus().len();
            assert!(matrix.cpus().is_sorted_by(|a, b| a < b), "{:?}", matrix.cpus());
            for ((a, b), ns) in matrix.pairs() {
                assert!(a < b && b < cpus && ns > 0.0 && ns.is_finite(), "{a} {b} {ns}");
            }
        }
    }
    match Topology::parse(text) {
        Err(error) => check(&error),
        Ok(topology) => {
            let Topology { sockets, complexes, cores, threads } = topology;
            let again = Topology::parse(&format!("{sockets}x{complexes}x{cores}x{threads}"));
            assert_eq!(again, Ok(topology));
        }
    }
}
