//! Ends of runs, and reproducibility of runs.

use lockyard::on::RawTestAndSetLock;
use lockyard::on::RawTicketLock;
use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{
    Machine, RunEnd, Simulated, SimulatedU32, SimulatedU64, Simulation, operation_done,
    stop_requested, work,
};
use std::alloc::Layout;

fn machine() -> Machine {
    Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped")
}

/// Runs a mix of everything: a contended lock, data, pauses, work. Returns its hash and its
/// operations.
fn eventful(seed: u64) -> (u64, Vec<u64>) {
    let machine = machine();
    let mut simulation = Simulation::new(&machine, seed);
    let lock = simulation.place(RawTicketLock::<Simulated>::new(), 64, 0);
    let count = simulation.place(SimulatedU64::new(0), 64, 1);
    for place in [0, 1, 2, 24, 25, 48, 72] {
        let (lock, count) = (lock.clone(), count.clone());
        simulation.spawn(place, move || {
            while !stop_requested() {
                let held = lock.acquire();
                work(30.0);
                // SAFETY: acquired above.
                unsafe { lock.release(held) };
                count.fetch_add(1, Ordering::Relaxed);
                Simulated::relax();
                operation_done();
            }
        });
    }
    simulation.run_until(machine.cycles(50_000.0));
    simulation.request_stop();
    assert!(matches!(simulation.run(), RunEnd::Finished));
    (simulation.hash(), simulation.operations())
}

#[test]
fn equal_runs_are_equal_on_any_thread_and_with_any_heap() {
    let first = eventful(7);
    // Change the addresses: the heap is in another state, and each OS thread has a separate arena.
    let _clutter: Vec<Vec<u8>> = (1..200).map(|i| vec![0; i * 997]).collect();
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| eventful(7))).collect();
    for thread in threads {
        assert_eq!(thread.join().expect("it does not panic"), first);
    }
    assert_eq!(eventful(7), first);
}

#[test]
fn pointers_in_words_do_not_change_the_hash() {
    let run = || {
        let mut simulation = Simulation::new(&machine(), 1);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        let pointer = std::ptr::from_ref::<SimulatedU64>(&word) as u64;
        simulation.spawn(0, move || word.store(pointer, Ordering::Relaxed));
        assert!(matches!(simulation.run(), RunEnd::Finished));
        (pointer, simulation.hash(), simulation)
    };
    // Both arenas exist at the same time, so their addresses differ.
    let ((first, hash, _kept), (second, again, _)) = (run(), run());
    assert_ne!(first, second);
    assert_eq!(hash, again);
}

#[test]
fn the_hash_of_this_run_is_known() {
    // The hash changes when the physics, the machine file or the ticket lock changes. After such a
    // change, check the tables and then update the constant.
    assert_eq!(eventful(1).0, KNOWN_HASH);
}

const KNOWN_HASH: u64 = 9_213_263_543_896_508_344;

#[test]
fn another_seed_is_another_run() {
    assert_ne!(eventful(1).0, eventful(2).0);
}

#[test]
fn a_run_that_cannot_go_on_says_who_waits_for_what() {
    let mut simulation = Simulation::new(&machine(), 1);
    let lock = simulation.place(RawTestAndSetLock::<Simulated>::new(), 64, 0);
    for place in 0..3 {
        let lock = lock.clone();
        simulation.spawn(place, move || {
            // This lock is never released.
            let _held = lock.acquire();
        });
    }
    let RunEnd::Stuck(reports) = simulation.run() else { panic!("it cannot finish") };
    assert_eq!(reports.len(), 2);
    for report in reports {
        assert_eq!(report.operation, "wait on line 0 byte 0");
        let location = report.location.expect("it is known");
        assert!(location.file().ends_with("test_and_set.rs"), "{location}");
    }
}

#[test]
fn a_finished_run_has_all_stores_in_memory() {
    for seed in 0..50 {
        let mut simulation = Simulation::new(&machine(), seed);
        let word = simulation.place(SimulatedU64::new(0), 64, 1);
        let lock = simulation.place(RawTicketLock::<Simulated>::new(), 64, 0);
        for (value, place) in [(7, 0), (8, 24)] {
            let (word, lock) = (word.clone(), lock.clone());
            simulation.spawn(place, move || {
                let held = lock.acquire();
                word.store(value, Ordering::Relaxed);
                // SAFETY: acquired above.
                unsafe { lock.release(held) };
            });
        }
        assert!(matches!(simulation.run(), RunEnd::Finished));
        let value = simulation.setup(|| word.load(Ordering::Relaxed));
        assert!(value == 7 || value == 8, "seed {seed}: the last stores are still on their way");
        assert!(!simulation.setup(|| lock.is_held()), "seed {seed}: the lock is free");
    }
}

#[test]
fn an_operation_that_does_nothing_takes_a_cycle() {
    let mut simulation = Simulation::new(&machine(), 1);
    simulation.spawn(0, || {
        while !stop_requested() {
            operation_done();
        }
    });
    assert!(matches!(simulation.run_until(1_000), RunEnd::TimeOver));
    assert!(simulation.operations()[0] <= 1_001);
    simulation.request_stop();
    assert!(matches!(simulation.run(), RunEnd::Finished));
}

#[test]
fn a_panic_in_a_simulated_thread_is_the_runs_outcome() {
    let mut simulation = Simulation::new(&machine(), 1);
    simulation.spawn(3, || panic!("on purpose"));
    let outcome = simulation.run();
    let RunEnd::Panicked { thread: 3, message } = &outcome else { panic!("{outcome}") };
    assert_eq!(message, "on purpose");
}

#[test]
fn a_primitive_that_cannot_go_on_is_the_runs_outcome() {
    let mut simulation = Simulation::new(&machine(), 1);
    simulation.spawn(0, || Simulated::fatal("an invariant was lost"));
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Fatal { message: "an invariant was lost", .. }));
}

#[test]
fn a_word_outside_the_arena_is_an_error() {
    let mut simulation = Simulation::new(&machine(), 1);
    simulation.spawn(0, || {
        let stray = SimulatedU32::new(0);
        stray.load(Ordering::Relaxed);
    });
    let outcome = simulation.run();
    let RunEnd::Panicked { message, .. } = &outcome else { panic!("{outcome}") };
    assert!(message.contains("outside the simulation's arena"), "{outcome}");
}

#[test]
fn a_run_without_end_is_given_up() {
    let mut simulation = Simulation::new(&machine(), 1);
    simulation.limit_events(10_000);
    simulation.spawn(0, || {
        loop {
            Simulated::relax();
        }
    });
    assert!(matches!(simulation.run(), RunEnd::TooManyEvents(reports) if reports.len() == 1));
}

#[test]
fn a_thousand_threads_take_turns() {
    let text = include_str!("../../../../machines/cascade-lake-2s24c2t.toml");
    let large = text
        .replace("sockets = { value = 2,", "sockets = { value = 4,")
        .replace("cores = { value = 24,", "cores = { value = 128,");
    let machine = Machine::parse("large", &large).expect("it is valid");
    assert_eq!(machine.hardware_threads(), 1024);
    let mut simulation = Simulation::new(&machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    for place in 0..1024 {
        let word = word.clone();
        simulation.spawn(place, move || {
            word.fetch_add(1, Ordering::Relaxed);
        });
    }
    assert!(matches!(simulation.run(), RunEnd::Finished));
    let value = simulation.setup(|| word.load(Ordering::Relaxed));
    assert_eq!(value, 1024);
}

#[test]
fn parking_loses_no_wake_up() {
    // As in the native host: the unpark after a release store must not overtake that store.
    const TURNS: u32 = 20;
    for (seed, other) in (0..100).map(|seed| (seed, [1, 24, 48][seed as usize % 3])) {
        hand_over(seed, other, TURNS);
    }
}

fn hand_over(seed: u64, other: usize, turns: u32) {
    let mut simulation = Simulation::new(&machine(), seed);
    let turn = simulation.place(SimulatedU32::new(0), 64, 0);
    for (me, place) in [(0, 0), (1, other)] {
        let turn = turn.clone();
        simulation.spawn(place, move || {
            for round in 0..turns {
                let mine = 2 * round + me;
                loop {
                    let now = turn.load(Ordering::Acquire);
                    if now == mine {
                        break;
                    }
                    Simulated::park(&turn, now, None);
                }
                turn.store(mine + 1, Ordering::Release);
                Simulated::unpark(&*turn, 1);
            }
        });
    }
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
}

#[test]
fn a_parked_thread_whose_time_is_over_returns() {
    let mut simulation = Simulation::new(&machine(), 1);
    let word = simulation.place(SimulatedU32::new(0), 64, 0);
    simulation.spawn(0, move || {
        Simulated::park(&word, 1, None); // another value: at once
        let before = Simulated::now();
        let limit = std::time::Duration::from_micros(50);
        Simulated::park(&word, 0, Some(limit));
        assert!(Simulated::now() - before >= limit);
    });
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
}

#[test]
fn allocation_fails_when_it_is_told_to_and_when_the_arena_is_full() {
    let layout = Layout::new::<u64>();
    let mut simulation = Simulation::with_memory(&machine(), 1, 1024);
    simulation.fail_allocations(1);
    simulation.setup(|| {
        assert!(Simulated::allocate(layout, None).is_none());
        assert!(Simulated::allocate(layout, Some(1)).is_some());
        assert!(Simulated::allocate(Layout::new::<[u8; 2000]>(), None).is_none());
    });
}

#[test]
fn only_the_hosts_allocations_are_made_to_fail() {
    let mut simulation = Simulation::new(&machine(), 1);
    simulation.fail_allocations(1);
    let _placed = simulation.place(SimulatedU64::new(0), 64, 0);
    simulation.spawn(0, || {
        Simulated::queue_node(Simulated::slot().expect("it has one"), 0);
        assert!(Simulated::allocate(Layout::new::<u64>(), None).is_none());
        assert!(Simulated::allocate(Layout::new::<u64>(), None).is_some());
    });
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
}

#[test]
fn setup_code_has_no_slot_before_and_after_a_run() {
    let mut simulation = Simulation::new(&machine(), 1);
    assert_eq!(simulation.setup(Simulated::slot), None);
    simulation.spawn(30, || {
        assert_eq!((Simulated::slot().map(|s| s.0), Simulated::numa_node()), (Some(30), 1))
    });
    assert!(matches!(simulation.run(), RunEnd::Finished));
    assert_eq!(simulation.setup(|| (Simulated::slot(), Simulated::numa_node())), (None, 0));
}

#[test]
fn very_long_times_are_only_long() {
    let mut simulation = Simulation::new(&machine(), 1);
    let word = simulation.place(SimulatedU32::new(0), 64, 0);
    let parked = word.clone();
    simulation.spawn(0, move || Simulated::park(&parked, 0, Some(std::time::Duration::MAX)));
    simulation.spawn(1, move || {
        work(10_000.0);
        Simulated::unpark(&*word, 1);
    });
    simulation.spawn(2, || work(f64::INFINITY));
    let outcome = simulation.run_until(1 << 40);
    assert!(matches!(outcome, RunEnd::TimeOver), "{outcome}");
    // The parked thread was woken and has finished, so it is not in the report of the endless run.
    simulation.limit_events(0);
    assert!(matches!(simulation.run(), RunEnd::TooManyEvents(left) if left.len() == 1));
}

#[test]
fn queue_nodes_are_distinct_and_a_threads_four_share_a_line() {
    let mut simulation = Simulation::new(&machine(), 1);
    simulation.spawn(5, || {
        let slot = Simulated::slot().expect("every hardware thread has one");
        assert_eq!(slot.0, 5);
        let address = |level| std::ptr::from_ref(Simulated::queue_node(slot, level)) as usize;
        for level in 0..4 {
            assert_eq!(address(level), address(0) + 16 * level as usize);
        }
        assert_eq!(Simulated::queue_node(slot, 0).nodes_in_use(), 0);
    });
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished), "{outcome}");
}
