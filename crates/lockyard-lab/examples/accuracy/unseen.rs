//! Hosts whose figures are known, each on a machine that other hosts decided. `coverage.rs` counts
//! how many of these cells are inside their intervals.
//!
//! | host | figures | its machine |
//! | --- | --- | --- |
//! | x86-1, x86-2, x86-3, a Skylake client | training tables of locks and counters | its file with the protocol of another family; scale and legs solved again from ping-pongs; `smt_slowdown` the mean of the two other hosts |
//! | 16 cores of an Emerald Rapids | curves of its standard measurement | its file, with the `jitter` by which others would read its ping-pongs |
//! | Platinum 8176, a guest on a Zen 4 | curves of additions | shipped; nothing was fitted on them |
//! | Ryzen 5825U, Xeon 6132 | bounded queues | shipped; nothing was fitted on them, and their local work is not published |

use crate::covered::{Cell, Covered};
use crate::left_out::{self, LeftOut, figure, parse, solve, with};
use lockyard_lab::fit;
use lockyard_lab::training::{
    Program, QueueCell, TrainingCell, cells, queue_cells, simulate_queue,
};
use lockyard_predict::interval;
use lockyard_predict::interval::varied::{EMERALD_RAPIDS_16, Tasks, X86_1, X86_2, X86_3};
use lockyard_predict::placement::MachinePlacement;
use lockyard_predict::simulate::{CellSpec, RunPlan, simulate};
use lockyard_scenarios::{LockKinds, Metric, Order, PublishedRun};
use lockyard_sim::Machine;
use lockyard_support::jobs;

/// Numbers of threads of the tables of locks.
const THREADS: [usize; 8] = [1, 2, 4, 8, 16, 32, 44, 64];

/// `smt_slowdown` of each host of the tables of locks, as its machine file has it.
const SLOWDOWNS: [(&str, f64); 3] = [(X86_1, 1.09), (X86_2, 1.0), (X86_3, 1.36)];

const EMERALD_RAPIDS: &str = include_str!("../../../../hosts/emerald-rapids-16/machine.toml");
const STANDARD: &str = include_str!("../../../../hosts/emerald-rapids-16/standard.json");
/// `jitter` of that host, derived from its ping-pongs with the factors of x86-2 and x86-3: 1.2 and
/// 0.6 times the deviation of 6.71 ns (docs/evidence/training.md), 0.9 in the mean.
const JITTER: &str = "{ value = 16, assumed = \"as x86-2 and x86-3\" }";
/// Nanoseconds of that host's hand-over.
const HAND_OVER: f64 = 79.96;

const SKYLAKE: &str = include_str!("../../../../machines/skylake-client-4c.toml");
const PLATINUM: &str = include_str!("../../../../training/atomic_increment_platinum_8176.csv");
const ZEN4: &str = include_str!("../../../../training/atomic_increment_zen4_guest.csv");

/// A host with its cells.
pub(crate) struct Unseen {
    pub(crate) name: &'static str,
    pub(crate) protocol: &'static str,
    pub(crate) covered: Vec<Covered>,
}

fn cover(
    name: &'static str,
    protocol: &'static str,
    machine: &Machine,
    cells: &[Cell],
    jobs: usize,
) -> Unseen {
    let one = |cell: &Cell| cell.cover(machine, Some(name));
    let covered = jobs::run(cells, jobs, one, || ()).into_iter().flatten().flatten().collect();
    Unseen { name, protocol, covered }
}

/// Returns a cell of a program of the training tables. Threads fill one complex after another, with
/// the siblings of a core side by side.
fn of_program(machine: &Machine, cell: TrainingCell) -> Cell {
    let places = MachinePlacement::Order(Order::Fill).places(machine, cell.threads, 1);
    let tasks = Tasks::at(machine, &places, cell.work.iter().any(|&work| work > 0.0));
    let published = cell.published;
    let run = move |machine: &Machine, factor: f64, seed| {
        let work = cell.work.map(|work| work * factor);
        figure(machine, &TrainingCell { work, ..cell.clone() }, seed)
    };
    Cell { run: Box::new(run), tasks, published }
}

/// Returns the cells of a curve of additions, on all but the last numbers of threads, which the
/// machine does not have.
fn of_additions(machine: &Machine, table: &str) -> Vec<Cell> {
    let cell = |line: &str| {
        let fields: Vec<f64> = line.split(',').filter_map(|field| field.parse().ok()).collect();
        let threads = fields[0] as usize;
        TrainingCell {
            table: "atomic_increment",
            machine: "",
            variant: "add".to_owned(),
            program: Program::Add,
            threads,
            work: [0.0; 3],
            pauses: true,
            // The table's figure is per thread.
            published: fields[1] / fields[0],
        }
    };
    let cells = table.lines().filter(|line| !line.starts_with(['#', 't'])).map(cell);
    let has_room = |cell: &TrainingCell| cell.threads <= machine.hardware_threads();
    cells.filter(has_room).map(|cell| of_program(machine, cell)).collect()
}

fn of_queue(machine: &Machine, cell: QueueCell) -> Cell {
    let order = if cell.siblings { Order::Fill } else { Order::SiblingsLast };
    let places = MachinePlacement::Order(order).places(machine, 2 * cell.pairs, 1);
    let published = cell.published;
    let run = move |machine: &Machine, _, seed| {
        simulate_queue(machine, &cell, seed).unwrap_or(f64::INFINITY)
    };
    Cell { run: Box::new(run), tasks: Tasks::at(machine, &places, false), published }
}

/// Returns the hosts of the tables of locks.
fn of_locks(jobs: usize) -> Vec<Unseen> {
    let (all, _) = cells();
    let of_host = |LeftOut { name, own, other, family }| {
        let others = SLOWDOWNS.iter().filter(|(host, _)| *host != name);
        let slowdown = others.map(|(_, slowdown)| slowdown).sum::<f64>() / 2.0;
        let machine = other.with("protocol.smt_slowdown", slowdown).expect("it has the number");
        let is_its =
            |cell: &&TrainingCell| cell.machine == own.name() && THREADS.contains(&cell.threads);
        let its = all.iter().filter(is_its).cloned();
        let its: Vec<Cell> = its.map(|cell| of_program(&machine, cell)).collect();
        cover(name, family, &machine, &its, jobs)
    };
    left_out::hosts().into_iter().map(of_host).collect()
}

/// Returns the Skylake client, which decided two latencies of `intel-mesh`.
fn of_client(jobs: usize) -> Unseen {
    let text = with(SKYLAKE, "family", "\"intel-ring\"");
    let machine = parse(&solve(&text, "scale", 1, 30.0));
    let is_its = |cell: &TrainingCell| cell.machine == machine.name();
    let its = cells().0.into_iter().filter(is_its);
    let its: Vec<Cell> = its.map(|cell| of_program(&machine, cell)).collect();
    cover("Skylake client", "intel-ring", &machine, &its, jobs)
}

/// Returns the host of 16 cores, whose curves come from scripts.
fn of_emerald_rapids(jobs: usize) -> Unseen {
    let text = with(EMERALD_RAPIDS, "jitter", JITTER);
    let machine = parse(&solve(&text, "scale", 1, HAND_OVER));
    let curves = fit::curves("standard.json", STANDARD, &LockKinds::default());
    let curves = curves.expect("the host's file is valid");
    let run = PublishedRun::default();
    let of_curve = |curve: &fit::Curve| -> Vec<Covered> {
        let prepared = fit::prepare(curve, &machine).expect("its first point is simulated");
        let Some(prepared) = prepared else { return Vec::new() };
        let placement = MachinePlacement::Order(curve.order);
        let of_point = |&(threads, published): &(usize, f64)| {
            let cell = CellSpec {
                machine: &machine,
                variant: &prepared.variant,
                placement: &placement,
                home: curve.home,
                threads,
                local_work: prepared.work.nanoseconds,
            };
            let found = simulate(&cell, &RunPlan::full(&cell, &run, None)).ok()?;
            let work = Some(prepared.work);
            let left_out = Some(EMERALD_RAPIDS_16);
            let ends = interval::without(&cell, &run, work, &found, Metric::OPERATIONS, left_out)
                .ok()??;
            Some(Covered { figure: found.throughput, ends, narrower: None, published })
        };
        curve.points[1..].iter().filter_map(of_point).collect()
    };
    let found = jobs::run(&curves, jobs, of_curve, || ());
    let covered = found.into_iter().flatten().flatten().collect();
    Unseen { name: EMERALD_RAPIDS_16, protocol: "intel-mesh", covered }
}

/// Returns the hosts of locks and counters.
pub(crate) fn locks_and_counters(jobs: usize) -> Vec<Unseen> {
    let mut hosts = of_locks(jobs);
    hosts.push(of_client(jobs));
    hosts.push(of_emerald_rapids(jobs));
    let shipped = |name| Machine::shipped(name).expect("it is shipped");
    // One thread on each of 28 cores of a socket, of which two are simulated.
    let platinum = shipped("cascade-lake-2s24c2t").with("topology.threads", 1.0);
    let platinum = platinum.and_then(|machine| machine.with("topology.cores", 28.0));
    let platinum = platinum.expect("it has a topology");
    let its = of_additions(&platinum, PLATINUM);
    hosts.push(cover("Platinum 8176, additions", "intel-mesh", &platinum, &its, jobs));
    // The clock follows from one thread, see the example `counter`.
    let zen4 = shipped("zen4-7840u").with("clock.ghz", 2.77).expect("it has a clock");
    let its = of_additions(&zen4, ZEN4);
    hosts.push(cover("Zen 4 guest, additions", "amd-zen", &zen4, &its, jobs));
    hosts
}

/// Returns the hosts of bounded queues.
pub(crate) fn queues(jobs: usize) -> Vec<Unseen> {
    let hosts = [
        ("Ryzen 5825U, queues", "amd-zen", "zen3-5825u"),
        ("Xeon 6132, queues", "intel-mesh", "skylake-sp-2s14c"),
    ];
    let of_host = |(name, protocol, file)| {
        let machine = Machine::shipped(file).expect("it is shipped");
        let its = queue_cells().into_iter().filter(|cell| cell.machine == file);
        let its: Vec<Cell> = its.map(|cell| of_queue(&machine, cell)).collect();
        cover(name, protocol, &machine, &its, jobs)
    };
    hosts.into_iter().map(of_host).collect()
}
