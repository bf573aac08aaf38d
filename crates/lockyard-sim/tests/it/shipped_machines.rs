//! The shipped machines. Each can be read, names the sources of its numbers, and reproduces the
//! latencies that are its file's inputs. Each also runs with all hardware threads busy.

use crate::support::ping_pong;
use lockyard::platform::{Ordering, Word};
use lockyard_sim::machine::Value;
use lockyard_sim::{Machine, RunEnd, SimulatedU64, Simulation};

fn machines() -> Vec<Machine> {
    Machine::names().map(|name| Machine::shipped(name).expect("it is shipped")).collect()
}

fn check(machine: &Machine, name: &str) -> f64 {
    let check = machine.checks().iter().find(|check| check.name == format!("checks.{name}"));
    match check.unwrap_or_else(|| panic!("{} has no {name}", machine.name())).value {
        Value::Real(figure) => figure,
        _ => panic!("a figure is a number"),
    }
}

/// Returns the share of assumptions that a machine may have. For a machine that borrows its family,
/// all numbers of that family count as assumptions.
fn most_assumed(machine: &Machine) -> f64 {
    let scale = machine.parameter("family.scale").expect("it has a family");
    if scale.assumed.is_some() { 0.75 } else { 0.40 }
}

#[test]
fn every_number_has_a_source_or_a_reason_and_most_have_a_source() {
    for machine in machines() {
        // A kernel's numbers come from a file that machines share.
        let numbers = machine.parameters().iter().filter(|p| !p.name.starts_with("kernel."));
        let (assumed, sourced): (Vec<_>, Vec<_>) = numbers.partition(|p| p.assumed.is_some());
        let share = assumed.len() as f64 / (assumed.len() + sourced.len()) as f64;
        println!("{}: {:.0} % assumed", machine.name(), share * 100.0);
        assert!(share <= most_assumed(&machine), "{}: {share}", machine.name());
        for parameter in machine.parameters() {
            let said = parameter.source.is_some() || parameter.assumed.is_some();
            assert!(said, "{} {}", machine.name(), parameter.name);
        }
    }
}

/// The simulation reproduces the latencies to which the files were scaled. Two machines were not
/// scaled to a ping-pong: Westmere-EX to two cells of a table, the Platinum 8180 to loads.
#[test]
fn a_ping_pong_costs_what_the_machine_files_say() {
    let others = ["westmere-ex-4s10c", "skylake-sp-8180-2s28c2t"];
    for machine in machines().iter().filter(|machine| !others.contains(&machine.name())) {
        let near = |simulated: f64, published: f64| {
            let error = simulated / published - 1.0;
            assert!(error.abs() < 0.02, "{}: {simulated} ns, not {published}", machine.name());
        };
        near(ping_pong(machine, [0, 1], 0), check(machine, "ping_pong_same_socket"));
        let socket = machine.cores() / machine.sockets();
        if machine.sockets() > 1 {
            near(ping_pong(machine, [0, socket], 0), check(machine, "ping_pong_remote"));
        }
        let complex = machine.cores_per_complex();
        // The distance between the complexes of `zen1-8x4c2t` was fitted on locks.
        if socket > complex && machine.name() != "zen1-8x4c2t" {
            let figure = ping_pong(machine, [0, complex], 0);
            near(figure, check(machine, "ping_pong_other_complex"));
        }
        let inputs = machine.checks().iter().filter(|check| check.is_input);
        if inputs.clone().any(|check| check.name == "checks.ping_pong_same_core") {
            let figure = ping_pong(machine, [0, machine.cores()], 0);
            // Turns of siblings are whole cycles, so no other number may come nearer.
            let error = figure / check(machine, "ping_pong_same_core") - 1.0;
            assert!(error.abs() < 0.05, "{}: {figure} ns", machine.name());
        }
    }
}

#[test]
fn a_machine_runs_with_all_its_hardware_threads() {
    for machine in machines() {
        let mut simulation = Simulation::new(&machine, 1);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        for place in 0..machine.hardware_threads() {
            let word = word.clone();
            simulation.spawn(place, move || {
                for _ in 0..20 {
                    word.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        assert!(matches!(simulation.run(), RunEnd::Finished), "{}", machine.name());
        let total = simulation.setup(|| word.load(Ordering::Relaxed));
        assert_eq!(total, 20 * machine.hardware_threads() as u64, "{}", machine.name());
    }
}
