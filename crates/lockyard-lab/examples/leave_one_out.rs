//! Errors on the training tables of each host, if the protocol was fitted on other hosts only.
//!
//! ```text
//! cargo run --release -p lockyard-lab --example leave_one_out [SEEDS]
//! ```
//!
//! Each host is simulated twice: with its own family's protocol, and with a protocol that its table
//! had no part in. The second is the other family of its maker, or `intel-mesh` for the only AMD
//! table of locks. Scale and legs are then solved again from the ping-pongs of the host or of a
//! relative, so nothing of the host's table is used but the facts of its benchmark (the row
//! `empty`). The hosts of the queues had no part in any fit; their queues do no other work.

use lockyard_lab::training::{
    PartTimes, TrainingCell, cells, queue_cells, simulate_for, simulate_queue,
};
use lockyard_predict::machine::known_figures::ping_pong;
use lockyard_results::statistics::{median, quantile};
use lockyard_sim::Machine;
use lockyard_support::jobs;

/// Thread counts to simulate.
const THREADS: [usize; 19] = [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 44, 48, 56, 64, 72, 88];

/// A host of the training table of locks.
struct Host {
    name: &'static str,
    file: &'static str,
    /// Family that was fitted on other hosts.
    other: &'static str,
    /// Ping-pongs in nanoseconds, with the number in the file that each one solves, and the core
    /// that answers core 0. The first solves the scale.
    ping_pongs: &'static [(&'static str, usize, f64)],
}

const HOSTS: [Host; 3] = [
    Host {
        name: "x86-1",
        file: include_str!("../../../machines/zen1-8x4c2t.toml"),
        other: "intel-mesh",
        ping_pongs: &[("scale", 1, 38.0), ("complex_leg", 4, 128.0)],
    },
    Host {
        name: "x86-2",
        file: include_str!("../../../machines/skylake-sp-1s24c2t.toml"),
        other: "intel-ring",
        ping_pongs: &[("scale", 1, 47.0)],
    },
    Host {
        name: "x86-3",
        file: include_str!("../../../machines/broadwell-ep-2s22c2t.toml"),
        other: "intel-mesh",
        ping_pongs: &[("scale", 1, 44.0), ("socket_leg", 22, 122.0)],
    },
];

fn parse(text: &str) -> Machine {
    Machine::parse("leave_one_out", text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the file with another value of `name`. A number that the file took from its family is
/// added to `[cycles]`.
fn with(text: &str, name: &str, value: &str) -> String {
    let is_its = |line: &str| line.split_once('=').is_some_and(|(key, _)| key.trim() == name);
    let is_there = text.lines().any(is_its);
    let line = |line: &str| match line {
        line if is_its(line) => format!("{name} = {value}\n"),
        "[cycles]" if !is_there => format!("[cycles]\n{name} = {value}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Returns the file with the number `name` for which core `core` answers in `wanted` nanoseconds.
fn solve(text: &str, name: &str, core: usize, wanted: f64) -> String {
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

fn errors(machine: &Machine, cells: &[TrainingCell], seeds: u64) -> Vec<(f64, bool)> {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let times = PartTimes { warm_up_ns: 50_000.0, counted_ns: 150_000.0 };
    let error = |cell: &TrainingCell| {
        let run = |seed| simulate_for(machine, cell, seed, times).unwrap_or(f64::INFINITY);
        let mean = (1..=seeds).map(run).sum::<f64>() / seeds as f64;
        ((mean / cell.published - 1.0).abs(), cell.threads == 1)
    };
    jobs::run(cells, jobs, error, || ()).into_iter().flatten().collect()
}

fn row(name: &str, protocol: &str, errors: &[f64]) {
    let (Some(middle), Some(high)) = (median(errors), quantile(errors, 0.9)) else { return };
    let (cells, middle, high) = (errors.len(), middle * 100.0, high * 100.0);
    println!("| {name} | {protocol} | {cells} | {middle:.1} % | {high:.1} % |");
}

fn main() {
    let seeds = std::env::args().nth(1).map_or(Ok(2), |seeds| seeds.parse::<u64>());
    let Some(seeds) = seeds.ok().filter(|seeds| (1..=100).contains(seeds)) else {
        eprintln!("leave_one_out: SEEDS is a whole number from 1 to 100");
        std::process::exit(2);
    };
    let (all, _) = cells();
    let (mut left_out, mut alone) = (Vec::new(), Vec::new());
    println!(
        "| host | protocol | cells | median | 90th percentile |\n| --- | --- | --- | --- | --- |"
    );
    for Host { name, file, other, ping_pongs } in HOSTS {
        let own = parse(file);
        let of_host =
            |cell: &TrainingCell| cell.machine == own.name() && THREADS.contains(&cell.threads);
        let cells: Vec<TrainingCell> = all.iter().filter(|cell| of_host(cell)).cloned().collect();
        let found = errors(&own, &cells, seeds);
        row(name, "its own, fitted on it", &found.iter().map(|(e, _)| *e).collect::<Vec<_>>());
        let own_alone: Vec<f64> = found.iter().filter(|(_, one)| *one).map(|(e, _)| *e).collect();
        alone.extend(&own_alone);
        let mut text = with(file, "family", &format!("{other:?}"));
        for &(number, core, wanted) in ping_pongs {
            text = solve(&text, number, core, wanted);
        }
        let found: Vec<f64> =
            errors(&parse(&text), &cells, seeds).into_iter().map(|(e, _)| e).collect();
        row(name, &format!("`{other}`, fitted on others"), &found);
        left_out.extend(found);
    }
    let queues = queue_cells();
    for (name, machine, protocol) in [
        ("5825U", "zen3-5825u", "`amd-zen`, fitted on x86-1"),
        ("6132", "skylake-sp-2s14c", "`intel-mesh`, fitted on x86-2"),
    ] {
        let of_host: Vec<_> = queues.iter().filter(|cell| cell.machine == machine).collect();
        let machine = Machine::shipped(machine).expect("it is shipped");
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let error = |cell: &&lockyard_lab::training::QueueCell| {
            let run = |seed| simulate_queue(&machine, cell, seed).unwrap_or(f64::INFINITY);
            ((1..=seeds).map(run).sum::<f64>() / seeds as f64 / cell.published - 1.0).abs()
        };
        let found: Vec<f64> =
            jobs::run(&of_host, jobs, error, || ()).into_iter().flatten().collect();
        row(name, protocol, &found);
        left_out.extend(found);
    }
    row("all", "fitted on others", &left_out);
    row("one thread", "its own", &alone);
}
