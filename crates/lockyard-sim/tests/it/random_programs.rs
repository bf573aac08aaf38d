//! Random programs on several machines. For every interleaving, the run ends, values are those of a
//! legal interleaving, and no update is lost.
//!
//! Debug builds also check the engine's own assertions: a single owner, no lost sharer, no answer
//! without a request, and no step back in time. At the end, no request may be left. A failure names
//! the seed, which is the whole input.

use crate::support::{machine, random_machine};
use lockyard::on::RawTestAndSetLock;
use lockyard::platform::{Atomics, DataCell, Host, Ordering, Part, Word};
use lockyard_sim::{
    Machine, Placed, RunEnd, Simulated, SimulatedAtomics, SimulatedCell, SimulatedU64, Simulation,
    now, random_below, work,
};
use std::cell::Cell;
use std::rc::Rc;

/// Number of programs for each type of machine.
const PROGRAMS: u64 = 60;
const OPERATIONS: u64 = 60;

/// The objects that a program's threads share. They are neighbours in a line on purpose.
#[derive(Debug)]
struct Objects {
    /// Threads only add to this word, so its value is the number of additions.
    count: SimulatedU64,
    lock: RawTestAndSetLock<Simulated>,
    /// Changed under the lock, in two steps.
    protected: SimulatedCell<u64>,
    /// Only the `i`th thread writes byte `i`.
    bytes: SimulatedU64,
    /// Incremented under the lock, by a load and a store.
    clock: SimulatedU64,
}

struct Program {
    home: Placed<Objects>,
    elsewhere: Placed<SimulatedU64>,
}

impl Program {
    /// Runs one thread. Returns how often it added to `count`, and how often it held the lock.
    fn run(&self, byte: Option<usize>) -> (u64, u64) {
        let (mut added, mut held, mut last_byte, mut last_count) = (0, 0, 0u8, 0);
        let mut last_time = 0;
        for _ in 0..OPERATIONS {
            match random_below(12) {
                0 | 1 => {
                    let before = self.home.count.fetch_add(1, Ordering::Relaxed);
                    assert!(before >= last_count, "a count goes back");
                    last_count = before + 1;
                    added += 1;
                }
                2 | 3 => {
                    let seen = self.home.count.load(Ordering::Relaxed);
                    assert!(seen >= last_count, "a load sees an older value than the last one");
                    last_count = seen;
                }
                4 | 5 => {
                    let held_lock = self.home.lock.acquire();
                    let clock = self.home.clock.load(Ordering::Relaxed);
                    self.home.clock.store(clock + 1, Ordering::Relaxed);
                    // SAFETY: the lock is held.
                    let value = self.home.protected.with(|p| unsafe { p.read() });
                    if random_below(2) == 0 {
                        work(20.0);
                    }
                    // SAFETY: as above.
                    self.home.protected.with_mut(|p| unsafe { p.write(value + 1) });
                    // SAFETY: acquired above.
                    unsafe { self.home.lock.release(held_lock) };
                    held += 1;
                }
                6 => {
                    if let Some(byte) = byte {
                        let next = last_byte.wrapping_add(1);
                        Part::<u8>::store_part(
                            &self.home.bytes,
                            byte,
                            last_byte,
                            next,
                            Ordering::Release,
                        );
                        last_byte = next;
                    }
                }
                7 => {
                    if let Some(byte) = byte {
                        let word = self.home.bytes.load(Ordering::Relaxed);
                        assert_eq!((word >> (8 * byte)) as u8, last_byte, "an own byte is lost");
                    }
                }
                8 => self.elsewhere.store(random_below(3), Ordering::Relaxed),
                9 => {
                    let current = random_below(3);
                    let _ = self.elsewhere.compare_exchange(
                        current,
                        3 - current,
                        Ordering::AcqRel,
                        Ordering::Relaxed,
                    );
                }
                10 => {
                    let polls = 1 + random_below(30) as u32;
                    let _ =
                        Simulated::wait_within(&*self.elsewhere, Ordering::Acquire, polls, |v| {
                            v == 1
                        });
                }
                _ => match random_below(3) {
                    0 => work(random_below(200) as f64),
                    1 => SimulatedAtomics::fence(Ordering::SeqCst),
                    _ => Simulated::relax(),
                },
            }
            assert!(now() >= last_time, "time goes back");
            last_time = now();
        }
        (added, held)
    }
}

/// Runs one program and checks its results.
fn check(machine: &Machine, seed: u64) {
    let mut simulation = Simulation::new(machine, seed);
    let zero = SimulatedU64::new;
    let objects = Objects {
        count: zero(0),
        lock: RawTestAndSetLock::new(),
        protected: SimulatedCell::new(0),
        bytes: zero(0),
        clock: zero(0),
    };
    let align = if seed.is_multiple_of(2) { 64 } else { 8 };
    let home = simulation.place(objects, align, (seed % 2) as usize);
    let elsewhere = simulation.place(SimulatedU64::new(0), align, 0);
    let program = Rc::new(Program { home, elsewhere });
    let (added, held) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    // Use a few cores of each complex, some of them with all their siblings.
    let all = machine.hardware_threads();
    let places = 2 + seed as usize % 11;
    let mut taken = Vec::new();
    for index in 0..places {
        let place = match index % 4 {
            0 => index / 4,
            1 => machine.cores() / 2 + index / 4,
            2 => all - machine.cores() + index / 4,
            _ => machine.cores() - 1 - index / 4,
        };
        if taken.contains(&place) {
            continue;
        }
        taken.push(place);
        let byte = (taken.len() <= 8).then(|| taken.len() - 1);
        let (program, added, held) = (Rc::clone(&program), Rc::clone(&added), Rc::clone(&held));
        simulation.spawn(place, move || {
            let (more, longer) = program.run(byte);
            added.set(added.get() + more);
            held.set(held.get() + longer);
        });
    }
    simulation.limit_events(10_000_000);
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "seed {seed}: {outcome}");
    if let Err(left) = simulation.check_quiet() {
        panic!("seed {seed}: {left}");
    }
    simulation.setup(|| {
        assert_eq!(program.home.count.load(Ordering::Relaxed), added.get(), "seed {seed}");
        assert_eq!(program.home.clock.load(Ordering::Relaxed), held.get(), "seed {seed}");
        // SAFETY: no thread runs any more.
        let protected = program.home.protected.with(|p| unsafe { p.read() });
        assert_eq!(protected, held.get(), "seed {seed}");
    });
}

fn check_all(changes: &[(&str, u64)]) {
    let machine = machine(changes);
    for seed in 1..=PROGRAMS {
        check(&machine, seed);
    }
}

#[test]
fn on_the_shipped_machine() {
    check_all(&[]);
}

#[test]
fn without_jitter() {
    check_all(&[("jitter", 0)]);
}

#[test]
fn with_much_jitter() {
    check_all(&[("jitter", 300)]);
}

#[test]
fn with_a_store_buffer_of_one_entry() {
    check_all(&[("store_buffer", 1)]);
}

#[test]
fn with_four_sockets_and_several_complexes() {
    check_all(&[("sockets", 4), ("complexes", 3), ("cores", 4), ("complex_leg", 30)]);
}

#[test]
fn with_complexes_that_are_nearer_than_sockets() {
    check_all(&[("complexes", 2), ("cores", 1), ("complex_leg", 1), ("socket_leg", 1000)]);
}

#[test]
fn with_messages_that_overtake_each_other() {
    // The agent is free immediately, so invalidations overtake fills.
    check_all(&[
        ("shared_read", 0),
        ("hold_exclusive", 0),
        ("hold_shared", 0),
        ("last_level", 300),
    ]);
}

#[test]
fn with_slow_cores_and_a_fast_mesh() {
    check_all(&[("rmw_before_lock", 40), ("rmw_lock", 200), ("leg", 1), ("transfer", 1)]);
}

#[test]
fn with_siblings_that_take_turns() {
    check_all(&[("sibling_turn", 20)]);
    check_all(&[("sibling_turn", 3), ("cores", 2), ("threads", 4)]);
}

#[test]
fn with_a_long_hold_after_a_grant() {
    check_all(&[("granted_legs", 7), ("sockets", 4), ("cores", 4)]);
}

#[test]
fn with_idle_sockets_that_answer_late() {
    check_all(&[("idle_answer", 900), ("sockets", 8), ("cores", 2)]);
}

#[test]
fn with_heavy_requests_of_other_sockets_and_costly_mispredictions() {
    check_all(&[("snoop_weight", 30), ("sockets", 4), ("cores", 4)]);
    check_all(&[("redirect", 300), ("sibling_turn", 20)]);
}

#[test]
fn with_loads_that_fetch_lines_for_locked_operations() {
    check_all(&[("exclusive_loads", 1)]);
    check_all(&[("exclusive_loads", 1), ("run_ahead", 2000), ("sibling_turn", 20)]);
}

#[test]
fn with_loads_that_are_done_before_locked_operations_are_complete() {
    check_all(&[("load_behind_lock", 0)]);
    check_all(&[
        ("load_behind_lock", 0),
        ("exclusive_loads", 1),
        ("sibling_turn", 20),
        ("load", 60),
    ]);
}

#[test]
fn with_stores_that_ask_for_their_lines_early() {
    check_all(&[("early_stores", 1)]);
    check_all(&[("early_stores", 1), ("run_ahead", 2000), ("sibling_turn", 20)]);
    check_all(&[("early_stores", 1), ("exclusive_loads", 1), ("store_buffer", 3)]);
}

/// Machines with random numbers, each from a tenth to ten times the shipped machine's.
#[test]
fn on_machines_with_random_numbers() {
    for seed in 1..=120 {
        let changed = random_machine(seed, |_, value, _| value);
        // Machines with this many cores have a place for every thread of a program.
        if changed.cores() >= 12 {
            check(&changed, seed);
        }
    }
}
