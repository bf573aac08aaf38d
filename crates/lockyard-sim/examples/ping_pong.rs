//! What a simulated compare-exchange ping-pong costs between hardware threads at each distance: the figure to which the
//! latencies of a machine file are scaled.
//!
//! ```text
//! cargo run --release -p lockyard-sim --example ping_pong -- machines/zen4-7840u.toml
//! ```
//!
//! Two threads change a word in turn, each by a compare-exchange that it repeats until it succeeds; the figure is half a
//! round trip, in nanoseconds, as published tables of core-to-core latencies have it.

use lockyard::platform::{Ordering, Word};
use lockyard_sim::{Machine, Outcome, SimulatedU64, Simulation};
use std::path::Path;
use std::process::ExitCode;

/// Nanoseconds for one hand-over.
fn ping_pong(machine: &Machine, places: [usize; 2], home: usize) -> f64 {
    const TURNS: u64 = 2000;
    let mut simulation = Simulation::new(machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, home);
    for (me, place) in (0u64..).zip(places) {
        let word = word.clone();
        simulation.spawn(place, move || {
            for _ in 0..TURNS {
                while word
                    .compare_exchange(me, 1 - me, Ordering::AcqRel, Ordering::Relaxed)
                    .is_err()
                {}
            }
        });
    }
    assert!(matches!(simulation.run(), Outcome::Finished), "a ping-pong ends");
    machine.nanoseconds(simulation.now()) / (2 * TURNS) as f64
}

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        let known: Vec<&str> = Machine::names().collect();
        eprintln!("ping_pong: give machines, by name ({}) or file", known.join(", "));
        return ExitCode::from(2);
    }
    for name in names {
        let machine =
            match Machine::shipped(&name).map_or_else(|| Machine::load(Path::new(&name)), Ok) {
                Ok(machine) => machine,
                Err(error) => {
                    eprintln!("ping_pong: {error}");
                    return ExitCode::from(2);
                }
            };
        println!("{}", machine.name());
        let cores_per_socket = machine.cores() / machine.sockets();
        let line = |distance: &str, there: bool, place: usize, home: usize| {
            if there {
                println!("  {distance}: {:.2} ns", ping_pong(&machine, [0, place], home));
            }
        };
        line("same core", machine.threads_per_core() > 1, machine.cores(), 0);
        line("same complex", machine.cores_per_complex() > 1, 1, 0);
        let complexes = machine.complexes() > machine.sockets();
        line("same socket, another complex", complexes, machine.cores_per_complex(), 0);
        line("another socket, home with one of them", machine.sockets() > 1, cores_per_socket, 0);
        line("another socket, home elsewhere", machine.sockets() > 2, cores_per_socket, 2);
    }
    ExitCode::SUCCESS
}
