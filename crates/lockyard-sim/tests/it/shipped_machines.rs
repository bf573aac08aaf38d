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

#[test]
fn every_number_has_a_source_or_a_reason_and_most_have_a_source() {
    let names: Vec<&str> = Machine::names().collect();
    assert_eq!(
        names,
        [
            "broadwell-ep-2s22c2t",
            "broadwell-ex-8s10c2t",
            "cascade-lake-2s24c2t",
            "ivy-bridge-ex-4s15c",
            "nehalem-2s4c2t",
            "sandy-bridge-32c-kvm",
            "sapphire-rapids",
            "skylake-client-4c",
            "skylake-sp-1s24c2t",
            "skylake-sp-2s14c",
            "westmere-ex-4s10c",
            "xen",
            "zen1-8x4c2t",
            "zen3-5825u",
            "zen4-7840u"
        ]
    );
    for machine in machines() {
        let share = machine.assumed_share();
        println!("{}: {:.0} % assumed", machine.name(), share * 100.0);
        assert!(share <= 0.30, "{}: {share}", machine.name());
        for parameter in machine.parameters() {
            let said = parameter.source.is_some() || parameter.assumed.is_some();
            assert!(said, "{} {}", machine.name(), parameter.name);
        }
    }
}

/// The simulation reproduces the latencies to which the files were scaled. (Those of Westmere-EX
/// are two cells of a table, and its figures are not inputs.)
#[test]
fn a_ping_pong_costs_what_the_machine_files_say() {
    for machine in machines().iter().filter(|machine| machine.name() != "westmere-ex-4s10c") {
        let near = |simulated: f64, published: f64| {
            let error = simulated / published - 1.0;
            assert!(error.abs() < 0.02, "{}: {simulated} ns, not {published}", machine.name());
        };
        near(ping_pong(machine, [0, 1], 0), check(machine, "ping_pong_same_socket"));
        if machine.sockets() > 1 {
            let other = machine.cores() / machine.sockets();
            near(ping_pong(machine, [0, other], 0), check(machine, "ping_pong_remote"));
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
