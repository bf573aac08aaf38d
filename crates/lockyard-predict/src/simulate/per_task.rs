//! Runs in which all tasks have the same number of operations to do, and each task is timed.
//!
//! Some benchmark harnesses, such as google-benchmark, give each task a number of operations. All
//! tasks begin together, and each task's clock stops when its operations are done. The figure is
//! the mean of the tasks' times.
//!
//! If tasks are served unevenly, this figure differs from one that comes from the throughput while
//! all tasks run. Faster tasks finish first, and the others go on with less contention. But the
//! time of a slow task counts as much as that of a fast one. So these runs are simulated from start
//! to end. All other results of the cell describe the time while all tasks run.

use super::failed::Failed;
use super::objects::{objects, simulation};
use super::prediction::{Prediction, SimulationError, range};
use super::spec::CellSpec;
use super::starts::Beginnings;
use super::{SimulationEffort, windows};
use lockyard_results::statistics;
use lockyard_sim::RunEnd;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Number of operations of each task. The benchmark has more: for `page-ref` at least ten times as
/// many with up to 16 tasks, and 2 to 5 times with 64 and 128. The end of a run is the same share
/// of it. But with fewer operations, chance has more weight. Tasks that are served evenly end up to
/// a few per cent apart, and their figure is 1 to 2 % low.
const EACH: u64 = 2_000;

/// Longest run, in simulated nanoseconds. For longer runs, the number of operations of each task is
/// reduced.
const LONG_ENOUGH: f64 = 2e9;

/// Minimum number of operations of each task after this reduction.
const FEWEST_EACH: u64 = 20;

/// Maximum number of operations of all tasks in all runs of a cell. It limits the number of runs.
/// With many tasks, their places make less difference. Unpinned tasks on several sockets have 40
/// runs with four tasks, 30 with eight, 15 with 16.
const ENOUGH: u64 = 480_000;

/// Minimum number of runs.
const FEWEST: u64 = 3;

/// A run is stuck if it takes longer than all tasks together would, multiplied by this factor.
const STUCK: f64 = 1e3;

/// Simulates runs in which each task is timed until its operations are done. These runs give only
/// the throughput, its range, and the throughput of each run. This throughput is the one at which
/// the tasks' mean time would result if all tasks ran for ever.
///
/// # Errors
///
/// Those of [`windows::simulate`].
///
/// # Panics
///
/// Those of [`windows::simulate`].
pub(super) fn simulate(
    cell: &CellSpec,
    effort: SimulationEffort,
) -> Result<Prediction, SimulationError> {
    let threads = cell.threads;
    let seeds = effort.seeds.min((ENOUGH / (EACH * threads as u64)).max(FEWEST));
    let effort = SimulationEffort { seeds, ..effort }.for_tables(cell.variant);
    let found = windows::simulate(cell, effort, false)?;
    // Nanoseconds per operation of one task.
    let operation = threads as f64 * 1e9 / found.throughput;
    let each = EACH.min((LONG_ENOUGH / operation) as u64).max(FEWEST_EACH);
    let longest = cell.machine.cycles(each as f64 * operation * STUCK);
    let times = effort
        .seeds()
        .map(|seed| {
            mean_time(cell, each, longest, seed)
                .map_err(|failed| failed.error(cell, &format!("seed {seed}")))
        })
        .collect::<Result<Vec<f64>, _>>()?;
    let throughput = |time: f64| threads as f64 * 1e9 / time;
    let runs: Vec<f64> = times.iter().copied().map(throughput).collect();
    Ok(Prediction {
        // The mean, as the benchmark prints it.
        throughput: statistics::mean(&times).map_or(0.0, throughput),
        range: range(&runs),
        runs,
        while_all_go_on: Some(found.throughput),
        ..found
    })
}

/// Returns the mean of the tasks' times per operation in one run, in nanoseconds. Each task does
/// `each` operations. A run of more than `longest` cycles is stuck.
fn mean_time(cell: &CellSpec, each: u64, longest: u64, seed: u64) -> Result<f64, Failed> {
    let mut simulation = simulation(cell, seed);
    let objects = objects(&mut simulation, cell, seed)?;
    // Times in cycles.
    let times = Rc::new(RefCell::new(Vec::new()));
    // The harness starts all tasks together, and its runs are long enough that a slightly earlier
    // start gives no advantage. So here the clocks start when all tasks have begun, in an order
    // that favours no task.
    let beginnings = Beginnings::draw(&mut simulation, cell.variant.starts, cell.threads);
    let all_there = beginnings.end();
    let places = cell.placement.places(cell.machine, cell.threads, seed);
    for (task, place) in places.into_iter().enumerate() {
        let (objects, times) = (Rc::clone(&objects), Rc::clone(&times));
        beginnings.spawn(&mut simulation, task, 0, place, move || {
            let begun = Cell::new(0);
            let ready = || lockyard_sim::now() >= all_there;
            objects.run_operations_after(ready, || begun.set(lockyard_sim::now()), each);
            times.borrow_mut().push(lockyard_sim::now() - begun.get());
        });
    }
    let outcome = simulation.run_until(all_there + longest);
    if !matches!(outcome, RunEnd::Finished) {
        return Err(Failed::during(&[objects], &outcome));
    }
    let operations = simulation.operations().iter().sum();
    simulation
        .setup(|| objects.verify(operations))
        .map_err(|error| Failed::during(&[objects], &error))?;
    let all: u64 = times.borrow().iter().sum();
    Ok(cell.machine.nanoseconds(all) / (each * cell.threads as u64) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::MachinePlacement;
    use crate::simulate::{RunPlan, simulate};
    use lockyard_scenarios::{Order, Script};
    use lockyard_sim::Machine;

    const EFFORT: SimulationEffort = SimulationEffort {
        warm_up_ns: 50_000.0,
        window_ns: 100_000.0,
        seeds: 3,
        first_seed: 1,
        is_absolute: true,
    };

    /// Returns two figures in nanoseconds: while all tasks run, and timed until each task is done.
    fn figures(
        machine: &str,
        variant: &str,
        places: &MachinePlacement,
        threads: usize,
    ) -> (f64, f64) {
        let machine = Machine::shipped(machine).expect("it is shipped");
        let script = Script::shipped("page-ref").expect("it is shipped");
        let variant = script.variant(variant).expect("it has it");
        let cell = CellSpec {
            machine: &machine,
            variant,
            placement: places,
            home: 0,
            threads,
            local_work: 0.0,
        };
        let found = simulate(&cell, &RunPlan::of_run(EFFORT, &script.run)).expect("it runs");
        let figure = |throughput| script.metric.figure(throughput, threads);
        (figure(found.while_all_go_on.unwrap_or(found.throughput)), figure(found.throughput))
    }

    #[test]
    fn tasks_that_are_served_alike_are_done_together() {
        let (all, each) = figures("zen4-7840u", "xadd", &MachinePlacement::Order(Order::Fill), 4);
        assert!((each / all - 1.0).abs() < 0.05, "{each}, while all go on {all}");
    }

    #[test]
    fn tasks_that_are_not_served_alike_are_not_done_together() {
        // Each task is on another socket. When the first one is done, the other one runs
        // uncontended.
        let places = MachinePlacement::List(vec![0, 10]);
        let (all, each) = figures("broadwell-ex-8s10c2t", "cmpxchg", &places, 2);
        assert!(each < 0.9 * all, "{each}, while all go on {all}");
        // Three cores of one socket, and one of another, which gets the most. The three take long.
        let places = MachinePlacement::List(vec![0, 1, 2, 10]);
        let (all, each) = figures("broadwell-ex-8s10c2t", "xadd", &places, 4);
        assert!(each > 1.1 * all, "{each}, while all go on {all}");
    }

    #[test]
    fn one_task_alone_goes_on_for_ever() {
        let places = MachinePlacement::Order(Order::Fill);
        let machine = Machine::shipped("zen4-7840u").expect("it is shipped");
        let script = Script::shipped("page-ref").expect("it is shipped");
        assert!(script.run.until_each_is_done);
        let variant = script.variant("xadd").expect("it has it");
        let cell = CellSpec {
            machine: &machine,
            variant,
            placement: &places,
            home: 0,
            threads: 1,
            local_work: 0.0,
        };
        let found = simulate(&cell, &RunPlan::of_run(EFFORT, &script.run)).expect("it runs");
        assert_eq!(found.while_all_go_on, None);
    }
}
