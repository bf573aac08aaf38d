//! Additions to one word by more and more cores, of one socket and then of the next: a published curve of a mesh, beside what the
//! machine `cascade-lake-2s24c2t` makes of it with 28 cores a socket, also with other numbers of what happens between sockets.
//!
//! ```text
//! cargo run --release -p lockyard-lab --example counter
//! ```
//!
//! Nothing is fitted here. The published host has eight sockets (`training/atomic_increment_platinum_8176.csv`); two are simulated.

use lockyard::platform::{Ordering, Word};
use lockyard_lab::statistics;
use lockyard_sim::{Machine, Outcome, SimulatedU64, Simulation};

const PUBLISHED: &str = include_str!("../../../training/atomic_increment_platinum_8176.csv");
const CORES: usize = 28;
/// Other numbers of legs of the hold after a grant, which other processors of the family would give by the same rule; and the ring's weight of another socket's request.
const CHANGES: [(&str, f64); 4] = [
    ("protocol.granted_legs", 0.65),
    ("protocol.granted_legs", 1.0),
    ("protocol.granted_legs", 1.3),
    ("protocol.snoop_weight", 20.0),
];
const SEEDS: u64 = 5;
/// Simulated nanoseconds before counting begins, and that are counted.
const WARM_UP_NS: f64 = 50_000.0;
const WINDOW_NS: f64 = 200_000.0;

/// Nanoseconds of an addition, all threads together.
fn simulated(machine: &Machine, threads: usize) -> Vec<f64> {
    let run = |seed| {
        let mut simulation = Simulation::new(machine, seed);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        for place in 0..threads {
            let word = word.clone();
            simulation.spawn(place, move || {
                while !lockyard_sim::stop_requested() {
                    // Relaxed: nothing is published.
                    word.fetch_add(1, Ordering::Relaxed);
                    lockyard_sim::operation_done();
                }
            });
        }
        let count = |simulation: &mut Simulation, ns: f64| {
            let outcome = simulation.run_until(machine.cycles(ns));
            assert!(matches!(outcome, Outcome::TimeOver), "{outcome}");
            simulation.operations().iter().sum::<u64>()
        };
        let before = count(&mut simulation, WARM_UP_NS);
        let after = count(&mut simulation, WARM_UP_NS + WINDOW_NS);
        simulation.request_stop();
        let outcome = simulation.run();
        assert!(matches!(outcome, Outcome::Finished), "{outcome}");
        WINDOW_NS / (after - before) as f64
    };
    (1..=SEEDS).map(run).collect()
}

fn main() {
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    let machine = machine.with("topology.cores", CORES as f64).expect("it has cores");
    println!("nanoseconds of an addition, all threads together");
    print!("threads  published  simulated, error; the same with ");
    println!("{}", CHANGES.map(|(name, value)| format!("{name} {value}")).join(", "));
    let changed = CHANGES.map(|(name, value)| machine.clone().with(name, value));
    let machines: Vec<Machine> = std::iter::once(Some(machine))
        .chain(changed)
        .map(|machine| machine.expect("it has the number"))
        .collect();
    for line in PUBLISHED.lines().filter(|line| !line.starts_with(['#', 't'])) {
        let fields: Vec<f64> =
            line.split(',').map(|field| field.parse().expect("a number")).collect();
        let threads = fields[0] as usize;
        if threads > 2 * CORES {
            break;
        }
        let published = fields[1] / fields[0];
        print!("{threads:7}  {published:9.1}");
        for machine in &machines {
            let found = statistics::mean(&simulated(machine, threads)).expect("there are runs");
            print!("  {found:5.1} {:+6.1} %", 100.0 * (found / published - 1.0));
        }
        println!();
    }
}
