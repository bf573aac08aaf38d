//! Both back-ends, for tasks that know how much they do: threads of this machine, and a simulated one.

use lockyard::Native;
use lockyard_scenarios::{Prepared, Script, Stage};
use lockyard_sim::{Machine, RunEnd, Simulated, Simulation};
use std::rc::Rc;

pub(crate) struct Threads;

impl Stage for Threads {
    type Host = Native;
    fn work(_: f64) {}
    fn stopping() -> bool {
        unreachable!("the tasks know how much they do")
    }
    fn operation_done() {}
}

struct OnMachine;

impl Stage for OnMachine {
    type Host = Simulated;
    const GIVES_BACK: bool = false;
    fn work(nanoseconds: f64) {
        lockyard_sim::work(nanoseconds);
    }
    fn stopping() -> bool {
        lockyard_sim::stop_requested()
    }
    fn operation_done() {
        lockyard_sim::operation_done();
    }
}

/// Cycles that `tasks` tasks take for `each` operations, each on the core that `place` says, and the hash of the run.
pub(crate) fn simulated(
    script: &Script,
    variant: &str,
    (tasks, each): (usize, u64),
    seed: u64,
    place: impl Fn(usize) -> usize,
) -> (u64, u64) {
    let variant = script.variant(variant).expect("it has it");
    let machine = Machine::shipped("westmere-ex-4s10c").expect("it is shipped");
    let mut simulation = Simulation::new(&machine, seed);
    let prepared = simulation
        .setup(|| Prepared::<OnMachine>::new(variant, machine.line_bytes(), Some(0), 0.0))
        .expect("it fits into the arena")
        .with_seed(seed);
    let prepared = Rc::new(prepared);
    for task in 0..tasks {
        let prepared = Rc::clone(&prepared);
        simulation.spawn(place(task), move || prepared.run_operations(each));
    }
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
    simulation.setup(|| prepared.verify(tasks as u64 * each)).unwrap_or_else(|e| panic!("{e}"));
    (simulation.now(), simulation.hash())
}
