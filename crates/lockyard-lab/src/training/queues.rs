//! Bounded queues of a published benchmark: cells, and their simulation.
//!
//! The queues follow the header of `training/atomic_queue_5825u_6132.csv` and the description of
//! the library that it names (MIT). A ring of elements has two ends, each a counter in a separate
//! line. An empty element has the value 0.
//!
//! | queue | how an operation takes its turn |
//! | --- | --- |
//! | `AtomicQueue` | compare-exchange of its end, after a look at the other end |
//! | `OptimistAtomicQueue` | fetch-and-add of its end |
//! | `tbb::spin_mutex` | a test-and-set lock around both ends, with pauses that double |
//!
//! A message is a push and a pop. Their local work is not published, and none is simulated. The
//! figures for one pair come from other code, and are left out. Nothing is fitted on this table.

use lockyard::platform::{Host, Ordering, Word};
use lockyard_predict::interruptible;
use lockyard_predict::simulate::SimulationError;
use lockyard_sim::{Machine, Placed, RunEnd, Simulated, SimulatedU32, SimulatedU64, Simulation};

const TABLE: &str = include_str!("../../../../training/atomic_queue_5825u_6132.csv");

/// Elements of the simulated ring. The benchmark's ring has 65,536. Only the lines in use matter.
const ELEMENTS: usize = 1024;
/// Neighbouring elements in the order of use are this many places apart: each in another line.
const STRIDE: usize = 17;
/// Number of pauses before the lock's back-off yields instead.
const MOST_PAUSES: u32 = 16;
/// Nanoseconds of a `sched_yield` that finds no other thread (assumed).
const YIELD_NS: f64 = 400.0;
/// Simulated nanoseconds before counting begins, and while messages are counted.
const WARM_UP_NS: f64 = 60_000.0;
const WINDOW_NS: f64 = 200_000.0;

/// Means of an operation to take its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Queue {
    /// A compare-exchange of its end.
    Exchange,
    /// A fetch-and-add of its end.
    Add,
    /// A test-and-set lock around both ends.
    Lock,
}

const QUEUES: [(&str, Queue); 3] = [
    ("AtomicQueue", Queue::Exchange),
    ("OptimistAtomicQueue", Queue::Add),
    ("tbb::spin_mutex", Queue::Lock),
];

/// A cell of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueCell {
    /// Name of the simulated machine.
    pub machine: &'static str,
    /// Kind of queue.
    pub queue: Queue,
    /// Number of producers, and of consumers.
    pub pairs: usize,
    /// True if threads that are next to each other in order are on one core.
    pub siblings: bool,
    /// True if all producers come before the consumers, false if they alternate.
    pub producers_first: bool,
    /// Published nanoseconds per message.
    pub published: f64,
}

impl QueueCell {
    /// Text that identifies the cell among its host's cells.
    pub fn name(&self) -> String {
        let queue = QUEUES.iter().find(|(_, queue)| *queue == self.queue).map_or("", |q| q.0);
        let order = if self.producers_first { "producers first" } else { "alternating" };
        let siblings = if self.siblings { ", siblings" } else { "" };
        format!("{queue}, {order}{siblings}")
    }
}

/// Returns the cells of two and more pairs.
///
/// # Panics
///
/// If the shipped table is broken. A test parses it.
pub fn queue_cells() -> Vec<QueueCell> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(TABLE.as_bytes());
    let mut cells = Vec::new();
    for record in reader.records() {
        let f = record.expect("the table is shipped");
        let Some(&(_, queue)) = QUEUES.iter().find(|(name, _)| *name == &f[2]) else { continue };
        let pairs: usize = f[3].parse().expect("a number of pairs");
        if pairs < 2 {
            continue;
        }
        cells.push(QueueCell {
            machine: if f[0].starts_with("ryzen") { "zen3-5825u" } else { "skylake-sp-2s14c" },
            queue,
            pairs,
            siblings: &f[1] == "smt1",
            producers_first: &f[4] == "s",
            published: 1e9 / f[6].parse::<f64>().expect("a rate"),
        });
    }
    cells
}

/// The lines of a queue.
#[derive(Clone)]
struct Ring {
    head: Placed<SimulatedU64>,
    tail: Placed<SimulatedU64>,
    lock: Placed<SimulatedU32>,
    elements: Vec<Placed<[SimulatedU32; 16]>>,
}

impl Ring {
    fn new(simulation: &mut Simulation) -> Ring {
        let element = || std::array::from_fn(|_| SimulatedU32::new(0));
        Ring {
            head: simulation.place(SimulatedU64::new(0), 64, 0),
            tail: simulation.place(SimulatedU64::new(0), 64, 0),
            lock: simulation.place(SimulatedU32::new(0), 64, 0),
            elements: (0..ELEMENTS / 16).map(|_| simulation.place(element(), 64, 0)).collect(),
        }
    }

    fn element(&self, index: u64) -> &SimulatedU32 {
        let lines = self.elements.len();
        let index = index as usize % ELEMENTS;
        &self.elements[index * STRIDE % lines][index / lines]
    }

    /// Returns the end at which an operation takes its turn, and the other end.
    fn ends(&self, push: bool) -> (&SimulatedU64, &SimulatedU64) {
        if push { (&self.head, &self.tail) } else { (&self.tail, &self.head) }
    }

    /// Takes a turn at one end of the queue. Returns nothing at the end of the run.
    fn turn(&self, queue: Queue, push: bool) -> Option<u64> {
        let (own, other) = self.ends(push);
        // Relaxed, here and below: the elements carry the order, and nothing else is published.
        match queue {
            Queue::Add => Some(own.fetch_add(1, Ordering::Relaxed)),
            Queue::Exchange => loop {
                let mut seen = own.load(Ordering::Relaxed);
                while has_turn(push, seen, other.load(Ordering::Relaxed)) {
                    let new = seen + 1;
                    match own.compare_exchange(seen, new, Ordering::Relaxed, Ordering::Relaxed) {
                        Ok(_) => return Some(seen),
                        Err(found) => seen = found,
                    }
                }
                if lockyard_sim::stop_requested() {
                    return None;
                }
                Simulated::relax();
            },
            Queue::Lock => unreachable!("its ends are under the lock"),
        }
    }

    /// Puts a message into the queue. Returns false at the end of the run.
    fn push(&self, queue: Queue) -> bool {
        if queue == Queue::Lock {
            return self.locked(true);
        }
        let Some(turn) = self.turn(queue, true) else { return false };
        let element = self.element(turn);
        // Release: pairs with the swap in `pop`.
        while element.compare_exchange(0, 1, Ordering::Release, Ordering::Relaxed).is_err() {
            if !wait(element, |value| value == 0) {
                return false;
            }
        }
        true
    }

    /// Takes a message out of the queue. Returns false at the end of the run.
    fn pop(&self, queue: Queue) -> bool {
        if queue == Queue::Lock {
            return self.locked(false);
        }
        let Some(turn) = self.turn(queue, false) else { return false };
        let element = self.element(turn);
        // Acquire: pairs with the compare-exchange in `push`.
        while element.swap(0, Ordering::Acquire) == 0 {
            if !wait(element, |value| value != 0) {
                return false;
            }
        }
        true
    }

    /// A push or a pop under the lock.
    fn locked(&self, push: bool) -> bool {
        loop {
            let mut pauses = 1;
            while self.lock.swap(1, Ordering::Acquire) != 0 {
                if pauses <= MOST_PAUSES {
                    (0..pauses).for_each(|_| Simulated::relax());
                    pauses *= 2;
                } else {
                    lockyard_sim::work_in_order(YIELD_NS);
                }
            }
            let (own, other) = self.ends(push);
            let turn = own.load(Ordering::Relaxed);
            let done = has_turn(push, turn, other.load(Ordering::Relaxed));
            if done {
                let element = self.element(turn);
                if push {
                    element.store(1, Ordering::Relaxed);
                } else {
                    let _ = element.load(Ordering::Relaxed);
                }
                own.store(turn + 1, Ordering::Relaxed);
            }
            // Release: pairs with the swap above.
            self.lock.store(0, Ordering::Release);
            if done {
                return true;
            }
            if lockyard_sim::stop_requested() {
                return false;
            }
            Simulated::relax();
        }
    }
}

/// Returns true if there is room for a push, or an element for a pop.
fn has_turn(push: bool, own: u64, other: u64) -> bool {
    if push { own.wrapping_sub(other) < ELEMENTS as u64 } else { other > own }
}

/// Waits until `is` holds for the element, with pauses. Returns false at the end of the run.
fn wait(element: &SimulatedU32, is: impl Fn(u32) -> bool) -> bool {
    loop {
        if lockyard_sim::stop_requested() {
            return false;
        }
        Simulated::relax();
        if is(element.load(Ordering::Relaxed)) {
            return true;
        }
    }
}

/// Simulates a cell. Returns the nanoseconds per message.
///
/// # Errors
///
/// If the run is stuck.
pub fn simulate_queue(
    machine: &Machine,
    cell: &QueueCell,
    seed: u64,
) -> Result<f64, SimulationError> {
    let mut simulation = interruptible(Simulation::new(machine, seed));
    let ring = Ring::new(&mut simulation);
    let threads = 2 * cell.pairs;
    let starts = simulation.random_starts(threads);
    let all_there = starts.iter().copied().max().unwrap_or(0);
    for (index, &begin) in starts.iter().enumerate() {
        let produces =
            if cell.producers_first { index < cell.pairs } else { index.is_multiple_of(2) };
        let place = if cell.siblings { index % 2 * machine.cores() + index / 2 } else { index };
        let (ring, queue) = (ring.clone(), cell.queue);
        simulation.spawn_at(place, begin, move || {
            while !lockyard_sim::stop_requested() {
                let done = if produces { ring.push(queue) } else { ring.pop(queue) };
                if done && !produces {
                    lockyard_sim::operation_done();
                }
            }
        });
    }
    ns_per_message(simulation, machine, all_there, &cell.name())
}

/// Simulates two threads that send a message back and forth through two queues, on two cores or on
/// one. Returns the nanoseconds of a round trip.
///
/// # Errors
///
/// If the run is stuck.
pub fn simulate_round_trip(
    machine: &Machine,
    queue: Queue,
    siblings: bool,
) -> Result<f64, SimulationError> {
    let mut simulation = interruptible(Simulation::new(machine, 1));
    let rings = [Ring::new(&mut simulation), Ring::new(&mut simulation)];
    for index in 0..2 {
        let (there, back) = (rings[index].clone(), rings[1 - index].clone());
        let place = if siblings { index * machine.cores() } else { index };
        simulation.spawn(place, move || {
            while !lockyard_sim::stop_requested() {
                if index == 0 {
                    there.push(queue);
                }
                if back.pop(queue) && index == 0 {
                    lockyard_sim::operation_done();
                }
                if index == 1 {
                    there.push(queue);
                }
            }
        });
    }
    ns_per_message(simulation, machine, 0, "round trip")
}

/// Runs a simulation whose threads have all started at `begin`, and ends it. Returns the
/// nanoseconds per counted operation. Errors call the run `name`.
fn ns_per_message(
    mut simulation: Simulation,
    machine: &Machine,
    begin: u64,
    name: &str,
) -> Result<f64, SimulationError> {
    let stuck = |outcome| SimulationError::new(format!("{name}: {outcome}"));
    let mut until = |ns: f64| match simulation.run_until(begin + machine.cycles(ns)) {
        RunEnd::TimeOver => Ok(simulation.operations().iter().sum::<u64>()),
        outcome => Err(stuck(outcome)),
    };
    let before = until(WARM_UP_NS)?;
    let messages = until(WARM_UP_NS + WINDOW_NS)? - before;
    simulation.request_stop();
    match simulation.run_until(u64::MAX) {
        RunEnd::Finished => Ok(WINDOW_NS / messages as f64),
        outcome => Err(stuck(outcome)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_three_queues_of_two_hosts() {
        let cells = queue_cells();
        assert_eq!(cells.len(), 138);
        for cell in &cells {
            assert!(cell.published > 1.0 && cell.published < 1e5, "{cell:?}");
            assert!(Machine::shipped(cell.machine).is_some(), "{cell:?}");
        }
    }

    #[test]
    fn each_queue_moves_messages() {
        let machine = Machine::shipped("zen3-5825u").expect("it is shipped");
        for (_, queue) in QUEUES {
            let cell = QueueCell {
                machine: "zen3-5825u",
                queue,
                pairs: 2,
                siblings: false,
                producers_first: false,
                published: 1.0,
            };
            let figure = simulate_queue(&machine, &cell, 1).expect("it is sound");
            assert_eq!(Ok(figure), simulate_queue(&machine, &cell, 1).map_err(|_| ()));
            let trip = simulate_round_trip(&machine, queue, false).expect("it is sound");
            assert!(figure < trip && trip < 1_000.0, "{queue:?}: {figure} and {trip} ns");
            let beside = simulate_round_trip(&machine, queue, true).expect("it is sound");
            assert!(beside < trip, "{queue:?}: siblings share a cache");
        }
    }
}
