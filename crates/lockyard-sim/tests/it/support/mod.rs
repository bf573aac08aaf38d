//! Helpers for several test files: variants of the shipped machine, and threads with a result.

pub(crate) mod chain;

use lockyard::platform::{Ordering, Word};
use lockyard_sim::{Machine, RunEnd, SimulatedU64, Simulation};
use std::cell::Cell;
use std::rc::Rc;

/// Hardware threads of the shipped machine: 0 to 23 on socket 0, 24 to 47 on socket 1, then the
/// siblings in the same order.
pub(crate) const OTHER_SOCKET: usize = 24;
/// The sibling of hardware thread 0.
pub(crate) const SIBLING_OF_0: usize = 48;

/// Returns the shipped machine with some of its numbers replaced.
pub(crate) fn machine(changes: &[(&str, u64)]) -> Machine {
    let mut machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    for &(name, value) in changes {
        let full = machine.parameters().iter().find(|p| p.name.ends_with(&format!(".{name}")));
        let full = full.unwrap_or_else(|| panic!("the machine has {name}")).name.clone();
        machine = machine.with(&full, value as f64).expect("found above");
    }
    machine
}

/// The SplitMix64 generator.
pub(crate) fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Returns a machine whose numbers are random by seed, each from a tenth to ten times the shipped
/// machine's. `choose` may replace a number. Its arguments are the name, the number, and random
/// numbers.
pub(crate) fn random_machine(
    seed: u64,
    choose: impl Fn(&str, f64, &mut dyn FnMut() -> u64) -> f64,
) -> Machine {
    let shipped = machine(&[]);
    let mut next = random(seed);
    let mut changed = shipped.clone();
    for parameter in shipped.parameters() {
        let name = parameter.name.as_str();
        let is_left =
            name.starts_with("topology.") || name.starts_with("kernel.") || name == "family.scale";
        if is_left {
            continue;
        }
        let Ok(value) = parameter.value.to_string().parse::<f64>() else { continue };
        let factor = 10f64.powf((next() % 2001) as f64 / 1000.0 - 1.0);
        // The shipped machine's number is 0, and multiples of 0 would never delay an answer.
        let value = if name == "cycles.idle_answer" { 300.0 } else { value };
        let value = if next().is_multiple_of(8) { 0.0 } else { value.max(1.0) * factor };
        changed = changed.with(name, choose(name, value, &mut next)).expect("it has the number");
    }
    for (name, choices) in
        [("sockets", [1, 2, 3, 8]), ("complexes", [1, 1, 2, 4]), ("cores", [1, 2, 5, 24])]
    {
        let value = choices[(next() % 4) as usize];
        changed = changed.with(&format!("topology.{name}"), f64::from(value)).expect("as above");
    }
    changed
}

/// A number of the shipped machine's file.
pub(crate) fn number(machine: &Machine, name: &str) -> u64 {
    let parameter = machine.parameter(name);
    match parameter.unwrap_or_else(|| panic!("the machine has {name}")).value {
        lockyard_sim::machine::Value::Whole(number) => number,
        _ => panic!("{name} is a whole number"),
    }
}

/// Adds a thread that begins at cycle `start`. Its result is in the cell after the run.
pub(crate) fn thread<T: Copy + 'static>(
    simulation: &mut Simulation,
    place: usize,
    start: u64,
    code: impl FnOnce() -> T + 'static,
) -> Rc<Cell<Option<T>>> {
    let result = Rc::new(Cell::new(None));
    let out = Rc::clone(&result);
    simulation.spawn_at(place, start, move || out.set(Some(code())));
    result
}

/// Runs until all threads have finished.
pub(crate) fn finish(simulation: &mut Simulation) {
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
}

/// Runs one thread on hardware thread `place`, long after all earlier ones have ended. Returns its
/// result.
pub(crate) fn on<T: Copy + 'static>(
    simulation: &mut Simulation,
    place: usize,
    code: impl FnOnce() -> T + 'static,
) -> T {
    let start = simulation.now() + 1000;
    let result = thread(simulation, place, start, code);
    finish(simulation);
    result.get().expect("the thread has finished")
}

/// Nanoseconds per hand-over of a word with home `home`. Two hardware threads change the word in
/// turn, each by a compare-exchange that it retries until it succeeds.
pub(crate) fn ping_pong(machine: &Machine, places: [usize; 2], home: usize) -> f64 {
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
    assert!(matches!(simulation.run(), RunEnd::Finished));
    machine.nanoseconds(simulation.now()) / (2 * TURNS) as f64
}
