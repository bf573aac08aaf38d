//! Runs that are counted in a window while all tasks run.
//!
//! A run warms up, is counted in a window, and is then stopped and verified. Several runs with
//! different seeds make a prediction.

use super::SimulationEffort;
use super::effort::places_are_alike;
use super::failed::Failed;
use super::fallbacks::Fallbacks;
use super::objects::{drain_ns, objects, simulation};
use super::prediction::{Prediction, SimulationError, range};
use super::spec::CellSpec;
use super::stage::{self, OnMachine, Recording};
use super::starts::{Beginnings, Orders, PARTS};
use crate::explain::{Costs, LockTime};
use hdrhistogram::Histogram;
use lockyard::platform::Event;
use lockyard_results::details::RequestsDetail;
use lockyard_results::fairness::{self, Fairness, Waits};
use lockyard_results::listing::Listing;
use lockyard_results::outcome::CpuTime;
use lockyard_results::statistics;
use lockyard_scenarios::{Exchanges, Object, ObjectKind, Prepared, Starts};
use lockyard_sim::{RunEnd, RunStatistics, Simulation};
use std::rc::Rc;

/// Longest window, in simulated nanoseconds, unless the work of its operations takes longer.
const LONGEST_WINDOW_NS: f64 = 2e9;

/// Time within which the last task reaches a lock after its start, in simulated nanoseconds.
const COMES_BY_NS: f64 = 1000.0;

/// Returns the seed of the random numbers that the tasks of a guest draw in a run with this seed.
/// The first guest has that of the run. Equal seeds would give the guests equal work.
fn seed_of_guest(seed: u64, guest: usize) -> u64 {
    seed ^ (guest as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Simulates a cell. With `fallen`, the task that begins first holds the locks of all lockrefs
/// until the others have begun, so that they queue in a random order. In that case the variant has
/// no guests.
///
/// # Errors
///
/// If a run is stuck, a thread panics, or the objects are in a wrong state afterwards. Then a
/// primitive is broken, and the message describes the fault.
///
/// # Panics
///
/// If the placement has no room for the threads.
pub(super) fn simulate(
    cell: &CellSpec,
    effort: SimulationEffort,
    fallen: bool,
) -> Result<Prediction, SimulationError> {
    let guests = cell.variant.guests.unwrap_or(1);
    let of_cpu = if guests == 1 { cell.of_place() } else { 1 };
    let effort = effort.for_guests(guests).for_crowd(cell.machine, of_cpu);
    let effort = effort.for_tables(cell.variant).for_requests(cell.variant);
    // In a real run of seconds, interrupts have shuffled the tasks, so the first order does not
    // matter.
    let starts = if fallen { Starts::Random } else { cell.variant.starts };
    let mut sums = Sums::new(cell);
    for seed in effort.seeds() {
        let run = Run::begin(cell, seed, starts, fallen);
        run.and_then(|run| run.finish(effort, &mut sums))
            .map_err(|failed| failed.error(cell, &format!("seed {seed}")))?;
    }
    sums.prediction(starts)
}

/// One run, after its tasks have been added.
pub(super) struct Run<'a> {
    pub(super) cell: &'a CellSpec<'a>,
    pub(super) simulation: Simulation,
    /// The objects of each guest.
    pub(super) objects: Vec<Rc<Prepared<OnMachine>>>,
    /// Cycle at which the last task begins.
    pub(super) all_there: u64,
}

/// Counters at the start of the window.
struct Before {
    busy: Option<u64>,
    operations: Vec<u64>,
    statistics: RunStatistics,
    events: Vec<(Event, u64)>,
    lost: Vec<Vec<u64>>,
}

/// The counted window of a run.
struct Window {
    nanoseconds: f64,
    /// Operations of each task.
    counts: Vec<u64>,
    /// Operations of all tasks from the start of the run to the end of each part.
    ends: Vec<u64>,
}

impl<'a> Run<'a> {
    /// Lays out the objects, and adds the tasks of all guests.
    pub(super) fn begin(
        cell: &'a CellSpec<'a>,
        seed: u64,
        starts: Starts,
        fallen: bool,
    ) -> Result<Run<'a>, Failed> {
        let mut simulation = simulation(cell, seed);
        if cell.variant.guests.is_some() {
            simulation.share_cpus();
        }
        let tasks = cell.variant.tasks(cell.threads);
        let beginnings = Beginnings::draw(&mut simulation, starts, tasks);
        let mut all = Vec::new();
        for guest in 0..cell.variant.guests.unwrap_or(1) {
            let seed_of_guest = seed_of_guest(seed, guest);
            let objects = objects(&mut simulation, cell, seed_of_guest)?;
            for (name, address, bytes) in objects.places() {
                simulation.name(address, bytes, name);
            }
            let places = cell.placement.places(cell.machine, cell.threads, seed);
            for (task, place) in places.into_iter().enumerate() {
                let objects = Rc::clone(&objects);
                let number = guest * cell.threads + task;
                let held = beginnings.until_all_have_begun(number);
                let held = (fallen && number == beginnings.first()).then_some(held);
                beginnings.spawn(&mut simulation, number, guest as u32, place, move || {
                    if let Some(held) = held {
                        objects.hold_lockrefs(lockyard_sim::nanoseconds(held) + COMES_BY_NS);
                    }
                    objects.run_task(|_| ());
                });
            }
            all.push(objects);
        }
        Ok(Run { cell, simulation, objects: all, all_there: beginnings.end() })
    }

    /// Begins a record of the run.
    pub(super) fn record(&self) -> Recording {
        let objects = self.objects[0].places().count();
        stage::begin(self.objects.len(), self.cell.threads, objects)
    }

    /// Number of compare-exchanges of each lockref, by the number of losses in a row before them.
    fn lost_in_a_row(&self) -> Vec<Vec<u64>> {
        let addresses = self.objects.iter().flat_map(|objects| objects.lockrefs());
        addresses.map(|address| self.simulation.failure_streaks(address)).collect()
    }

    /// Warms up, counts a window, stops, verifies, and adds the counts to `sums`.
    fn finish(mut self, effort: SimulationEffort, sums: &mut Sums) -> Result<(), Failed> {
        let machine = self.cell.machine;
        let begin = self.all_there + machine.cycles(effort.warm_up_ns);
        let recording = self.record();
        let outcome = self.simulation.run_until(begin);
        if !outcome.is_sound() {
            return Err(Failed::during(&self.objects, &outcome));
        }
        recording.begin_window(begin);
        self.simulation.begin_attribution();
        let before = Before {
            busy: self.simulation.busy_cycles(),
            operations: self.simulation.operations(),
            statistics: self.simulation.statistics(),
            events: self.simulation.events(),
            lost: self.lost_in_a_row(),
        };
        let window = self.window(begin, effort, &before.operations)?;
        let end = begin + machine.cycles(window.nanoseconds);
        sums.add(&mut self, &before, window, recording, end);
        self.stop(end, sums)
    }

    /// Stops a run whose window ended at the cycle `end`, and verifies it.
    fn stop(mut self, end: u64, sums: &mut Sums) -> Result<(), Failed> {
        let machine = self.cell.machine;
        // Drain, and check the final state of everything.
        self.simulation.request_stop();
        let outcome = self.simulation.run_until(end + machine.cycles(drain_ns(self.cell)));
        if !matches!(outcome, RunEnd::Finished) {
            return Err(Failed::during(&self.objects, &outcome));
        }
        let operations = self.simulation.operations();
        sums.operations_to_the_end += operations.iter().sum::<u64>();
        for (objects, operations) in self.objects.iter().zip(operations.chunks(self.cell.threads)) {
            sums.own_exchanges.add(objects.exchanges());
            let operations = operations.iter().sum();
            self.simulation
                .setup(|| objects.verify(operations))
                .map_err(|error| Failed::during(&self.objects, &error))?;
        }
        Ok(())
    }

    /// Runs a window from cycle `begin` on. Doubles it until it contains enough operations, so that
    /// one slow operation is a small part of the figure.
    fn window(
        &mut self,
        begin: u64,
        effort: SimulationEffort,
        before: &[u64],
    ) -> Result<Window, Failed> {
        let machine = self.cell.machine;
        let enough = effort.enough(self.cell.variant, before.len() as u64);
        let work = self.cell.variant.work_of_operation(self.cell.local_work);
        let longest = LONGEST_WINDOW_NS.max(enough as f64 * work);
        let mut nanoseconds = effort.window_ns;
        let mut ends = Vec::new();
        loop {
            for part in ends.len() + 1..=PARTS {
                let until = nanoseconds * part as f64 / PARTS as f64;
                let outcome = self.simulation.run_until(begin + machine.cycles(until));
                if !outcome.is_sound() {
                    return Err(Failed::during(&self.objects, &outcome));
                }
                ends.push(self.simulation.operations().iter().sum::<u64>());
            }
            if let Some(stuck) = Failed::stuck(&self.objects) {
                return Err(stuck);
            }
            let operations = self.simulation.operations();
            let counts: Vec<u64> = operations.iter().zip(before).map(|(a, b)| a - b).collect();
            let total: u64 = counts.iter().sum();
            if total > 0 && (total >= enough || nanoseconds >= longest) {
                return Ok(Window { nanoseconds, counts, ends });
            }
            if nanoseconds >= longest {
                let what = format!(
                    "no operation finished within {} s of the machine's time",
                    nanoseconds / 1e9
                );
                return Err(Failed::stalled(&self.objects, what));
            }
            nanoseconds *= 2.0;
            ends = ends.into_iter().skip(1).step_by(2).collect();
        }
    }
}

/// Coherence counters, summed over all runs.
#[derive(Default)]
struct Transfers {
    failed_exchanges: u64,
    exchanges: u64,
    rmws: u64,
    ownerships: u64,
    local: u64,
    remote: u64,
    sleeps: u64,
}

impl Transfers {
    fn add(&mut self, before: &RunStatistics, after: &RunStatistics) {
        self.failed_exchanges += after.failed_compare_exchanges - before.failed_compare_exchanges;
        self.exchanges += after.compare_exchanges - before.compare_exchanges;
        self.rmws += after.rmws - before.rmws;
        self.ownerships += after.exclusive_fills - before.exclusive_fills;
        self.local += after.local_transfers - before.local_transfers;
        self.remote += after.remote_grants - before.remote_grants;
        self.sleeps += after.sleeps - before.sleeps;
    }
}

/// Sums over the runs of a cell.
struct Sums<'a> {
    cell: &'a CellSpec<'a>,
    guests: usize,
    tasks: usize,
    /// Operations per second of one guest, for each run.
    throughputs: Vec<f64>,
    /// Operations in each part of each run's window.
    of_parts: Vec<[f64; PARTS]>,
    /// Operations of each task in each run.
    rounds: Vec<Vec<u64>>,
    waits: Histogram<u64>,
    /// Waits of requests from outside, in nanoseconds.
    requests: Histogram<u64>,
    /// Cycles of all threads that wait for a request.
    awaiting: u64,
    costs: Costs,
    operations: u64,
    /// Compare-exchanges of the script's steps, from the start of each run to its end.
    own_exchanges: Exchanges,
    /// Operations from the start of each run to its end.
    operations_to_the_end: u64,
    transfers: Transfers,
    locked: u64,
    fallbacks: Fallbacks,
    /// Cycles of all threads in steps of the region `user`.
    user: u64,
    /// Cycles of all threads in steps of the region `idle`.
    idle: u64,
    /// Cycles of all threads on a CPU.
    busy: u64,
    /// Cycles of all windows.
    windows: u64,
}

impl<'a> Sums<'a> {
    fn new(cell: &'a CellSpec<'a>) -> Sums<'a> {
        Sums {
            cell,
            guests: cell.variant.guests.unwrap_or(1),
            tasks: cell.variant.tasks(cell.threads),
            throughputs: Vec::new(),
            of_parts: Vec::new(),
            rounds: Vec::new(),
            waits: fairness::histogram(),
            requests: fairness::histogram(),
            awaiting: 0,
            costs: Costs::default(),
            operations: 0,
            own_exchanges: Exchanges::default(),
            operations_to_the_end: 0,
            transfers: Transfers::default(),
            locked: 0,
            fallbacks: Fallbacks::of(cell.variant),
            user: 0,
            idle: 0,
            busy: 0,
            windows: 0,
        }
    }

    /// Adds a run whose window has just ended, at the cycle `end`.
    fn add(
        &mut self,
        run: &mut Run,
        before: &Before,
        window: Window,
        recording: Recording,
        end: u64,
    ) {
        let machine = self.cell.machine;
        let total: u64 = window.counts.iter().sum();
        let throughput = total as f64 / window.nanoseconds * 1e9 / self.guests as f64;
        self.throughputs.push(throughput);
        self.rounds.push(window.counts);
        let mut from: u64 = before.operations.iter().sum();
        let mut part = [0.0; PARTS];
        for (part, end) in part.iter_mut().zip(window.ends) {
            *part = (end - from) as f64;
            from = end;
        }
        self.of_parts.push(part);
        let record = recording.end(end);
        // Both histograms have the same bounds.
        let _ = self.waits.add(&record.waits);
        let _ = self.requests.add(&record.requests);
        self.awaiting += record.awaiting;
        let spent = run.simulation.attribution();
        let names = run.objects[0].places().map(|(name, ..)| name);
        // Counts per guest.
        let locks = record.locks.into_iter().map(|lock| lock / self.guests as u64);
        let locks: Vec<(&str, LockTime)> = names.zip(locks).collect();
        let cycles = machine.cycles(window.nanoseconds);
        self.costs.add(machine, &spent, &locks, cycles);
        let busy = run.simulation.busy_cycles().zip(before.busy);
        self.busy += busy.map_or(self.tasks as u64 * cycles, |(after, before)| after - before);
        self.user += record.user;
        self.idle += record.idle;
        self.windows += cycles;
        let fell = run
            .simulation
            .events()
            .iter()
            .zip(&before.events)
            .filter(|((event, _), _)| *event == Event::RefLocked)
            .map(|((_, after), (_, before))| after - before)
            .sum::<u64>();
        self.locked += fell;
        let (seconds, lost) = (window.nanoseconds / 1e9, run.lost_in_a_row());
        self.fallbacks.add(seconds, throughput, fell, &before.lost, &lost);
        self.operations += total;
        self.transfers.add(&before.statistics, &run.simulation.statistics());
    }

    /// Returns the prediction. `starts` says how the tasks of the runs began.
    fn prediction(mut self, starts: Starts) -> Result<Prediction, SimulationError> {
        let alike = places_are_alike(self.cell.machine, self.cell.placement);
        let order_alone = self.tasks > 1 && starts == Starts::Random && alike;
        let orders = if order_alone { Orders::of(&self.of_parts) } else { None };
        let rounds: Vec<&[u64]> = self.rounds.iter().map(Vec::as_slice).collect();
        let operations = rounds.iter().flat_map(|round| round.iter().copied());
        let per_thread = (operations.clone().min().unwrap_or(0), operations.max().unwrap_or(0));
        let Some(fairness) = Fairness::of(&rounds) else {
            return Err(SimulationError::new("there is no run without a seed".to_owned()));
        };
        self.describe_costs();
        let ratio = |a: u64, b: u64| if b > 0 { a as f64 / b as f64 } else { 0.0 };
        let moved = &self.transfers;
        Ok(Prediction {
            throughput: statistics::mean(&self.throughputs).unwrap_or(0.0),
            range: range(&self.throughputs),
            cpu: self.cpu_time(),
            per_thread,
            while_all_go_on: None,
            orders,
            siblings_apart: None,
            fairness,
            waits: Waits::of(&self.waits),
            requests: self.requests(),
            listing: Listing::new(self.costs.doing.iter().copied(), &self.cell.variant.parts),
            failed_per_success: ratio(moved.failed_exchanges, moved.exchanges),
            rmws_per_ownership: ratio(moved.rmws, moved.ownerships),
            local_transfers: ratio(moved.local, self.operations),
            remote_transfers: ratio(moved.remote, self.operations),
            sleeps: ratio(moved.sleeps, self.operations),
            locked: self.locked,
            fallbacks_per_second: self.fallbacks.per_second(),
            fallbacks_interval: self.fallbacks.interval(),
            without_fallbacks: self.fallbacks.throughput_without(),
            long: None,
            samples: Vec::new(),
            runs: self.throughputs,
            costs: self.costs,
        })
    }

    /// Adds facts to the costs that explain them, other than cycles.
    fn describe_costs(&mut self) {
        self.costs.operations = self.operations;
        self.costs.guests = self.guests as u64;
        self.costs.failed_exchanges =
            self.cell.variant.compares_and_exchanges().then(|| {
                self.own_exchanges.failed as f64 / self.operations_to_the_end.max(1) as f64
            });
        self.costs.work_varies = self.cell.variant.work_varies;
        let locks = &self.costs.locks;
        let is_in_lockref = |object: &Object| {
            matches!(object.kind, ObjectKind::LockRef { .. }) && locks.contains_key(&object.name)
        };
        self.costs.locks_in_counts = self.cell.variant.objects.iter().any(is_in_lockref);
    }

    /// Returns the requests from outside of one guest; `None` if there were none.
    fn requests(&self) -> Option<RequestsDetail> {
        let waits = Waits::of(&self.requests)?;
        let guests = self.guests as f64;
        let cycles = self.windows as f64 * guests;
        let seconds = self.cell.machine.nanoseconds(self.windows) / 1e9 * guests;
        Some(RequestsDetail {
            begun_per_s: waits.count as f64 / seconds,
            share_busy: 1.0 - self.awaiting as f64 / (cycles * self.cell.threads as f64),
            waits,
        })
    }

    /// CPU time of one guest by region, in seconds per second.
    fn cpu_time(&self) -> CpuTime {
        let all = self.windows as f64 * self.guests as f64;
        let each = |cycles: u64| if all > 0.0 { cycles as f64 / all } else { 0.0 };
        let (user, idle, busy) = (each(self.user), each(self.idle), each(self.busy));
        CpuTime { user, idle, system: busy - user - idle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::MachinePlacement;
    use lockyard_scenarios::Script;
    use lockyard_sim::Machine;

    #[test]
    fn guests_draw_different_factors() {
        let machine = Machine::shipped("sandy-bridge-32c-kvm").expect("it is shipped");
        let script = Script::shipped("dbench/overcommit-3x").expect("it is shipped");
        let placement = MachinePlacement::Order(script.order);
        let cell =
            CellSpec { local_work: 100.0, ..CellSpec::first_of(&machine, &script, &placement, 2) };
        let run = Run::begin(&cell, 1, cell.variant.starts, false);
        let run = run.unwrap_or_else(|failed| panic!("{}", failed.error(&cell, "alone")));
        let mut seeds: Vec<u64> = run.objects.iter().map(|objects| objects.seed()).collect();
        assert_eq!((seeds.len(), seeds[0]), (3, 1));
        seeds.dedup();
        assert_eq!(seeds.len(), 3, "neighbours differ");
    }
}
