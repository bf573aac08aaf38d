//! One cell on a simulated machine: a variant, a number of threads, some seeds.

use crate::statistics;
use lockyard::platform::Event;
use lockyard_scenarios::{Order, Prepared, Stage, Variant};
use lockyard_sim::{Machine, Outcome, Simulated, Simulation};
use std::rc::Rc;

/// How long a run is simulated, and how often.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Simulated nanoseconds before counting begins.
    pub warm_up_ns: f64,
    /// Simulated nanoseconds that are counted.
    pub window_ns: f64,
    /// Runs, each with a seed of its own: 1, 2, ...
    pub seeds: u64,
}

impl Effort {
    /// Enough for the tables: longer windows and more seeds move a cell by less than 3 %.
    pub const USUAL: Effort = Effort { warm_up_ns: 150_000.0, window_ns: 1_000_000.0, seeds: 5 };
    /// For the search of a calibration.
    pub const SEARCH: Effort = Effort { warm_up_ns: 100_000.0, window_ns: 400_000.0, seeds: 3 };
}

/// A window is doubled until it holds so many operations, so that slow operations are not counted in
/// steps of a large part of the figure: in all, and of each thread, since threads may be in step ...
const ENOUGH_OPERATIONS: (u64, u64) = (200, 20);
/// ... or is so long, in simulated nanoseconds.
const LONGEST_WINDOW_NS: f64 = 2e9;

/// After the stop a thread may take this long to finish its operation, in simulated nanoseconds.
const DRAIN_NS: f64 = 1e9;

/// A simulated machine, as a scenario sees it.
#[derive(Debug)]
pub struct OnMachine(());

impl Stage for OnMachine {
    type Host = Simulated;

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

/// What the runs of a cell came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Operations a second, all threads together: the mean over the seeds.
    pub throughput: f64,
    /// The lowest and highest throughput of a seed.
    pub range: (f64, f64),
    /// Operations of the slowest and of the fastest thread, over all seeds.
    pub per_thread: (u64, u64),
    /// Failed compare-exchanges per successful one.
    pub failed_per_success: f64,
    /// Read-modify-writes per ownership of a line.
    pub rmws_per_ownership: f64,
    /// Transfers from core to core of one complex, per operation.
    pub local_transfers: f64,
    /// Grants of a line to another complex, per operation.
    pub remote_transfers: f64,
    /// Lockref operations that gave up and took the lock, in all windows.
    pub locked: u64,
}

/// Why a cell could not be simulated.
#[derive(Clone, Debug)]
pub struct SimulationError(String);

impl std::fmt::Display for SimulationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SimulationError {}

/// The hardware threads of `machine` on which `threads` tasks run.
pub(crate) fn placement(machine: &Machine, order: Order, threads: usize) -> Vec<usize> {
    match order {
        // Hardware threads are numbered in this order.
        Order::CoresFirst => (0..threads).collect(),
        Order::Spread => {
            let sockets = machine.sockets();
            let cores_per_socket = machine.cores() / sockets;
            let place = |task: usize| {
                let (round, socket) = (task / sockets, task % sockets);
                let (sibling, core) = (round / cores_per_socket, round % cores_per_socket);
                sibling * machine.cores() + socket * cores_per_socket + core
            };
            (0..threads).map(place).collect()
        }
    }
}

/// Simulates one cell.
///
/// # Errors
///
/// If a run is stuck, a thread panics, or the objects are not as they ought to be afterwards: a
/// primitive is broken, and the message says how.
///
/// # Panics
///
/// If the machine has fewer hardware threads.
pub fn cell(
    machine: &Machine,
    variant: &Variant,
    order: Order,
    threads: usize,
    local_work: f64,
    effort: Effort,
) -> Result<Prediction, SimulationError> {
    let mut throughputs = Vec::new();
    let mut per_thread = (u64::MAX, 0);
    let mut totals = [0u64; 7];
    let mut locked = 0;
    for seed in 1..=effort.seeds {
        let mut simulation = Simulation::new(machine, seed);
        let prepared = simulation.setup(|| {
            Prepared::<OnMachine>::new(variant, machine.line_bytes(), Some(0), local_work)
        });
        let Some(prepared) = prepared else {
            return Err(SimulationError("the objects do not fit into the arena".to_owned()));
        };
        let prepared = Rc::new(prepared);
        for place in placement(machine, order, threads) {
            let prepared = Rc::clone(&prepared);
            simulation.spawn(place, move || {
                prepared.run_task(|_| ());
            });
        }
        let fail = |outcome: Outcome| {
            Err(SimulationError(format!("{threads} threads, seed {seed}: {outcome}")))
        };
        let begin = machine.cycles(effort.warm_up_ns);
        let outcome = simulation.run_until(begin);
        if !outcome.is_sound() {
            return fail(outcome);
        }
        let (before, statistics) = (simulation.operations(), simulation.statistics());
        let events = simulation.events();
        let mut window_ns = effort.window_ns;
        let (counts, total) = loop {
            let outcome = simulation.run_until(begin + machine.cycles(window_ns));
            if !outcome.is_sound() {
                return fail(outcome);
            }
            let operations = simulation.operations();
            let counts: Vec<u64> = operations.iter().zip(&before).map(|(a, b)| a - b).collect();
            let total: u64 = counts.iter().sum();
            if total >= ENOUGH_OPERATIONS.0.max(ENOUGH_OPERATIONS.1 * threads as u64)
                || window_ns >= LONGEST_WINDOW_NS
            {
                break (counts, total);
            }
            window_ns *= 2.0;
        };
        if total == 0 {
            return Err(SimulationError(format!(
                "{threads} threads, seed {seed}: no operation was finished within {} s of the \
                 machine's time",
                window_ns / 1e9
            )));
        }
        let end = begin + machine.cycles(window_ns);
        let after = simulation.statistics();
        throughputs.push(total as f64 / window_ns * 1e9);
        per_thread.0 = per_thread.0.min(counts.iter().copied().min().unwrap_or(0));
        per_thread.1 = per_thread.1.max(counts.iter().copied().max().unwrap_or(0));
        locked += simulation
            .events()
            .iter()
            .zip(&events)
            .filter(|((event, _), _)| *event == Event::RefLocked)
            .map(|((_, after), (_, before))| after - before)
            .sum::<u64>();
        for (sum, value) in totals.iter_mut().zip([
            total,
            after.failed_compare_exchanges - statistics.failed_compare_exchanges,
            after.compare_exchanges - statistics.compare_exchanges,
            after.rmws - statistics.rmws,
            after.exclusive_fills - statistics.exclusive_fills,
            after.local_transfers - statistics.local_transfers,
            after.remote_grants - statistics.remote_grants,
        ]) {
            *sum += value;
        }
        // Drain, and look whether everything is as it ought to be.
        simulation.request_stop();
        let outcome = simulation.run_until(end + machine.cycles(DRAIN_NS));
        if !matches!(outcome, Outcome::Finished) {
            return fail(outcome);
        }
        let operations: u64 = simulation.operations().iter().sum();
        simulation
            .setup(|| prepared.verify(operations))
            .map_err(|e| SimulationError(format!("{threads} threads, seed {seed}: {e}")))?;
    }
    let [total, failed, succeeded, rmws, ownerships, local, remote] = totals.map(|t| t as f64);
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    Ok(Prediction {
        throughput: statistics::mean(&throughputs).unwrap_or(0.0),
        range: (
            throughputs.iter().copied().fold(f64::INFINITY, f64::min),
            throughputs.iter().copied().fold(0.0, f64::max),
        ),
        per_thread,
        failed_per_success: ratio(failed, succeeded),
        rmws_per_ownership: ratio(rmws, ownerships),
        local_transfers: ratio(local, total),
        remote_transfers: ratio(remote, total),
        locked,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_spread_over_the_sockets_in_turn_whole_cores_first() {
        let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
        assert_eq!(placement(&machine, Order::CoresFirst, 3), [0, 1, 2]);
        assert_eq!(placement(&machine, Order::Spread, 5), [0, 24, 1, 25, 2]);
        let all = placement(&machine, Order::Spread, 96);
        assert_eq!(all[47..50], [47, 48, 72], "then the siblings");
        let mut sorted = all.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..96).collect::<Vec<_>>(), "each hardware thread once");
    }
}
