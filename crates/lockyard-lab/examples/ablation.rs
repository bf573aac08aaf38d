//! Effect of each mechanism of the simulated machine: errors with that mechanism switched off.
//! Nothing is fitted again.
//!
//! ```text
//! cargo run --release -p lockyard-lab --example ablation
//! ```
//!
//! Prints the median |error| in per cent of:
//!
//! - the training tables, at twelve thread counts
//! - the cells reported as predictions in the tables of primitives (without Broadwell-EX at 64 and
//!   128 threads)
//!
//! The calibrated local work stays the same. Tables of whole programs are left out, because they
//! depend more on their scripts than on mechanisms.

use lockyard_lab::training;
use lockyard_predict::simulate::Runs;
use lockyard_predict::{names, request};
use lockyard_results::row::Status;
use lockyard_results::{published, statistics};
use lockyard_scenarios::Script;
use lockyard_sim::{Machine, ServiceOrder};
use lockyard_support::jobs;
use std::collections::BTreeSet;

/// Tables of primitives.
const TABLES: [&str; 3] = ["lockref-will-it-scale", "qspinlock-loop", "page-ref"];

const THREADS: [usize; 12] = [1, 2, 4, 8, 16, 24, 32, 44, 48, 60, 72, 88];

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

fn median(errors: &[f64]) -> String {
    statistics::median(errors).map_or("-".to_owned(), |median| format!("{:.1}", median * 100.0))
}

fn train(change: Change, jobs: usize) -> [Vec<f64>; 2] {
    let cells: Vec<_> = training::cells()
        .0
        .into_iter()
        .filter(|cell| THREADS.contains(&cell.threads) && cell.table.starts_with("lockhammer"))
        .collect();
    let error = |cell: &training::TrainingCell| {
        let machine = change(names::machine(cell.machine).ok()?)?;
        let figure = training::simulate(&machine, cell, 1).ok()?;
        Some((figure / cell.published - 1.0).abs())
    };
    let errors: Vec<Option<f64>> =
        jobs::run(&cells, jobs, error, || ()).into_iter().map(Option::flatten).collect();
    ["lockhammer_x86-2", "lockhammer_x86-3"].map(|table| {
        let of_table = cells.iter().zip(&errors).filter(|(cell, _)| cell.table == table);
        // A cell that fails to run counts as the worst error.
        of_table.map(|(_, error)| error.unwrap_or(f64::INFINITY)).collect()
    })
}

fn predicted(
    change: Change,
    table: &published::PublishedTable,
    all: &[published::PublishedTable],
    jobs: usize,
) -> Vec<f64> {
    let mut places = BTreeSet::new();
    for cell in &table.cells {
        places.insert((cell.key.experiment.clone(), cell.key.machine.clone()));
    }
    let mut errors = Vec::new();
    for (experiment, name) in places {
        let Some(script) = Script::shipped(&experiment) else { continue };
        let Ok(machine) = names::machine(&name) else { continue };
        let Some(machine) = change(machine) else { continue };
        let threads: BTreeSet<usize> = table
            .cells
            .iter()
            .filter(|cell| cell.key.experiment == experiment && cell.key.machine == name)
            .filter_map(|cell| cell.key.threads)
            .filter(|&threads| !(name.starts_with("broadwell-ex") && threads >= 64))
            .collect();
        let request = request::PredictRequest {
            script,
            machine,
            variants: Vec::new(),
            threads: threads.into_iter().collect(),
            placement: None,
            runs: Runs::default(),
            intervals: false,
            sensitivity: false,
            attribution: false,
            trace: false,
            jobs,
        };
        match request::run(&request, all, &|| ()) {
            Ok(found) => errors.extend(
                found
                    .rows
                    .iter()
                    .filter(|row| row.status == Status::Predicted)
                    .filter_map(|row| row.error())
                    .map(f64::abs),
            ),
            Err(_) => errors.push(f64::INFINITY),
        }
    }
    errors
}

fn main() {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let tables = published::shipped().expect("the shipped tables are valid");
    println!("| switched off | x86-2 | x86-3 | {} |", TABLES.join(" | "));
    println!("|---|---|---|{}", "---|".repeat(TABLES.len()));
    for (name, change) in MECHANISMS {
        let mut columns: Vec<String> =
            train(*change, jobs).iter().map(|errors| median(errors)).collect();
        let shown =
            TABLES.iter().filter_map(|name| tables.iter().find(|table| table.name == *name));
        columns.extend(shown.map(|table| median(&predicted(*change, table, &tables, jobs))));
        println!("| {name} | {} |", columns.join(" | "));
    }
}
