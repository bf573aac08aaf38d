//! The training tables are read completely, and the simulated machines match them.

use lockyard_lab::training;
use lockyard_predict::names;
use lockyard_results::statistics;
use lockyard_support::jobs;

#[test]
fn every_cell_is_positive_and_none_is_lost() {
    let (cells, left) = training::cells();
    let count = |table: &str| cells.iter().filter(|cell| cell.table == table).count();
    // Five programs, four settings of work, 48, 88 and 64 thread counts, minus the cells without
    // overlap: 2 and 3 threads without work.
    let lockhammer = ["x86-2", "x86-3", "x86-1"].map(|host| count(&format!("lockhammer_{host}")));
    assert_eq!(lockhammer, [950, 1750, 1270]);
    assert_eq!(lockhammer.iter().sum::<usize>() + left.not_overlapping, 20 * (48 + 88 + 64));
    assert_eq!(left.not_overlapping, 3 * 5 * 2);
    assert_eq!(count("concurrency_hierarchy_skylake"), 5 * 4);
    for cell in &cells {
        assert!(cell.published > 0.0, "{cell:?}");
        let machine = names::machine(cell.machine).expect("it is shipped");
        assert!(cell.threads <= machine.hardware_threads(), "{cell:?}");
    }
}

/// Returns the median and the 90th percentile of the absolute errors, for a table's cells with
/// these thread counts.
fn errors(table: &str, threads: &[usize]) -> (f64, f64) {
    let (cells, _) = training::cells();
    let cells: Vec<_> =
        cells.into_iter().filter(|c| c.table == table && threads.contains(&c.threads)).collect();
    let error = |cell: &training::TrainingCell| {
        let machine = names::machine(cell.machine).expect("it is shipped");
        let figure = training::simulate(&machine, cell, 1).expect("it runs");
        (figure / cell.published - 1.0).abs()
    };
    let errors: Vec<f64> = jobs::run(&cells, 2, error, || ()).into_iter().flatten().collect();
    assert_eq!(errors.len(), cells.len());
    let of = |q| statistics::quantile(&errors, q).expect("there are cells");
    (of(0.5), of(0.9))
}

// Simulated figures are the same on every host, so the bounds cannot fail by chance.

#[test]
fn one_socket_with_a_mesh_is_met() {
    let (median, p90) = errors("lockhammer_x86-2", &[6, 12, 20, 28, 36, 44]);
    println!("median {median:.3}, 90th percentile {p90:.3}");
    assert!(median <= 0.04 && p90 <= 0.20, "{median} {p90}");
}

#[test]
fn two_sockets_with_a_ring_are_met() {
    let (median, p90) = errors("lockhammer_x86-3", &[6, 20, 40, 64, 80]);
    println!("median {median:.3}, 90th percentile {p90:.3}");
    assert!(median <= 0.10 && p90 <= 0.35, "{median} {p90}");
}
