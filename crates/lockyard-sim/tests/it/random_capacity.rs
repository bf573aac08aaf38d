//! Random programs on machines with caches of a few lines, so that evictions are frequent. All runs
//! end. Values are those of a legal interleaving, no update is lost, and at the end the caches and
//! the directory agree.
//!
//! Debug builds also check the engine's own assertions (see `random_programs.rs`). A failure names
//! the seed, which is the whole input.

use crate::support::{machine, random_machine};
use lockyard::on::RawTicketLock;
use lockyard::platform::{Atomics, DataCell, Host, Ordering, Word};
use lockyard_sim::{
    Machine, Placed, RunEnd, Simulated, SimulatedAtomics, SimulatedCell, SimulatedU64, Simulation,
    random_below, work,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const SEEDS: u64 = 80;
const OPERATIONS: u64 = 150;
/// Number of counters, in separate lines.
const LINES: usize = 12;

struct Objects {
    /// Counters that threads only add to.
    counters: Vec<Placed<SimulatedU64>>,
    lock: Placed<RawTicketLock<Simulated>>,
    /// Counters that threads add to under the lock, in separate lines.
    protected: Vec<Placed<SimulatedCell<u64>>>,
    /// Some threads wait until this word is odd; others change it.
    signal: Placed<SimulatedU64>,
}

/// Work that a thread did: its additions to each counter, and the number of times that it held the
/// lock.
type Done = (Vec<u64>, u64);

fn run(objects: &Objects) -> Done {
    let mut added = vec![0; LINES];
    let mut seen = [0; LINES];
    let mut held = 0;
    let mut own: Option<NonNullWord> = None;
    for _ in 0..OPERATIONS {
        let line = random_below(LINES as u64) as usize;
        match random_below(10) {
            0 | 1 => {
                let before = objects.counters[line].fetch_add(1, Ordering::Relaxed);
                assert!(before >= seen[line], "a counter goes back");
                seen[line] = before + 1;
                added[line] += 1;
            }
            2..=4 => {
                let value = objects.counters[line].load(Ordering::Relaxed);
                assert!(value >= seen[line], "a load sees an older value than the last one");
                seen[line] = value;
            }
            5 => {
                let ticket = objects.lock.acquire();
                for cell in &objects.protected {
                    // SAFETY: the lock is held.
                    let value = cell.with(|p| unsafe { p.read() });
                    // SAFETY: as above.
                    cell.with_mut(|p| unsafe { p.write(value + 1) });
                }
                // SAFETY: acquired above.
                unsafe { objects.lock.release(ticket) };
                held += 1;
            }
            6 => {
                let value = random_below(4);
                objects.signal.store(value, Ordering::Release);
            }
            7 => {
                let polls = 1 + random_below(20) as u32;
                let _ = Simulated::wait_within(&*objects.signal, Ordering::Acquire, polls, |v| {
                    v % 2 == 1
                });
            }
            8 => {
                // Memory that the running thread allocates.
                let word = own.get_or_insert_with(NonNullWord::new);
                word.add();
            }
            _ => match random_below(3) {
                0 => work(random_below(200) as f64),
                1 => SimulatedAtomics::fence(Ordering::SeqCst),
                _ => Simulated::relax(),
            },
        }
    }
    if let Some(word) = own {
        word.check();
    }
    (added, held)
}

/// A word in memory that the running thread has allocated, and its expected value.
struct NonNullWord {
    word: std::ptr::NonNull<SimulatedU64>,
    expected: u64,
}

impl NonNullWord {
    fn new() -> Self {
        let layout = std::alloc::Layout::new::<SimulatedU64>();
        let memory = Simulated::allocate(layout, None).expect("the arena has room");
        NonNullWord { word: memory.cast(), expected: 0 }
    }

    fn word(&self) -> &SimulatedU64 {
        // SAFETY: the word is in the arena, zero at first, and lives as long as the simulation.
        unsafe { self.word.as_ref() }
    }

    fn add(&mut self) {
        let value = self.word().load(Ordering::Relaxed);
        assert_eq!(value, self.expected, "an own store is lost");
        self.word().store(value + 1, Ordering::Relaxed);
        self.expected += 1;
    }

    fn check(&self) {
        assert_eq!(self.word().load(Ordering::Relaxed), self.expected, "an own store is lost");
    }
}

/// Runs one program and checks its results. Returns the run's hash and the number of evicted lines.
fn check(machine: &Machine, seed: u64) -> (u64, u64) {
    let mut simulation = Simulation::new(machine, seed);
    let sockets = machine.sockets();
    let counters =
        (0..LINES).map(|line| simulation.place(SimulatedU64::new(0), 64, line % sockets)).collect();
    let protected =
        (0..3).map(|line| simulation.place(SimulatedCell::new(0), 64, line % sockets)).collect();
    let lock = simulation.place(RawTicketLock::new(), 64, 0);
    let signal = simulation.place(SimulatedU64::new(0), 64, sockets - 1);
    let objects = Rc::new(Objects { counters, lock, protected, signal });
    let done = Rc::new(RefCell::new((vec![0u64; LINES], 0u64)));
    let finished = Rc::new(Cell::new(0));
    let threads = (2 + seed as usize % 7).min(machine.hardware_threads());
    for index in 0..threads {
        // Use cores of all complexes, and siblings.
        let place = index * (machine.hardware_threads() / threads);
        let (objects, done) = (Rc::clone(&objects), Rc::clone(&done));
        let finished = Rc::clone(&finished);
        simulation.spawn(place, move || {
            let (added, held) = run(&objects);
            let mut all = done.borrow_mut();
            for (sum, added) in all.0.iter_mut().zip(added) {
                *sum += added;
            }
            all.1 += held;
            finished.set(finished.get() + 1);
        });
    }
    simulation.limit_events(20_000_000);
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "seed {seed}: {outcome}");
    if let Err(left) = simulation.check_quiet() {
        panic!("seed {seed}: {left}");
    }
    assert_eq!(finished.get(), threads);
    let (added, held) = done.borrow().clone();
    simulation.setup(|| {
        for (counter, added) in objects.counters.iter().zip(added) {
            assert_eq!(counter.load(Ordering::Relaxed), added, "seed {seed}");
        }
        for cell in &objects.protected {
            // SAFETY: no thread runs any more.
            assert_eq!(cell.with(|p| unsafe { p.read() }), held, "seed {seed}");
        }
    });
    let statistics = simulation.statistics();
    assert!(statistics.write_backs <= statistics.evictions, "seed {seed}");
    (simulation.hash(), statistics.evictions + statistics.last_level_evictions)
}

/// Returns the shipped machine with caches of these numbers of lines, and other changes.
fn tiny(first: u64, second: u64, last: u64, inclusive: bool, changes: &[(&str, u64)]) -> Machine {
    let kib = |lines: u64| lines as f64 * 64.0 / 1024.0;
    let with =
        |machine: Machine, name: &str, value: f64| machine.with(name, value).expect("it has it");
    let machine = with(machine(changes), "caches.first_kib", kib(first));
    let machine = with(machine, "caches.second_kib", kib(second));
    let machine = with(machine, "caches.shared_kib", kib(last));
    with(machine, "caches.shared_inclusive", f64::from(u8::from(inclusive)))
}

fn check_all(first: u64, second: u64, last: u64, changes: &[(&str, u64)]) {
    for inclusive in [false, true] {
        let machine = tiny(first, second, last, inclusive, changes);
        let gave_way: u64 = (1..=SEEDS).map(|seed| check(&machine, seed).1).sum();
        assert!(gave_way > SEEDS * 20, "{gave_way} lines gave way in {SEEDS} programs");
    }
}

#[test]
fn with_caches_of_one_line() {
    check_all(1, 1, 1, &[]);
}

#[test]
fn with_caches_of_a_few_lines() {
    check_all(1, 2, 4, &[]);
    check_all(2, 4, 7, &[]);
}

#[test]
fn with_a_second_level_larger_than_the_last() {
    check_all(2, 8, 2, &[]);
}

#[test]
fn with_few_cores_and_all_their_siblings() {
    check_all(1, 2, 4, &[("cores", 2), ("threads", 4)]);
    check_all(1, 2, 4, &[("cores", 1), ("threads", 8), ("sibling_turn", 20)]);
}

#[test]
fn with_one_complex() {
    check_all(1, 2, 3, &[("sockets", 1), ("cores", 4)]);
}

#[test]
fn with_four_sockets_and_several_complexes() {
    check_all(1, 2, 3, &[("sockets", 4), ("complexes", 3), ("cores", 2), ("complex_leg", 30)]);
}

#[test]
fn with_much_jitter_and_messages_that_overtake_each_other() {
    check_all(1, 2, 3, &[("jitter", 300)]);
    let fast = [("shared_read", 0), ("hold_exclusive", 0), ("hold_shared", 0), ("last_level", 300)];
    check_all(1, 2, 3, &fast);
}

#[test]
fn with_slow_memory_and_a_store_buffer_of_one_entry() {
    check_all(1, 2, 3, &[("dram", 3000), ("store_buffer", 1)]);
}

#[test]
fn with_a_long_hold_after_a_grant() {
    check_all(1, 2, 3, &[("granted_legs", 7), ("sockets", 4), ("cores", 4)]);
}

#[test]
fn with_idle_sockets_that_answer_late() {
    check_all(1, 2, 3, &[("idle_answer", 900), ("sockets", 8), ("cores", 2)]);
}

#[test]
fn a_program_runs_the_same_every_time() {
    let machine = tiny(1, 2, 3, true, &[]);
    for seed in 1..=5 {
        assert_eq!(check(&machine, seed), check(&machine, seed));
    }
    assert_ne!(check(&machine, 1).0, check(&machine, 2).0);
}

/// Machines with random numbers, each from a tenth to ten times the shipped machine's, and caches
/// of 1 to 8 lines.
#[test]
fn on_machines_with_random_numbers() {
    for seed in 1..=150 {
        let changed = random_machine(seed, |name, value, next| {
            let lines = (1 + next() % 8) as f64;
            if name.ends_with("_kib") { lines / 16.0 } else { value }
        });
        check(&changed, seed);
    }
}
