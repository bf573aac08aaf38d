//! Temporary, while the house is rebuilt: every shipped machine runs one program with 20 seeds as
//! it did when the rebuilding began. `HELD=renew` rewrites the file.

use std::fmt::Write as _;

use lockyard::platform::{Ordering, Word};
use lockyard_sim::{Machine, Simulated, SimulatedU64, Simulation, random_below};

use crate::support::finish;

/// A program with contention, sharing, parts of words and queue nodes.
fn hash(machine: &Machine, seed: u64) -> u64 {
    let mut simulation = Simulation::new(machine, seed);
    let lines: Vec<_> = (0..40).map(|_| simulation.place(SimulatedU64::new(0), 64, 0)).collect();
    let queued = simulation.place(lockyard::on::RawQSpinLock::<Simulated>::new(), 64, 1);
    let count = simulation.place(lockyard::on::RawTicketLock::<Simulated>::new(), 64, 1);
    let places = machine.hardware_threads().min(12);
    for place in (0..places).map(|place| place * machine.hardware_threads() / places) {
        let (lines, queued, count) = (lines.clone(), queued.clone(), count.clone());
        simulation.spawn(place, move || {
            for _ in 0..50 {
                let held = queued.acquire();
                lines[random_below(40) as usize].fetch_add(1, Ordering::Relaxed);
                // SAFETY: acquired above.
                unsafe { queued.release(held) };
                let held = count.acquire();
                lines[random_below(40) as usize].load(Ordering::Relaxed);
                // SAFETY: acquired above.
                unsafe { count.release(held) };
            }
        });
    }
    finish(&mut simulation);
    simulation.hash()
}

#[test]
fn every_shipped_machine_runs_as_before() {
    let mut found = String::new();
    for name in Machine::names() {
        let machine = Machine::shipped(name).expect("it is shipped");
        write!(found, "{name}").unwrap();
        for seed in 1..=20 {
            write!(found, " {:016x}", hash(&machine, seed)).unwrap();
        }
        found.push('\n');
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/held.txt");
    if std::env::var("HELD").is_ok_and(|value| value == "renew") {
        std::fs::write(path, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(path).unwrap());
}
