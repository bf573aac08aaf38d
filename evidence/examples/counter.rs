//! Cost of additions to one word as the number of threads grows. Compares two published curves with
//! simulated machines.
//!
//! - A mesh, first with one socket and then with a second one, next to `cascade-lake-2s24c2t` with
//!   28 cores per socket. That machine is also simulated with different numbers for the traffic
//!   between sockets.
//! - A virtual machine on a Zen 4, within one core complex, next to `zen4-7840u` with that host's
//!   clock.
//!
//! ```text
//! cargo study counter
//! ```
//!
//! Nothing is fitted here. The first host has eight sockets
//! (`training/atomic_increment_platinum_8176.csv`), of which two are simulated. The second host is
//! a guest (`training/atomic_increment_zen4_guest.csv`). The guest sees neighbouring CPUs as
//! siblings, which may be wrong on the host. So both placements are simulated.

use lockyard::platform::{Ordering, Word};
use lockyard_results::statistics;
use lockyard_sim::{Machine, RunEnd, SimulatedU64, Simulation};

const MESH: &str = include_str!("../../training/atomic_increment_platinum_8176.csv");
const CORES: usize = 28;
const ZEN: &str = include_str!("../../training/atomic_increment_zen4_guest.csv");
/// One thread needs 2.53 ns per addition on that host, and 7 cycles on the simulated machine.
const ZEN_GHZ: f64 = 2.77;
/// Alternative values for two numbers of the machine. `granted_legs` is the time that a core
/// holds a line after a grant, in legs. Its three values follow from the same rule for other
/// processors of the family. `snoop_weight` is the ring's weight for a request from another socket.
const CHANGES: [(&str, f64); 4] = [
    ("protocol.granted_legs", 0.65),
    ("protocol.granted_legs", 1.0),
    ("protocol.granted_legs", 1.3),
    ("protocol.snoop_weight", 20.0),
];
const SEEDS: u64 = 5;
/// Simulated nanoseconds before counting begins (after all threads have started), and nanoseconds
/// counted.
const WARM_UP_NS: f64 = 50_000.0;
const WINDOW_NS: f64 = 200_000.0;

/// Returns the thread counts of a published curve, each with the nanoseconds per addition, all
/// threads together.
fn published(table: &str) -> Vec<(usize, f64)> {
    let curve = |line: &str| {
        let fields: Vec<f64> =
            line.split(',').map(|field| field.parse().expect("a number")).collect();
        (fields[0] as usize, fields[1] / fields[0])
    };
    table.lines().filter(|line| !line.starts_with(['#', 't'])).map(curve).collect()
}

/// Simulates threads at these places. Returns the nanoseconds per addition, all threads together.
fn simulated(machine: &Machine, places: &[usize]) -> f64 {
    let run = |seed| {
        let mut simulation = Simulation::new(machine, seed);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        let starts = simulation.random_starts(places.len());
        let all_there = starts.iter().copied().max().unwrap_or(0);
        for (&start, &place) in starts.iter().zip(places) {
            let word = word.clone();
            simulation.spawn_at(place, start, move || {
                while !lockyard_sim::stop_requested() {
                    // Relaxed: the addition publishes nothing.
                    word.fetch_add(1, Ordering::Relaxed);
                    lockyard_sim::operation_done();
                }
            });
        }
        let count = |simulation: &mut Simulation, ns: f64| {
            let outcome = simulation.run_until(all_there + machine.cycles(ns));
            assert!(matches!(outcome, RunEnd::TimeOver), "{outcome}");
            simulation.operations().iter().sum::<u64>()
        };
        let before = count(&mut simulation, WARM_UP_NS);
        let after = count(&mut simulation, WARM_UP_NS + WINDOW_NS);
        simulation.request_stop();
        let outcome = simulation.run();
        assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
        WINDOW_NS / (after - before) as f64
    };
    let runs: Vec<f64> = (1..=SEEDS).map(run).collect();
    statistics::mean(&runs).expect("there are runs")
}

/// Prints a figure and its error.
fn print_beside(published: f64, found: f64) {
    print!("  {found:5.1} {:+6.1} %", 100.0 * (found / published - 1.0));
}

fn mesh() {
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    let machine = machine.with("topology.cores", CORES as f64).expect("it has cores");
    println!("nanoseconds of an addition, all threads together");
    print!("threads  published  simulated, error; also with ");
    println!("{}", CHANGES.map(|(name, value)| format!("{name} {value}")).join(", "));
    let changed = CHANGES.map(|(name, value)| machine.clone().with(name, value));
    let machines: Vec<Machine> = std::iter::once(Some(machine))
        .chain(changed)
        .map(|machine| machine.expect("it has the number"))
        .collect();
    for (threads, published) in published(MESH) {
        if threads > 2 * CORES {
            break;
        }
        let places: Vec<usize> = (0..threads).collect();
        print!("{threads:7}  {published:9.1}");
        for machine in &machines {
            print_beside(published, simulated(machine, &places));
        }
        println!();
    }
}

fn zen() {
    let machine = Machine::shipped("zen4-7840u").expect("it is shipped");
    let machine = machine.with("clock.ghz", ZEN_GHZ).expect("it has a clock");
    let (cores, all) = (machine.cores(), machine.hardware_threads());
    println!("threads  published  simulated with siblings first, error; with cores first, error");
    for (threads, published) in published(ZEN) {
        if threads > all {
            break;
        }
        let siblings: Vec<usize> = (0..threads).map(|i| i % 2 * cores + i / 2).collect();
        let apart: Vec<usize> = (0..threads).collect();
        print!("{threads:7}  {published:9.1}");
        for places in [siblings, apart] {
            print_beside(published, simulated(&machine, &places));
        }
        println!();
    }
}

fn main() {
    mesh();
    println!();
    zen();
}
