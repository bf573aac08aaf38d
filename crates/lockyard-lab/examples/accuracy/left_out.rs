//! Errors on the training tables of each host, if the protocol was fitted on other hosts only.
//!
//! Each host is simulated twice: with its own family's protocol, and with a protocol that was
//! fitted without its table. The second protocol is the vendor's other family, or `intel-mesh` for
//! the only AMD table of locks. Scale and legs are then solved again from the ping-pongs of the
//! host or of a relative. So from the host's table, only the facts of its benchmark are used (the
//! row `empty`). The hosts of the queues were part of no fit; their threads do no work outside the
//! queues.

use crate::shown::errors;
use lockyard_lab::training::{
    PartTimes, QueueCell, TrainingCell, cells, queue_cells, simulate_for, simulate_queue,
};
use lockyard_predict::machine::known_figures::ping_pong;
use lockyard_sim::Machine;
use lockyard_support::jobs;

/// Number of runs of each cell, with different seeds.
const SEEDS: u64 = 2;

/// Thread counts to simulate.
const THREADS: [usize; 19] = [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 44, 48, 56, 64, 72, 88];

/// A host of the training table of locks.
struct Host {
    name: &'static str,
    file: &'static str,
    /// Family that was fitted on other hosts.
    other: &'static str,
    /// Ping-pongs in nanoseconds. Each has the number in the file that it solves, and the core that
    /// exchanges the word with core 0. The first ping-pong solves the scale.
    ping_pongs: &'static [(&'static str, usize, f64)],
}

const HOSTS: [Host; 3] = [
    Host {
        name: "x86-1",
        file: include_str!("../../../../machines/zen1-8x4c2t.toml"),
        other: "intel-mesh",
        ping_pongs: &[("scale", 1, 38.0), ("complex_leg", 4, 128.0)],
    },
    Host {
        name: "x86-2",
        file: include_str!("../../../../machines/skylake-sp-1s24c2t.toml"),
        other: "intel-ring",
        ping_pongs: &[("scale", 1, 47.0)],
    },
    Host {
        name: "x86-3",
        file: include_str!("../../../../machines/broadwell-ep-2s22c2t.toml"),
        other: "intel-mesh",
        ping_pongs: &[("scale", 1, 44.0), ("socket_leg", 22, 122.0)],
    },
];

/// Parses a machine file.
pub(crate) fn parse(text: &str) -> Machine {
    Machine::parse("leave_one_out", text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the file with another value of `name`. A number that the file took from its family is
/// added to `[cycles]`.
pub(crate) fn with(text: &str, name: &str, value: &str) -> String {
    let is_its = |line: &str| line.split_once('=').is_some_and(|(key, _)| key.trim() == name);
    let is_there = text.lines().any(is_its);
    let line = |line: &str| match line {
        line if is_its(line) => format!("{name} = {value}\n"),
        "[cycles]" if !is_there => format!("[cycles]\n{name} = {value}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Returns the machine file `text` with the number `name` set so that a ping-pong of cores `core`
/// and 0 takes `wanted` nanoseconds.
pub(crate) fn solve(text: &str, name: &str, core: usize, wanted: f64) -> String {
    let is_scale = name == "scale";
    let (mut low, mut high) = if is_scale { (0.05, 4.0) } else { (0.0, 1000.0) };
    let file = |value: f64| {
        let value = if is_scale { format!("{value:.4}") } else { format!("{value:.0}") };
        with(text, name, &format!("{{ value = {value}, assumed = \"solved\" }}"))
    };
    for _ in 0..14 {
        let middle = (low + high) / 2.0;
        let found = ping_pong(&parse(&file(middle)), core, 0).unwrap_or(f64::INFINITY);
        if found < wanted { low = middle } else { high = middle }
    }
    file((low + high) / 2.0)
}

/// Hosts with their names in the tables, and the protocol that was fitted on them.
pub(crate) struct LeftOut {
    /// Name of the host in its table.
    pub(crate) name: &'static str,
    /// The shipped machine, whose protocol was fitted on the host's table.
    pub(crate) own: Machine,
    /// The same machine with the protocol of another family.
    pub(crate) other: Machine,
    /// Name of that family.
    pub(crate) family: &'static str,
}

/// Returns the hosts of the training tables of locks, each with a protocol that was fitted on other
/// hosts.
pub(crate) fn hosts() -> Vec<LeftOut> {
    let host = |&Host { name, file, other, ping_pongs }: &Host| {
        let mut text = with(file, "family", &format!("{other:?}"));
        for &(number, core, wanted) in ping_pongs {
            text = solve(&text, number, core, wanted);
        }
        LeftOut { name, own: parse(file), other: parse(&text), family: other }
    };
    HOSTS.iter().map(host).collect()
}

/// Returns the nanoseconds per operation of a cell, in shorter runs than for the table.
pub(crate) fn figure(machine: &Machine, cell: &TrainingCell, seed: u64) -> f64 {
    let times = PartTimes { warm_up_ns: 50_000.0, counted_ns: 150_000.0 };
    simulate_for(machine, cell, seed, times).unwrap_or(f64::INFINITY)
}

fn of_locks(machine: &Machine, cells: &[TrainingCell], jobs: usize) -> Vec<f64> {
    let error = |cell: &TrainingCell| {
        let sum: f64 = (1..=SEEDS).map(|seed| figure(machine, cell, seed)).sum();
        (sum / SEEDS as f64 / cell.published - 1.0).abs()
    };
    jobs::run(cells, jobs, error, || ()).into_iter().flatten().collect()
}

fn of_queues(machine: &str, all: &[QueueCell], jobs: usize) -> Vec<f64> {
    let cells: Vec<&QueueCell> = all.iter().filter(|cell| cell.machine == machine).collect();
    let machine = Machine::shipped(machine).expect("it is shipped");
    let error = |cell: &&QueueCell| {
        let run = |seed| simulate_queue(&machine, cell, seed).unwrap_or(f64::INFINITY);
        ((1..=SEEDS).map(run).sum::<f64>() / SEEDS as f64 / cell.published - 1.0).abs()
    };
    jobs::run(&cells, jobs, error, || ()).into_iter().flatten().collect()
}

/// Returns the errors of each host with a protocol that was fitted on other hosts, beside the
/// errors with its own protocol.
pub(crate) fn section(jobs: usize) -> String {
    let (all, _) = cells();
    let mut left_out = Vec::new();
    let mut text = "| host | protocol | cells | median | 90th percentile |\n\
                    | --- | --- | --- | --- | --- |\n"
        .to_owned();
    let mut row = |name: &str, protocol: &str, found: &[f64]| {
        text += &format!("| {name} | {protocol} | {} | {} |\n", found.len(), errors(found));
    };
    for LeftOut { name, own, other, family } in hosts() {
        let of_host =
            |cell: &&TrainingCell| cell.machine == own.name() && THREADS.contains(&cell.threads);
        let cells: Vec<TrainingCell> = all.iter().filter(of_host).cloned().collect();
        row(name, "its own, fitted on it", &of_locks(&own, &cells, jobs));
        let found = of_locks(&other, &cells, jobs);
        row(name, &format!("`{family}`, fitted on others"), &found);
        left_out.extend(found);
    }
    let queues = queue_cells();
    for (name, machine, protocol) in [
        ("Ryzen 5825U, queues", "zen3-5825u", "`amd-zen`, fitted on x86-1"),
        ("Xeon 6132, queues", "skylake-sp-2s14c", "`intel-mesh`, fitted on x86-2"),
    ] {
        let found = of_queues(machine, &queues, jobs);
        row(name, protocol, &found);
        left_out.extend(found);
    }
    row("all", "fitted on others", &left_out);
    text
}
