//! Simulation of a cell on its machine, run as the benchmarks run it. Every thread does the same
//! number of operations. The figure is the time until all threads are done, divided by the total
//! number of operations.
//!
//! The figure is therefore not the common rate of all threads. If one socket's threads are faster,
//! they finish first, and the other threads continue without them.
//!
//! An example is lockhammer's compare-exchange loop with 44 threads on one socket and one on the
//! other. In the simulation the single thread owns the line about half of the time, but does only a
//! 45th of all operations.
//!
//! Simulating thousands of operations of each thread would take too long. So each part of such a
//! run is simulated only for a while: first all threads, then the remaining threads after those of
//! a socket are done.
//!
//! All threads of a socket are assumed to be equally fast. (In the tables this is nearly true: with
//! all 44 threads of a socket, a thread's mean time is 0.9 to 1 of the whole time.)

use super::TrainingCell;
use super::programs::Shared;
use lockyard_predict::interruptible;
use lockyard_predict::simulate::SimulationError;
use lockyard_sim::{Machine, RunEnd, Simulation};

/// Simulated nanoseconds before counting begins, after all threads have started. `WINDOW_NS` is the
/// minimum time that is counted.
const WARM_UP_NS: f64 = 100_000.0;
const WINDOW_NS: f64 = 300_000.0;
/// Minimum number of operations per thread, on average. The window is doubled until it is reached.
const ENOUGH: u64 = 12;
/// Sockets count as done together if their threads' times differ by less than this share of the
/// longer time.
const ALIKE: f64 = 0.03;
/// Sockets also count as done together if their times differ by less than this many standard
/// deviations. The deviation assumes that operations are independent. (In fact a thread often does
/// several operations in a row, so the true deviation is slightly larger. A thread that has its
/// socket to itself may do only a dozen operations in a window. Even a factor of 1.8 may then be
/// chance.)
const DEVIATIONS: f64 = 2.0;

/// Returns the hardware thread of `machine` that runs thread `index`. Siblings have adjacent
/// indices.
fn place(machine: &Machine, index: usize) -> usize {
    let siblings = machine.threads_per_core();
    index % siblings * machine.cores() + index / siblings
}

/// Simulates a cell on `machine`. Returns the nanoseconds per operation, all threads together.
///
/// # Errors
///
/// If the run is stuck.
pub fn simulate(machine: &Machine, cell: &TrainingCell, seed: u64) -> Result<f64, SimulationError> {
    simulate_for(machine, cell, seed, PartTimes { warm_up_ns: WARM_UP_NS, counted_ns: WINDOW_NS })
}

/// Simulated times for each part of a run.
#[derive(Clone, Copy, Debug)]
pub struct PartTimes {
    /// Nanoseconds before counting begins.
    pub warm_up_ns: f64,
    /// Minimum number of nanoseconds counted.
    pub counted_ns: f64,
}

/// Simulates a cell with non-default times for each part of the run.
///
/// # Errors
///
/// If the run is stuck.
pub fn simulate_for(
    machine: &Machine,
    cell: &TrainingCell,
    seed: u64,
    times: PartTimes,
) -> Result<f64, SimulationError> {
    let without_pause = (!cell.pauses).then(|| machine.clone().with("cycles.pause", 1.0)).flatten();
    let machine = without_pause.as_ref().unwrap_or(machine);
    let socket = |index: usize| machine.place(place(machine, index)).socket;
    let sizes = (0..machine.sockets())
        .map(|s| (0..cell.threads).filter(|&index| socket(index) == s).count())
        .collect();
    // (In the next part, a socket whose threads are done counts as asleep. That has no effect here:
    // no training machine has an `idle_answer`.)
    until_all_are_done(sizes, |going| {
        let threads: Vec<usize> =
            (0..cell.threads).filter(|&index| going.contains(&socket(index))).collect();
        let (window, operations) = together(machine, cell, seed, times, &threads)?;
        let of_socket = |s: &usize| {
            let own = threads.iter().zip(&operations).filter(|&(&index, _)| socket(index) == *s);
            own.map(|(_, operations)| operations).sum()
        };
        Ok((window, going.iter().map(of_socket).collect()))
    })
}

/// Returns the time until all threads have done the same number of operations, divided by the total
/// number of operations. `sizes` has the number of threads in each group. `run` gets the indices of
/// the groups that still run. It returns the simulated time, and the operations of each group.
fn until_all_are_done(
    sizes: Vec<usize>,
    mut run: impl FnMut(&[usize]) -> Result<(f64, Vec<u64>), SimulationError>,
) -> Result<f64, SimulationError> {
    let threads: usize = sizes.iter().sum();
    // Groups that still run, each with the share of its threads' operations that remains.
    let mut going: Vec<(usize, f64)> =
        (0..sizes.len()).filter(|&group| sizes[group] > 0).map(|group| (group, 1.0)).collect();
    // Time in which each thread does one operation.
    let mut time = 0.0;
    while !going.is_empty() {
        let numbers: Vec<usize> = going.iter().map(|(group, _)| *group).collect();
        let (window, counts) = run(&numbers)?;
        let left = |&(group, left): &(usize, f64)| left * sizes[group] as f64;
        // Time until each group ends, in windows, if all groups continue at this rate.
        let ends: Vec<f64> =
            going.iter().zip(&counts).map(|(of, &count)| left(of) / count as f64).collect();
        let by_end = |&a: &usize, &b: &usize| ends[a].total_cmp(&ends[b]);
        let first = (0..ends.len()).min_by(by_end).unwrap_or(0);
        let last = (0..ends.len()).max_by(by_end).unwrap_or(0);
        let end = ends[first];
        if are_alike((end, counts[first]), (ends[last], counts[last])) {
            time +=
                going.iter().map(left).sum::<f64>() / counts.iter().sum::<u64>() as f64 * window;
            break;
        }
        time += end * window;
        for ((_, left), own_end) in going.iter_mut().zip(&ends) {
            *left *= 1.0 - end / own_end;
        }
        going.retain(|(_, left)| *left > 0.0);
    }
    Ok(time / threads as f64)
}

/// Returns true if two groups end at the same time, within the precision of these operation counts.
fn are_alike((first, of_first): (f64, u64), (last, of_last): (f64, u64)) -> bool {
    // Standard deviation of the ratio of two counts.
    let deviation = (1.0 / of_first as f64 + 1.0 / of_last.max(1) as f64).sqrt();
    first >= last * (1.0 - ALIKE) || (of_last > 0 && (last / first).ln() < DEVIATIONS * deviation)
}

/// Runs several threads together. Returns the simulated nanoseconds, and the operations of each
/// thread in that time.
fn together(
    machine: &Machine,
    cell: &TrainingCell,
    seed: u64,
    PartTimes { warm_up_ns: warm_up, counted_ns: at_least }: PartTimes,
    threads: &[usize],
) -> Result<(f64, Vec<u64>), SimulationError> {
    let mut simulation = interruptible(Simulation::new(machine, seed));
    let shared = Shared::new(&mut simulation, cell.program);
    let [inside, between, own] = cell.work;
    // Start in random order. If threads started in the order of their numbers, siblings would
    // always be neighbours in a queue. In the benchmark, each timer tick of a CPU moves its thread
    // to another position in the queue, at least a dozen times per run.
    let starts = simulation.random_starts(threads.len());
    let all_there = starts.iter().copied().max().unwrap_or(0);
    for (&begin, &index) in starts.iter().zip(threads) {
        let shared = shared.clone();
        simulation.spawn_at(place(machine, index), begin, move || {
            while !lockyard_sim::stop_requested() {
                shared.perform(|| lockyard_sim::work(inside));
                lockyard_sim::work(between);
                // The loop adds what the operation returned to a sum in memory.
                lockyard_sim::work_in_order(own);
                lockyard_sim::operation_done();
            }
        });
    }
    let fails = |outcome: RunEnd| {
        let of = lockyard_support::threads(threads.len());
        SimulationError::new(format!("{}, {of}: {outcome}", cell.variant))
    };
    let run = |simulation: &mut Simulation, ns: f64| match simulation
        .run_until(all_there + machine.cycles(ns))
    {
        RunEnd::TimeOver => Ok(simulation.operations()),
        outcome => Err(fails(outcome)),
    };
    let before = run(&mut simulation, warm_up)?;
    let mut window = at_least;
    loop {
        let after = run(&mut simulation, warm_up + window)?;
        let operations: Vec<u64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
        if operations.iter().sum::<u64>() >= ENOUGH * (threads.len() as u64).max(16) {
            simulation.request_stop();
            return match simulation.run_until(u64::MAX) {
                RunEnd::Finished => Ok((window, operations)),
                outcome => Err(fails(outcome)),
            };
        }
        window *= 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::training::cells;

    #[test]
    fn who_is_done_first_does_not_make_the_others_faster() {
        let machine = Machine::shipped("broadwell-ep-2s22c2t").expect("it is shipped");
        let (cells, _) = cells();
        let of = |threads| {
            let is = |cell: &&TrainingCell| {
                cell.machine == machine.name()
                    && cell.threads == threads
                    && cell.variant == "cas_lockref/0/0"
            };
            cells.iter().find(is).expect("the table has it")
        };
        let times = PartTimes { warm_up_ns: 20_000.0, counted_ns: 50_000.0 };
        let figure = |threads| simulate_for(&machine, of(threads), 1, times).expect("it is sound");
        let (one_socket, one_more) = (figure(44), figure(45));
        let all: Vec<usize> = (0..45).collect();
        let (window, operations) = together(&machine, of(45), 1, times, &all).expect("it is sound");
        let steady = window / operations.iter().sum::<u64>() as f64;
        assert!(operations[44] > 10 * operations[..44].iter().max().unwrap(), "{operations:?}");
        assert!(steady < 0.6 * one_socket, "all the time with it: {steady}; without: {one_socket}");
        let ratio = one_more / one_socket;
        assert!((0.85..1.1).contains(&ratio), "with it until it is done: {one_more}, {one_socket}");
    }

    /// Returns the result of `until_all_are_done` in windows of one nanosecond. `rates` has the
    /// rate of a thread in each group, in thousands of operations per window. `alone` is the rate
    /// of the last group when it runs by itself.
    fn put_together(sizes: &[usize], rates: &[u64], alone: u64) -> f64 {
        until_all_are_done(sizes.to_vec(), |going| {
            let rate = |&group: &usize| match going.len() {
                1 => alone,
                _ => rates[group],
            };
            Ok((1.0, going.iter().map(|group| 1000 * sizes[*group] as u64 * rate(group)).collect()))
        })
        .expect("no part fails")
            * 1000.0
    }

    #[test]
    fn the_parts_are_put_together() {
        assert_eq!(put_together(&[4], &[5], 5), 0.05);
        assert_eq!(put_together(&[4, 0], &[5, 7], 5), 0.05);
        assert_eq!(put_together(&[4, 4], &[5, 5], 9), 0.025);
        // After one unit of time, the first thread is done, and the second one is half done. The
        // other half takes half a unit or a quarter.
        assert_eq!(put_together(&[1, 1], &[2, 1], 1), 0.5);
        assert_eq!(put_together(&[1, 1], &[2, 1], 2), 0.375);
        // A group that makes no progress meanwhile has all its work left.
        assert_eq!(put_together(&[1, 3], &[1, 0], 1), 0.5);
        // Two groups that end at the same time leave together.
        assert_eq!(put_together(&[1, 1, 1], &[2, 2, 1], 1), 1.0 / 3.0);
    }

    #[test]
    fn groups_are_alike_within_chance() {
        assert!(are_alike((1.0, 1000), (1.02, 1000)));
        assert!(!are_alike((1.0, 10_000), (1.1, 10_000)));
        assert!(are_alike((1.0, 12), (1.5, 500)), "a third more or less of 12 is chance");
        assert!(!are_alike((1.0, 12), (f64::INFINITY, 0)));
    }
}
