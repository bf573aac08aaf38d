//! One cell on a simulated machine: a variant, a number of threads, some seeds.

mod each;
mod effort;
mod identity;
mod locks;
mod long;
mod samples;
mod stage;
mod starts;

pub use each::cell as cell_of_run;
pub use effort::Effort;
pub use identity::{MACHINE_HASH, SEEDS, identify};
pub use long::LongRun;
pub use samples::{SEEDS as SEEDS_OF_SAMPLES, samples};
pub use starts::Orders;

use crate::explain::{Costs, LockTime};
use crate::figures::{CpuTime, SampleFigures};
use crate::jobs;
use crate::listing::Listing;
use crate::placement::Placement;
use crate::served::{self, Fairness, Waits};
use crate::statistics;
use effort::places_are_alike;
use lockyard::platform::Event;
use lockyard_scenarios::{Object, ObjectKind, Prepared, RunOf, Samples, Starts, Variant};
use lockyard_sim::{Machine, Outcome, Simulation};
use stage::OnMachine;
pub(crate) use starts::NEAR;
use starts::{Beginnings, PARTS};
use std::rc::Rc;

/// A window is doubled until it holds so many operations, so that slow operations are not counted in
/// steps of a large part of the figure: in all, and of each thread, since threads may be in step ...
const ENOUGH_OPERATIONS: (u64, u64) = (200, 20);
/// ... or is so long, in simulated nanoseconds.
const LONGEST_WINDOW_NS: f64 = 2e9;

/// The last task has come by a lock this long after its beginning, in simulated nanoseconds.
const COMES_BY_NS: f64 = 1000.0;

/// After the stop a thread may take this long to finish its operation, in simulated nanoseconds.
const DRAIN_NS: f64 = 1e9;

/// What the runs of a cell came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Operations a second, all threads together (of one guest, where guests share CPUs): the mean over the seeds.
    pub throughput: f64,
    /// The lowest and highest throughput of a seed; of a mean over a long run also of those of its other part.
    pub range: (f64, f64),
    /// The throughput of each seed; of a mean over a long run those of its longer part.
    pub runs: Vec<f64>,
    /// CPU time of all threads (of one guest) by region. Each has its hardware thread all the time, but where guests share CPUs, and
    /// is idle in steps of that region only.
    pub cpu: CpuTime,
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
    /// The throughput while all tasks go on; `None` if the throughput is that.
    pub while_all_go_on: Option<f64>,
    /// What the runs, each of which began in another order, say of that. `None` of one task, of one
    /// run, and of tasks whose places differ from run to run.
    pub orders: Option<Orders>,
    /// The throughput if threads of a core share nothing of an ownership; `None` if no core has two.
    pub siblings_apart: Option<f64>,
    /// How alike threads were served, in each run; the runs are rounds.
    pub fairness: Fairness,
    /// How long steps waited that take a lock, or take or drop a reference.
    pub waits: Option<Waits>,
    /// Where the cycles went.
    pub costs: Costs,
    /// The same, as a profiler's listing.
    pub listing: Listing,
    /// Lockref operations that gave up and took the lock, in all windows.
    pub locked: u64,
    /// How many are to be expected in a second of the machine's time, from how many compare-exchanges operations lose in a row; that is
    /// hardly ever often enough to be seen in a window.
    pub fallbacks_per_second: f64,
    /// Where that is with 95 % confidence, by how many were seen, or else by how the runs differ; `None` of too few runs.
    pub fallbacks_interval: Option<(f64, f64)>,
    /// Operations a second of the runs that had none; `None` if all had some.
    pub without_fallbacks: Option<f64>,
    /// What such a fallback makes of a run so long that one is to be expected; `None` if it is not so long.
    pub long: Option<LongRun>,
    /// The samples of runs that have them; empty if they have none.
    pub samples: Vec<SampleFigures>,
}

/// Why a cell could not be simulated.
#[derive(Clone, Debug)]
pub struct SimulationError(String);

impl SimulationError {
    pub(crate) fn new(what: String) -> Self {
        SimulationError(what)
    }
}

impl std::fmt::Display for SimulationError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SimulationError {}

/// Simulates one cell with full effort, as the run that the script says, its samples too if it has some, and, if a core has two tasks, also
/// as if the threads of a core shared nothing of an ownership: what they share is not settled (see `docs/evidence/siblings.md`), and this is the other end.
///
/// # Errors
///
/// As [`cell`].
///
/// # Panics
///
/// As [`cell`].
pub fn cell_with_siblings(
    machine: &Machine,
    variant: &Variant,
    placement: (&Placement, usize),
    threads: usize,
    local_work: f64,
    (of, run): (Option<Samples>, &RunOf),
) -> Result<Prediction, SimulationError> {
    let effort = Effort::usual(machine, placement.0, threads);
    let mut found = each::cell(machine, variant, placement, threads, local_work, (effort, run))?;
    if let Some(of) = of {
        found.samples = samples(machine, variant, placement, (threads, local_work), of)?;
    }
    let mut cores: Vec<usize> = placement
        .0
        .places(machine, threads, 1)
        .into_iter()
        .map(|place| machine.place(place).core)
        .collect();
    cores.sort_unstable();
    if cores.windows(2).any(|pair| pair[0] == pair[1])
        && let Some(apart) = machine.clone().with("cycles.sibling_turn", APART)
    {
        let of = (effort, run);
        let apart = each::cell(&apart, variant, placement, threads, local_work, of)?;
        found.siblings_apart = Some(apart.throughput);
    }
    Ok(found)
}

/// A turn of a sibling that is longer than any ownership, in cycles.
const APART: f64 = 500.0;

/// A simulation with room for what the variant's tables hold.
fn simulation(machine: &Machine, variant: &Variant, seed: u64) -> Simulation {
    let tables: usize = variant.tables().map(|table| table.bytes()).sum();
    let bytes = Simulation::MEMORY + tables * variant.guests.unwrap_or(1);
    jobs::cancellable(Simulation::with_memory(machine, seed, bytes))
}

/// The variant's objects in a simulation. Their home is the given socket, or the last one of a machine that has fewer.
fn objects(
    simulation: &mut Simulation,
    machine: &Machine,
    variant: &Variant,
    home: usize,
    local_work: f64,
    seed: u64,
) -> Result<Rc<Prepared<OnMachine>>, &'static str> {
    let home = home.min(machine.sockets() - 1) as u32;
    let objects = simulation
        .setup(|| Prepared::new(variant, machine.line_bytes(), Some(home), local_work))
        .ok_or("the objects do not fit into the arena")?;
    Ok(Rc::new(objects.with_seed(seed)))
}

/// The lowest and the highest value.
pub(crate) fn range(values: &[f64]) -> (f64, f64) {
    (
        values.iter().copied().fold(f64::INFINITY, f64::min),
        values.iter().copied().fold(0.0, f64::max),
    )
}

/// Simulates one cell. Tasks run where the placement says, those of each guest alike; the objects' home is the given socket, or the last one of a
/// machine that has fewer.
///
/// # Errors
///
/// If a run is stuck, a thread panics, or the objects are not as they ought to be afterwards: a
/// primitive is broken, and the message says how.
///
/// # Panics
///
/// If the placement has no room for the threads.
pub fn cell(
    machine: &Machine,
    variant: &Variant,
    placement: (&Placement, usize),
    threads: usize,
    local_work: f64,
    effort: Effort,
) -> Result<Prediction, SimulationError> {
    runs(machine, variant, placement, threads, local_work, (effort, false))
}

/// The same. If it is to begin `fallen`, the task that begins first holds the locks of all lockrefs
/// until the others have begun, so that they queue in a random order. Such a variant has no guests.
fn runs(
    machine: &Machine,
    variant: &Variant,
    (placement, home): (&Placement, usize),
    threads: usize,
    local_work: f64,
    (effort, fallen): (Effort, bool),
) -> Result<Prediction, SimulationError> {
    let guests = variant.guests.unwrap_or(1);
    let tasks = variant.tasks(threads);
    let effort = effort.for_guests(guests).for_tables(variant);
    // A run of seconds has been shuffled by interrupts, however it began.
    let starts = if fallen { Starts::Random } else { variant.starts };
    let mut throughputs = Vec::new();
    let mut of_parts = Vec::new();
    let mut rounds: Vec<Vec<u64>> = Vec::new();
    let mut waits = served::histogram();
    let mut costs = Costs::default();
    let mut totals = [0u64; 7];
    let mut locked = 0;
    let mut fallbacks = long::Fallbacks::of(variant);
    let (mut user, mut idle, mut busy, mut windows) = (0, 0, 0, 0);
    for seed in 1..=effort.seeds {
        let mut simulation = simulation(machine, variant, seed);
        if variant.guests.is_some() {
            simulation.share_cpus();
        }
        let beginnings = Beginnings::draw(&mut simulation, starts, tasks);
        let mut prepared = Vec::new();
        for guest in 0..guests {
            let objects = objects(&mut simulation, machine, variant, home, local_work, seed)
                .map_err(|e| SimulationError(e.to_owned()))?;
            for (name, address, bytes) in objects.places() {
                simulation.name(address, bytes, name);
            }
            for (task, place) in placement.places(machine, threads, seed).into_iter().enumerate() {
                let objects = Rc::clone(&objects);
                let number = guest * threads + task;
                let held = beginnings.until_all_have_begun(number);
                let held = (fallen && number == beginnings.first()).then_some(held);
                let of = (guest as u32, place);
                beginnings.spawn(&mut simulation, number, of, move || {
                    if let Some(held) = held {
                        objects.hold_lockrefs(lockyard_sim::nanoseconds(held) + COMES_BY_NS);
                    }
                    objects.run_task(|_| ());
                });
            }
            prepared.push(objects);
        }
        let fail = |outcome: Outcome| {
            Err(SimulationError(format!("{threads} threads, seed {seed}: {outcome}")))
        };
        let begin = beginnings.end() + machine.cycles(effort.warm_up_ns);
        let recording = stage::begin(guests, threads, prepared[0].places().count());
        let outcome = simulation.run_until(begin);
        if !outcome.is_sound() {
            return fail(outcome);
        }
        recording.begin_window(begin);
        let busy_before = simulation.busy_cycles();
        let costs_before = simulation.attribution();
        let (before, statistics) = (simulation.operations(), simulation.statistics());
        let events = simulation.events();
        let tries = |simulation: &Simulation| {
            let addresses = prepared.iter().flat_map(|objects| objects.lockrefs());
            addresses.map(|address| simulation.lost_in_a_row(address)).collect::<Vec<_>>()
        };
        let tries_before = tries(&simulation);
        let mut window_ns = effort.window_ns;
        // Operations of all tasks up to the end of each part.
        let mut ends = Vec::new();
        let (counts, total) = loop {
            for part in ends.len() + 1..=PARTS {
                let until = window_ns * part as f64 / PARTS as f64;
                let outcome = simulation.run_until(begin + machine.cycles(until));
                if !outcome.is_sound() {
                    return fail(outcome);
                }
                ends.push(simulation.operations().iter().sum::<u64>());
            }
            let operations = simulation.operations();
            let counts: Vec<u64> = operations.iter().zip(&before).map(|(a, b)| a - b).collect();
            let total: u64 = counts.iter().sum();
            if total >= ENOUGH_OPERATIONS.0.max(ENOUGH_OPERATIONS.1 * tasks as u64)
                || window_ns >= LONGEST_WINDOW_NS
            {
                break (counts, total);
            }
            window_ns *= 2.0;
            ends = ends.into_iter().skip(1).step_by(2).collect();
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
        throughputs.push(total as f64 / window_ns * 1e9 / guests as f64);
        rounds.push(counts);
        let mut from: u64 = before.iter().sum();
        let mut part = [0.0; PARTS];
        for (part, end) in part.iter_mut().zip(ends) {
            *part = (end - from) as f64;
            from = end;
        }
        of_parts.push(part);
        let record = recording.end(end);
        // Both have the same bounds.
        let _ = waits.add(&record.waits);
        let spent = simulation.attribution().since(&costs_before);
        let names = prepared[0].places().map(|(name, ..)| name);
        // Of one guest.
        let locks = record.locks.into_iter().map(|lock| lock / guests as u64);
        let locks: Vec<(&str, LockTime)> = names.zip(locks).collect();
        let window = machine.cycles(window_ns);
        costs.add(machine, &spent, &locks, window);
        let busy_after = simulation.busy_cycles();
        busy += busy_after.zip(busy_before).map_or(tasks as u64 * window, |(a, b)| a - b);
        (user, idle, windows) = (user + record.user, idle + record.idle, windows + window);
        let fell = simulation
            .events()
            .iter()
            .zip(&events)
            .filter(|((event, _), _)| *event == Event::RefLocked)
            .map(|((_, after), (_, before))| after - before)
            .sum::<u64>();
        locked += fell;
        let throughput = total as f64 / window_ns * 1e9 / guests as f64;
        fallbacks.add(window_ns / 1e9, throughput, fell, (&tries_before, &tries(&simulation)));
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
        let operations = simulation.operations();
        for (prepared, operations) in prepared.iter().zip(operations.chunks(threads)) {
            simulation
                .setup(|| prepared.verify(operations.iter().sum()))
                .map_err(|e| SimulationError(format!("{threads} threads, seed {seed}: {e}")))?;
        }
    }
    let order_alone = tasks > 1 && starts == Starts::Random && places_are_alike(machine, placement);
    let orders = if order_alone { Orders::of(&of_parts) } else { None };
    let rounds: Vec<&[u64]> = rounds.iter().map(Vec::as_slice).collect();
    let operations = rounds.iter().flat_map(|round| round.iter().copied());
    let per_thread = (operations.clone().min().unwrap_or(0), operations.max().unwrap_or(0));
    let Some(fairness) = Fairness::of(&rounds) else {
        return Err(SimulationError("there is no run without a seed".to_owned()));
    };
    costs.operations = totals[0];
    (costs.guests, costs.work_varies) = (guests as u64, variant.work_varies);
    let is_in_lockref = |object: &Object| {
        matches!(object.kind, ObjectKind::LockRef { .. }) && costs.locks.contains_key(&object.name)
    };
    costs.locks_in_counts = variant.objects.iter().any(is_in_lockref);
    let [total, failed, succeeded, rmws, ownerships, local, remote] = totals.map(|t| t as f64);
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    // Of one guest.
    let each = |cycles: u64| ratio(cycles as f64, windows as f64 * guests as f64);
    let (user, idle, busy) = (each(user), each(idle), each(busy));
    Ok(Prediction {
        throughput: statistics::mean(&throughputs).unwrap_or(0.0),
        range: range(&throughputs),
        runs: throughputs,
        cpu: CpuTime { user, idle, system: busy - user - idle },
        per_thread,
        while_all_go_on: None,
        orders,
        siblings_apart: None,
        fairness,
        waits: Waits::of(&waits),
        listing: Listing::new(costs.doing.iter().copied(), &variant.parts),
        costs,
        failed_per_success: ratio(failed, succeeded),
        rmws_per_ownership: ratio(rmws, ownerships),
        local_transfers: ratio(local, total),
        remote_transfers: ratio(remote, total),
        locked,
        fallbacks_per_second: fallbacks.per_second(),
        fallbacks_interval: fallbacks.interval(),
        without_fallbacks: fallbacks.throughput_without(),
        long: None,
        samples: Vec::new(),
    })
}
