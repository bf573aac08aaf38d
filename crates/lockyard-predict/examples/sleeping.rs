//! Locks whose waiters sleep, measured on two hosts, beside their simulation. Nothing was fitted on
//! these tables; the costs of the kernel's calls are those of `machines/kernels/`.
//!
//! ```text
//! cargo run --release -p lockyard-predict --example sleeping
//! ```
//!
//! - 16 CPUs of an Emerald Rapids, a guest: `training/sleeping_locks_emerald_rapids.csv`.
//! - Two sockets of 20 cores: `training/futex_mutexes_6148.csv`, next to `skylake-sp-2s14c` with
//!   that number of cores. The time of one task gives the work under the lock.
//!
//! With words as arguments, only rows with one of them are simulated.

use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::simulate::{CellSpec, RunPlan, SimulationEffort, simulate};
use lockyard_results::statistics;
use lockyard_scenarios::{Order, Script};
use lockyard_sim::Machine;
use std::collections::BTreeMap;

const EMERALD_RAPIDS: &str = include_str!("../../../training/sleeping_locks_emerald_rapids.csv");
const MACHINE: &str = include_str!("emerald-rapids-16.toml");
const GOLD_6148: &str = include_str!("../../../training/futex_mutexes_6148.csv");

/// Acquisitions of a run on the Gold 6148.
const ACQUISITIONS: f64 = 50_000.0;

/// Runs of a cell. Sleeps of tens of microseconds need longer windows than spinning locks.
const EFFORT: SimulationEffort = SimulationEffort {
    warm_up_ns: 500_000.0,
    window_ns: 3_000_000.0,
    seeds: 2,
    first_seed: 1,
    is_absolute: true,
};

/// A measured cell.
struct Cell {
    /// Group of rows whose errors are summed up.
    group: String,
    held_ns: f64,
    outside_ns: f64,
    varies: bool,
    lock: String,
    threads: usize,
    order: Order,
    measured: f64,
}

/// Returns the fields of a table's rows, without its head.
fn rows(table: &str) -> impl Iterator<Item = Vec<String>> {
    let lines = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines.map(|line| {
        // A field in quotes has the only comma that is in a field.
        let line = line.replace(", ", "; ").replace('"', "");
        line.split(',').map(|field| field.replace("; ", ", ")).collect()
    })
}

fn number(text: &str) -> f64 {
    text.parse().expect("a number")
}

/// Returns operations per second, and sleeps per operation.
fn simulated(machine: &Machine, cell: &Cell) -> (f64, f64) {
    let Cell { lock, held_ns, outside_ns, varies, .. } = cell;
    let work = |ns: &f64| match *ns > 0.0 {
        true => format!("[[steps]]\ndo = \"work\"\nns = {ns}\n"),
        false => String::new(),
    };
    let text = format!(
        "name = \"s\"\nwork_varies = {varies}\n[[objects]]\nname = \"m\"\nkind = \"lock\"\n\
         lock = \"{lock}\"\n[[objects]]\nname = \"data\"\nkind = \"data\"\n{}\
         [[steps]]\ndo = \"lock\"\nobject = \"m\"\n{}\
         [[steps]]\ndo = \"write\"\nobject = \"data\"\n\
         [[steps]]\ndo = \"unlock\"\nobject = \"m\"\n[[variants]]\nname = \"v\"\n",
        work(outside_ns),
        work(held_ns)
    );
    let script = Script::parse("s.toml", &text).expect("it is a script");
    let placement = MachinePlacement::Order(cell.order);
    let spec = CellSpec {
        machine,
        variant: &script.variants[0],
        placement: &placement,
        home: 0,
        threads: cell.threads,
        local_work: 0.0,
    };
    let seeds = if cell.order == Order::Unpinned { 4 } else { EFFORT.seeds };
    let plan = RunPlan::of_windows(SimulationEffort { seeds, ..EFFORT });
    let found = simulate(&spec, &plan).expect("it runs");
    (found.throughput, found.sleeps)
}

/// Returns the cells of the Emerald Rapids.
fn emerald_rapids() -> Vec<Cell> {
    let cell = |row: Vec<String>| Cell {
        group: format!("{} held, every {}: {}", row[0], row[1], row[2]),
        held_ns: number(&row[0]),
        outside_ns: number(&row[1]) - number(&row[0]),
        varies: true,
        lock: row[2].clone(),
        threads: row[3].parse().expect("a number"),
        order: Order::SiblingsLast,
        measured: number(&row[4]),
    };
    rows(EMERALD_RAPIDS).map(cell).collect()
}

/// Returns the cells of the Gold 6148, with the work that gives the time of one task.
fn gold_6148(machine: &Machine) -> Vec<Cell> {
    let mut held: BTreeMap<String, f64> = BTreeMap::new();
    let mut cells = Vec::new();
    for row in rows(GOLD_6148) {
        let [section, lock, tasks, time] = &row[..] else { panic!("four fields: {row:?}") };
        let pinned = section.starts_with("pinned");
        let mut cell = Cell {
            group: format!("6148, {section}: {lock}"),
            held_ns: 0.0,
            outside_ns: 0.0,
            varies: false,
            lock: lock.clone(),
            threads: tasks.parse().expect("a number"),
            order: if pinned { Order::SiblingsLast } else { Order::Unpinned },
            measured: ACQUISITIONS / number(time) * 1e6,
        };
        if cell.threads == 1 {
            let without = 1e9 / simulated(machine, &cell).0;
            held.insert(cell.group.clone(), (1e9 / cell.measured - without).max(0.0));
        }
        cell.held_ns = held[&cell.group];
        cells.push(cell);
    }
    cells
}

/// Prints cells beside their simulation, and the errors of each group.
fn print(machine: &Machine, cells: Vec<Cell>, wanted: &[String]) {
    let mut errors: Vec<(String, Vec<f64>)> = Vec::new();
    let is_wanted =
        |cell: &Cell| wanted.is_empty() || wanted.iter().any(|word| cell.group.contains(word));
    for cell in cells.into_iter().filter(is_wanted) {
        let (found, sleeps) = simulated(machine, &cell);
        let error = found / cell.measured - 1.0;
        println!(
            "{:48} {:2} threads: measured {:6.2} M/s, simulated {:6.2} {:+6.1} %, \
             sleeps {sleeps:.4}",
            cell.group,
            cell.threads,
            cell.measured / 1e6,
            found / 1e6,
            100.0 * error
        );
        match errors.iter_mut().find(|(group, _)| *group == cell.group) {
            Some((_, all)) => all.push(error.abs()),
            None => errors.push((cell.group, vec![error.abs()])),
        }
    }
    println!();
    for (group, all) in errors {
        let median = statistics::median(&all).expect("a group has cells");
        let worst = all.iter().copied().fold(0.0, f64::max);
        println!("{group:48} median {:5.1} %, worst {:5.1} %", 100.0 * median, 100.0 * worst);
    }
    println!();
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let host = Machine::parse("emerald-rapids-16.toml", MACHINE).expect("it is a machine");
    print(&host, emerald_rapids(), &wanted);
    let gold = Machine::shipped("skylake-sp-2s14c").and_then(|m| m.with("topology.cores", 20.0));
    let gold = gold.expect("it is shipped");
    if wanted.is_empty() || wanted.iter().any(|word| word.contains("6148")) {
        let cells = gold_6148(&gold);
        print(&gold, cells, &wanted);
    }
}
