//! Bounded queues beside a published table on which nothing was fitted.
//!
//! ```text
//! cargo study queues [MACHINE ...]
//! ```
//!
//! Prints the round trip of a message through two queues, and each cell of the table: nanoseconds a
//! message, simulated, with the error (simulated / published - 1). A MACHINE is a file that takes
//! the place of the shipped machine of its name: `zen3-5825u` or `skylake-sp-2s14c`.

use lockyard_lab::training::{Queue, queue_cells, simulate_queue, simulate_round_trip};
use lockyard_results::statistics::{median, quantile};
use lockyard_sim::Machine;
use lockyard_support::jobs;
use std::collections::BTreeMap;

/// Number of runs per cell, each with a different seed.
const SEEDS: u64 = 2;

fn machines() -> Result<BTreeMap<String, Machine>, String> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let shipped = ["zen3-5825u", "skylake-sp-2s14c"].map(str::to_owned).to_vec();
    let mut machines = BTreeMap::new();
    for name in if given.is_empty() { &shipped } else { &given } {
        let machine = lockyard_predict::names::machine(name).map_err(|error| error.to_string())?;
        if !shipped.iter().any(|shipped| shipped == machine.name()) {
            let allowed = shipped.join(", ");
            return Err(format!("`{}` is no host of the table: {allowed}", machine.name()));
        }
        machines.insert(machine.name().to_owned(), machine);
    }
    Ok(machines)
}

fn main() {
    let machines = machines().unwrap_or_else(|error| {
        eprintln!("queues: {error}");
        std::process::exit(2);
    });
    for (name, machine) in &machines {
        for queue in [Queue::Exchange, Queue::Add, Queue::Lock] {
            for siblings in [false, true] {
                if siblings && machine.threads_per_core() == 1 {
                    continue;
                }
                let beside = if siblings { ", on one core" } else { "" };
                match simulate_round_trip(machine, queue, siblings) {
                    Ok(figure) => println!("{name} {queue:?}{beside}: round trip {figure:.0} ns"),
                    Err(error) => println!("{name} {queue:?}{beside}: {error}"),
                }
            }
        }
    }
    let cells = queue_cells();
    let cells: Vec<_> = cells.iter().filter(|c| machines.contains_key(c.machine)).collect();
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let figure = |cell: &&lockyard_lab::training::QueueCell| {
        let run =
            |seed| simulate_queue(&machines[cell.machine], cell, seed).unwrap_or(f64::INFINITY);
        (1..=SEEDS).map(run).sum::<f64>() / SEEDS as f64
    };
    let figures = jobs::run(&cells, jobs, figure, || ());
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut errors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (cell, figure) in cells.iter().zip(figures) {
        let Some(figure) = figure else { continue };
        let error = figure / cell.published - 1.0;
        errors.entry(cell.machine).or_default().push(error.abs());
        let text = format!("{}: {figure:.0} ({:+.0} %)", cell.pairs, error * 100.0);
        lines.entry(format!("{} {}", cell.machine, cell.name())).or_default().push(text);
    }
    for (name, cells) in lines {
        println!("{name}: {}", cells.join(", "));
    }
    for (name, errors) in errors {
        let (Some(middle), Some(high)) = (median(&errors), quantile(&errors, 0.9)) else {
            continue;
        };
        let (middle, high) = (middle * 100.0, high * 100.0);
        println!("{name}: {} cells, median {middle:.0} %, p90 {high:.0} %", errors.len());
    }
}
