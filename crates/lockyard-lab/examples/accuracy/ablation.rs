//! Errors with each mechanism of the simulated machine switched off. Nothing is fitted again, and
//! the calibrated local work stays the same.
//!
//! Tables of whole programs are left out, because they depend more on their scripts than on
//! mechanisms. Rows that the author of a table doubts are left out too. Runs are shorter than for
//! the tables.

use crate::shown::errors;
use lockyard_lab::reproduce::PRIMITIVES;
use lockyard_lab::training::{self, TrainingCell};
use lockyard_predict::calibration::{Calibrated, calibrated};
use lockyard_predict::names;
use lockyard_predict::request::{PredictRequest, run_calibrated};
use lockyard_predict::simulate::{RunLength, Runs};
use lockyard_results::published::{self, PublishedTable};
use lockyard_results::row::Status;
use lockyard_scenarios::Script;
use lockyard_sim::{Machine, ServiceOrder};
use lockyard_support::jobs;
use std::collections::BTreeSet;

/// Numbers of threads of training cells.
const THREADS: [usize; 7] = [1, 2, 8, 24, 44, 64, 88];

type Change = fn(Machine) -> Option<Machine>;

/// Mechanisms, each with the change that switches it off.
const MECHANISMS: &[(&str, Change)] = &[
    ("nothing", Some),
    ("agents serve in FIFO order", |m| Some(m.with_order(ServiceOrder::Fifo))),
    ("no ownership window", |m| {
        m.with("cycles.hold_exclusive", 0.0)?.with("cycles.hold_shared", 0.0)
    }),
    ("no hold after a read demotes", |m| m.with("cycles.hold_shared", 0.0)),
    ("no hold after a grant", |m| m.with("protocol.granted_legs", 0.0)),
    ("constant hold after a grant", |m| m.with("protocol.granted_spread", 0.0)),
    ("idle sockets answer at once", |m| m.with("cycles.idle_answer", 0.0)),
    ("requests of other sockets weigh as much as local ones", |m| {
        m.with("protocol.snoop_weight", 1.0)
    }),
    ("a wrong guess costs no redirect", |m| m.with("protocol.redirect", 0.0)),
    ("no jitter", |m| m.with("cycles.jitter", 0.0)),
    ("shared reads at once", |m| m.with("cycles.shared_read", 5.0)),
    ("a store buffer of one", |m| m.with("protocol.store_buffer", 1.0)),
    ("locked operations lock from the start", |m| {
        let before = m.parameter("cycles.rmw_before_lock")?;
        let before: f64 = before.value.to_string().parse().ok()?;
        let lock = m.parameter("cycles.rmw_lock")?;
        let lock: f64 = lock.value.to_string().parse().ok()?;
        m.with("cycles.rmw_before_lock", 0.0)?.with("cycles.rmw_lock", lock + before)
    }),
    ("siblings do not slow each other", |m| m.with("protocol.smt_slowdown", 1.0)),
    ("siblings share no ownership", |m| m.with("cycles.sibling_turn", 500.0)),
    ("no directory look-up", |m| m.with("cycles.directory", 0.0)),
    ("nothing is done ahead", |m| m.with("protocol.run_ahead", 0.0)),
    ("loads before locked operations fetch exclusively", |m| {
        m.with("protocol.exclusive_loads", 1.0)
    }),
    ("a load behind a locked operation takes 5 cycles", |m| {
        m.with("protocol.load_behind_lock", 5.0)
    }),
    ("stores ask for their lines early", |m| m.with("protocol.early_stores", 1.0)),
    ("a pause of one cycle", |m| m.with("cycles.pause", 1.0)),
];

/// Returns the errors of training cells.
fn train(change: Change, cells: &[TrainingCell], jobs: usize) -> Vec<f64> {
    let error = |cell: &TrainingCell| {
        let machine = change(names::machine(cell.machine).ok()?)?;
        Some((crate::left_out::figure(&machine, cell, 1) / cell.published - 1.0).abs())
    };
    let found = jobs::run(cells, jobs, error, || ()).into_iter();
    // A cell that fails to run counts as the worst error.
    found.map(|error| error.flatten().unwrap_or(f64::INFINITY)).collect()
}

/// Published cells of one scenario on one machine.
struct Published {
    script: Script,
    machine: Machine,
    threads: Vec<usize>,
    calibrations: Vec<Calibrated>,
}

/// Returns the cells of the tables of primitives.
fn published_cells(tables: &[PublishedTable]) -> Vec<Published> {
    let cells = tables.iter().filter(|table| PRIMITIVES.contains(&table.name.as_str()));
    let cells: Vec<_> = cells.flat_map(|table| &table.cells).collect();
    let places: BTreeSet<(&str, &str)> = cells
        .iter()
        .map(|cell| (cell.key.experiment.as_str(), cell.key.machine.as_str()))
        .collect();
    let of = |(experiment, name): (&str, &str)| {
        let script = Script::shipped(experiment)?;
        let machine = names::machine(name).ok()?;
        let here = cells
            .iter()
            .filter(|cell| cell.key.experiment == experiment && cell.key.machine == name);
        let is_doubted = |threads: usize| script.doubt(name, threads).is_some();
        let threads: BTreeSet<usize> =
            here.filter_map(|cell| cell.key.threads).filter(|&t| !is_doubted(t)).collect();
        let of_variant = |variant| calibrated(&script, variant, name, tables).ok();
        let calibrations: Option<Vec<Calibrated>> =
            script.variants.iter().map(of_variant).collect();
        let calibrations = calibrations?;
        Some(Published { script, machine, threads: threads.into_iter().collect(), calibrations })
    };
    places.into_iter().filter_map(of).collect()
}

/// Returns the errors of published cells.
fn predict(
    change: Change,
    cells: &[Published],
    tables: &[PublishedTable],
    jobs: usize,
) -> Vec<f64> {
    let mut errors = Vec::new();
    for Published { script, machine, threads, calibrations } in cells {
        let Some(machine) = change(machine.clone()) else { continue };
        let request = PredictRequest {
            runs: Runs { length: RunLength::Quick, seed: None },
            jobs,
            ..PredictRequest::new(script.clone(), machine, threads.clone())
        };
        match run_calibrated(&request, calibrations, tables, &|| ()) {
            Ok(found) => {
                let rows = found.rows.iter().filter(|row| row.status == Status::Predicted);
                errors.extend(rows.filter_map(|row| row.error()).map(f64::abs));
            }
            Err(_) => errors.push(f64::INFINITY),
        }
    }
    errors
}

/// Returns the errors without each mechanism.
pub(crate) fn section(jobs: usize) -> String {
    let tables = published::shipped().expect("the shipped tables are valid");
    let primitives = published_cells(&tables);
    let (cells, _) = training::cells();
    let hosts = ["lockhammer_x86-1", "lockhammer_x86-2", "lockhammer_x86-3"];
    let of_hosts = hosts.map(|table| {
        let here = |cell: &&TrainingCell| cell.table == table && THREADS.contains(&cell.threads);
        cells.iter().filter(here).cloned().collect::<Vec<TrainingCell>>()
    });
    let columns = "x86-1 | | x86-2 | | x86-3 | | primitives | |";
    let mut text = format!("| switched off | {columns}\n|{}\n", " --- |".repeat(9));
    for (name, change) in MECHANISMS {
        let mut shown: Vec<String> =
            of_hosts.iter().map(|cells| errors(&train(*change, cells, jobs))).collect();
        shown.push(errors(&predict(*change, &primitives, &tables, jobs)));
        text += &format!("| {name} | {} |\n", shown.join(" | "));
        eprintln!("{name}: {}", shown.join(" | "));
    }
    text
}
