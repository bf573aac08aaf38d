//! Both back-ends for tasks with a fixed number of operations: threads of this host, and a
//! simulated machine.

pub(crate) mod scripts;

use lockyard::Native;
use lockyard_scenarios::{Exchanges, Prepared, Script, Stage, Variant};
use lockyard_sim::{Machine, RunEnd, Simulated, Simulation};
use std::rc::Rc;

pub(crate) struct Threads;

impl Stage for Threads {
    type Host = Native;
    const SEES_INSIDE: bool = true;
    fn work(_: f64) {}
    fn stopping() -> bool {
        unreachable!("the number of operations is fixed")
    }
    fn operation_done() {}
}

/// A simulated machine. The lab counts the tasks inside locks, if `COUNTS` is `true`.
struct OnMachine<const COUNTS: bool>;

impl<const COUNTS: bool> Stage for OnMachine<COUNTS> {
    type Host = Simulated;
    const GIVES_BACK: bool = false;
    const SEES_INSIDE: bool = COUNTS;
    const MOST_TURNS: u64 = 10_000;
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

/// Tasks of a simulated run.
#[derive(Clone, Copy)]
pub(crate) struct Tasks {
    pub(crate) count: usize,
    /// Operations of each task.
    pub(crate) operations: u64,
}

/// Result of a simulated run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) cycles: u64,
    pub(crate) hash: u64,
    pub(crate) exchanges: Exchanges,
}

/// Simulates tasks that perform a variant. `place` returns the core of each task.
pub(crate) fn simulated(
    script: &Script,
    variant: &str,
    tasks: Tasks,
    seed: u64,
    place: impl Fn(usize) -> usize,
) -> Run {
    let variant = script.variant(variant).expect("it has it");
    let machine = Machine::shipped("westmere-ex-4s10c").expect("it is shipped");
    simulated_on(&machine, variant, tasks, seed, place).unwrap_or_else(|e| panic!("{e}"))
}

/// Simulates tasks that perform a variant on a machine. `place` returns the hardware thread of each
/// task. The error is what is wrong after the run.
pub(crate) fn simulated_on(
    machine: &Machine,
    variant: &Variant,
    tasks: Tasks,
    seed: u64,
    place: impl Fn(usize) -> usize,
) -> Result<Run, String> {
    simulated_by::<true>(machine, variant, tasks, seed, place)
}

/// The same as [`simulated_on`], with a choice whether the lab counts tasks inside locks.
pub(crate) fn simulated_by<const COUNTS: bool>(
    machine: &Machine,
    variant: &Variant,
    tasks: Tasks,
    seed: u64,
    place: impl Fn(usize) -> usize,
) -> Result<Run, String> {
    let mut simulation = Simulation::new(machine, seed);
    let prepared = simulation
        .setup(|| Prepared::<OnMachine<COUNTS>>::new(variant, machine.line_bytes(), Some(0), 0.0))
        .expect("it fits into the arena")
        .with_seed(seed);
    let prepared = Rc::new(prepared);
    for task in 0..tasks.count {
        let prepared = Rc::clone(&prepared);
        simulation.spawn(place(task), move || prepared.run_operations(tasks.operations));
    }
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
    simulation
        .setup(|| prepared.verify(tasks.count as u64 * tasks.operations))
        .map_err(|violation| violation.to_string())?;
    let exchanges = prepared.exchanges();
    Ok(Run { cycles: simulation.now(), hash: simulation.hash(), exchanges })
}
