//! Litmus tests of the simulated machine's memory model: total store order.
//!
//! Each test runs many times with random delays and many placements. Forbidden outcomes never
//! happen. Outcomes that distinguish a store buffer from sequential consistency do happen.

use crate::support::{OTHER_SOCKET, SIBLING_OF_0, finish, machine, thread};
use lockyard::platform::{Atomics, Ordering, Part, Word};
use lockyard_sim::{
    Placed, SimulatedAtomics, SimulatedU32, SimulatedU64, Simulation, random_below, work,
};
use std::collections::BTreeSet;

const RUNS: u64 = 300;

/// Two words in separate lines.
type Words = [Placed<SimulatedU64>; 2];

/// One thread of a litmus test. Returns the values that it saw.
type Code = fn(&Words) -> [u64; 2];

/// Runs the threads. Returns all outcomes that occurred. An outcome is the values that each thread
/// saw, then the final values in memory.
fn outcomes(threads: &[Code]) -> BTreeSet<Vec<[u64; 2]>> {
    // Stores reach memory in order, with and without early requests for their lines.
    let machines = [0, 1].map(|early| machine(&[("early_stores", early)]));
    let placements: [&[usize]; 4] = [
        &[0, 1, 2, 3],
        &[0, OTHER_SOCKET, 1, OTHER_SOCKET + 1],
        &[0, SIBLING_OF_0, 1, SIBLING_OF_0 + 1],
        &[5, OTHER_SOCKET, SIBLING_OF_0 + 5, OTHER_SOCKET + 7],
    ];
    let mut seen = BTreeSet::new();
    for run in 0..RUNS {
        let mut simulation = Simulation::new(&machines[run as usize / 4 % 2], run);
        let words: Words = [0, 1].map(|home| simulation.place(SimulatedU64::new(0), 64, home));
        let places = placements[run as usize % placements.len()];
        let results: Vec<_> = threads
            .iter()
            .zip(places)
            .map(|(&code, &place)| {
                let words = words.clone();
                thread(&mut simulation, place, 0, move || {
                    // Some threads load the lines in advance, others do not.
                    for word in &words {
                        if random_below(2) == 0 {
                            std::hint::black_box(word.load(Ordering::Relaxed));
                        }
                    }
                    work(500.0 + random_below(150) as f64);
                    code(&words)
                })
            })
            .collect();
        finish(&mut simulation);
        let mut outcome: Vec<[u64; 2]> =
            results.iter().map(|r| r.get().expect("it has finished")).collect();
        outcome.push(simulation.setup(|| [0, 1].map(|i: usize| words[i].load(Ordering::Relaxed))));
        seen.insert(outcome);
    }
    seen
}

/// Returns `true` if some outcome has these values in its first two places.
fn any(seen: &BTreeSet<Vec<[u64; 2]>>, values: [u64; 2]) -> bool {
    seen.iter().any(|threads| [threads[0][0], threads[1][0]] == values)
}

fn delay() {
    let nanoseconds = random_below(3) * 20;
    if nanoseconds > 0 {
        work(nanoseconds as f64);
    }
}

#[test]
fn a_store_may_be_seen_later_than_the_next_load_happens() {
    let seen = outcomes(&[
        |[x, y]| {
            x.store(1, Ordering::Release);
            [y.load(Ordering::Acquire), 0]
        },
        |[x, y]| {
            y.store(1, Ordering::Release);
            [x.load(Ordering::Acquire), 0]
        },
    ]);
    assert!(any(&seen, [0, 0]), "the store buffer shows: {seen:?}");
    assert!(any(&seen, [0, 1]) && any(&seen, [1, 0]), "other orders show too: {seen:?}");
}

#[test]
fn a_fence_between_store_and_load_forbids_that() {
    let seen = outcomes(&[
        |[x, y]| {
            x.store(1, Ordering::Relaxed);
            SimulatedAtomics::fence(Ordering::SeqCst);
            [y.load(Ordering::Relaxed), 0]
        },
        |[x, y]| {
            y.store(1, Ordering::Relaxed);
            SimulatedAtomics::fence(Ordering::SeqCst);
            [x.load(Ordering::Relaxed), 0]
        },
    ]);
    assert!(!any(&seen, [0, 0]), "{seen:?}");
}

#[test]
fn a_sequentially_consistent_store_or_a_read_modify_write_forbids_that_too() {
    let seen = outcomes(&[
        |[x, y]| {
            x.store(1, Ordering::SeqCst);
            [y.load(Ordering::SeqCst), 0]
        },
        |[x, y]| {
            y.swap(1, Ordering::SeqCst);
            [x.load(Ordering::SeqCst), 0]
        },
    ]);
    assert!(!any(&seen, [0, 0]), "{seen:?}");
}

#[test]
fn a_message_is_there_when_its_flag_is() {
    let seen = outcomes(&[
        |[data, flag]| {
            data.store(1, Ordering::Relaxed);
            delay();
            flag.store(1, Ordering::Release);
            [0, 0]
        },
        |[data, flag]| {
            let flag = flag.load(Ordering::Acquire);
            delay();
            [flag, data.load(Ordering::Relaxed)]
        },
    ]);
    let reader = |values| seen.iter().any(|threads| threads[1] == values);
    assert!(!reader([1, 0]), "{seen:?}");
    assert!(reader([1, 1]) && reader([0, 0]), "both orders show: {seen:?}");
}

#[test]
fn two_readers_agree_on_the_order_of_two_writers() {
    let seen = outcomes(&[
        |[x, _]| {
            delay();
            x.store(1, Ordering::Relaxed);
            [0, 0]
        },
        |[_, y]| {
            delay();
            y.store(1, Ordering::Relaxed);
            [0, 0]
        },
        |[x, y]| [x.load(Ordering::Relaxed), y.load(Ordering::Relaxed)],
        |[x, y]| [y.load(Ordering::Relaxed), x.load(Ordering::Relaxed)],
    ]);
    assert!(!seen.iter().any(|threads| threads[2] == [1, 0] && threads[3] == [1, 0]), "{seen:?}");
    assert!(seen.iter().any(|threads| threads[2] == [1, 0]), "a reader is between: {seen:?}");
}

#[test]
fn stores_of_a_thread_are_seen_in_their_order() {
    let seen = outcomes(&[
        |[x, y]| {
            x.store(1, Ordering::Relaxed);
            y.store(2, Ordering::Relaxed);
            [0, 0]
        },
        |[x, y]| {
            y.store(1, Ordering::Relaxed);
            x.store(2, Ordering::Relaxed);
            [0, 0]
        },
    ]);
    let memory = |values| seen.iter().any(|threads| threads[2] == values);
    assert!(!memory([1, 1]), "each thread's last store would be before its first one: {seen:?}");
    assert!(memory([2, 2]) || memory([1, 2]) || memory([2, 1]), "{seen:?}");
}

#[test]
fn a_thread_sees_its_own_stores_at_once() {
    let seen = outcomes(&[
        |[x, _]| {
            x.store(1, Ordering::Relaxed);
            let first = x.load(Ordering::Relaxed);
            x.store(2, Ordering::Relaxed);
            [first, x.load(Ordering::Relaxed)]
        },
        |[x, _]| [x.load(Ordering::Relaxed), 0],
    ]);
    assert!(seen.iter().all(|threads| threads[0] == [1, 2]), "{seen:?}");
}

#[test]
fn stores_of_neighbouring_parts_are_all_kept() {
    let machine = machine(&[]);
    for seed in 0..100 {
        let mut simulation = Simulation::new(&machine, seed);
        let word = simulation.place(SimulatedU32::new(0), 64, 0);
        for (part, place) in [0, 1, OTHER_SOCKET, SIBLING_OF_0].into_iter().enumerate() {
            let word = word.clone();
            simulation.spawn(place, move || {
                for old in 0..20 {
                    Part::<u8>::store_part(&*word, part, old, old + 1, Ordering::Release);
                    delay();
                }
            });
        }
        finish(&mut simulation);
        assert_eq!(simulation.setup(|| word.load(Ordering::Relaxed)), 0x1414_1414, "seed {seed}");
    }
}
