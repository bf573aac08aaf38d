//! Work that is done ahead of incomplete operations, and loads that fetch a line exclusively for
//! the locked operation or the store behind them.

use crate::support::{OTHER_SOCKET, SIBLING_OF_0, finish, machine, on, thread};
use lockyard::platform::{Atomics, Host, Ordering, Word};
use lockyard_sim::{
    Machine, Placed, Simulated, SimulatedAtomics, SimulatedU64, Simulation, now, work,
    work_in_order,
};

/// Cycles of the work.
const WORK: u64 = 3000;
const ADDITION: u64 = 21;

/// Cycles that [`WORK`] takes directly after `before`, which uses a line that the other socket has
/// modified.
fn work_after(machine: &Machine, before: impl Fn(&SimulatedU64) + 'static) -> u64 {
    let mut simulation = Simulation::new(machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 1);
    let theirs = word.clone();
    on(&mut simulation, OTHER_SOCKET, move || theirs.fetch_add(1, Ordering::Relaxed));
    on(&mut simulation, 0, move || {
        before(&word);
        let begin = now();
        work(1000.0);
        now() - begin
    })
}

fn add(word: &SimulatedU64) {
    word.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn work_behind_a_transfer_is_done_under_it_as_far_as_the_reorder_buffer_reaches() {
    for (reach, left) in [(0, WORK), (50, WORK - 50), (112, WORK - 112)] {
        assert_eq!(work_after(&machine(&[("run_ahead", reach)]), add), left);
    }
    let looked = |word: &SimulatedU64| {
        let _ = word.load(Ordering::Relaxed);
    };
    assert_eq!(work_after(&machine(&[]), looked), WORK - 112, "behind a load too");
}

#[test]
fn no_more_is_done_ahead_than_the_operations_took() {
    let hit = |word: &SimulatedU64| {
        add(word);
        Simulated::relax();
        add(word);
    };
    assert_eq!(work_after(&machine(&[]), hit), WORK - ADDITION);
}

#[test]
fn what_was_done_ahead_counts_once() {
    let cycles = work_after(&machine(&[]), |word| {
        add(word);
        work(10.0);
    });
    assert_eq!(cycles, WORK - (112 - 30));
}

#[test]
fn a_misprediction_a_pause_and_a_fence_discard_what_was_done_ahead() {
    let exchange = |word: &SimulatedU64, expected| {
        let _ = word.compare_exchange(expected, 7, Ordering::Relaxed, Ordering::Relaxed);
    };
    let fails = move |word: &SimulatedU64| exchange(word, 100);
    assert_eq!(work_after(&machine(&[]), fails), WORK);
    let succeeds = move |word: &SimulatedU64| exchange(word, 1);
    assert_eq!(
        work_after(&machine(&[]), succeeds),
        WORK - 112,
        "as the last one, if there was any"
    );
    let at_last = move |word: &SimulatedU64| {
        fails(word);
        succeeds(word);
    };
    assert_eq!(work_after(&machine(&[]), at_last), WORK - ADDITION, "only under the second");
    let paused = |word: &SimulatedU64| {
        add(word);
        Simulated::relax();
    };
    assert_eq!(work_after(&machine(&[]), paused), WORK);
    let fenced = |word: &SimulatedU64| {
        add(word);
        SimulatedAtomics::fence(Ordering::SeqCst);
    };
    assert_eq!(work_after(&machine(&[]), fenced), WORK);
}

#[test]
fn nothing_is_done_ahead_across_an_entry_into_the_kernel() {
    let cycles = work_after(&machine(&[]), |word| {
        add(word);
        work_in_order(10.0);
    });
    assert_eq!(cycles, WORK, "the call's work discards what the addition allowed");
    let behind = |entry: bool| {
        let machine = machine(&[]);
        let mut simulation = Simulation::new(&machine, 1);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        on(&mut simulation, 0, move || {
            add(&word);
            let begin = now();
            if entry {
                work_in_order(1000.0)
            } else {
                work(1000.0)
            }
            now() - begin
        })
    };
    assert_eq!(behind(true), WORK);
    assert!(behind(false) < WORK);
}

#[test]
fn threads_of_a_core_share_the_reorder_buffer_while_they_exist() {
    // Siblings do not slow each other down here, so the difference is the rest of the work.
    let machine = machine(&[("smt_slowdown", 1)]);
    let with_sibling = |sibling_stays: bool| {
        let mut simulation = Simulation::new(&machine, 1);
        let word = simulation.place(SimulatedU64::new(0), 64, 1);
        let theirs = word.clone();
        on(&mut simulation, OTHER_SOCKET, move || theirs.fetch_add(1, Ordering::Relaxed));
        let start = simulation.now() + 1000;
        let _ = thread(&mut simulation, SIBLING_OF_0, start, move || {
            work(if sibling_stays { 10_000.0 } else { 1.0 });
        });
        let cycles = thread(&mut simulation, 0, start + 100, move || {
            add(&word);
            let begin = now();
            work(1000.0);
            now() - begin
        });
        finish(&mut simulation);
        cycles.get()
    };
    assert_eq!(with_sibling(true), Some(WORK - 56));
    assert_eq!(with_sibling(false), Some(WORK - 112));
}

/// Returns the numbers of shared and of exclusive fills of a line that ten threads change, one
/// after another. Each loads its word first.
fn fills(exclusive_loads: u64, change: fn(&SimulatedU64, u64)) -> (u64, u64) {
    let machine = machine(&[("exclusive_loads", exclusive_loads)]);
    let mut simulation = Simulation::new(&machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    for place in 0..10 {
        let word = word.clone();
        on(&mut simulation, place, move || change(&word, word.load(Ordering::Relaxed)));
    }
    let statistics = simulation.statistics();
    (statistics.shared_fills, statistics.exclusive_fills)
}

#[test]
fn a_load_before_a_locked_operation_fetches_the_line_once_where_cores_do_so() {
    let exchange = |word: &SimulatedU64, seen: u64| {
        let _ = word.compare_exchange(seen, seen + 1, Ordering::AcqRel, Ordering::Relaxed);
    };
    assert_eq!(fills(0, exchange), (10, 10));
    // The first load cannot yet predict the operation that follows it.
    assert_eq!(fills(1, exchange), (1, 10));
}

#[test]
fn a_load_before_a_store_fetches_the_line_once_where_cores_do_so() {
    let store = |word: &SimulatedU64, seen: u64| word.store(seen + 1, Ordering::Relaxed);
    assert_eq!(fills(0, store), (10, 10));
    assert_eq!(fills(1, store), (1, 10));
}

#[test]
fn a_load_that_no_locked_operation_follows_is_shared_everywhere() {
    let machine = machine(&[("exclusive_loads", 1)]);
    let mut simulation = Simulation::new(&machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    for place in 0..5 {
        let word = word.clone();
        on(&mut simulation, place, move || {
            word.load(Ordering::Relaxed);
            word.load(Ordering::Relaxed)
        });
    }
    assert_eq!(simulation.statistics().exclusive_fills, 0);
    assert_eq!(simulation.statistics().shared_fills, 5);
}

/// Returns the cycles of a load that follows a compare-exchange of the same word after `later`
/// nanoseconds of work. The core executes nothing else out of order.
fn loads_behind(load_behind_lock: u64, expected: u64, later: f64) -> u64 {
    let mut simulation =
        Simulation::new(&machine(&[("load_behind_lock", load_behind_lock), ("run_ahead", 0)]), 1);
    let word = simulation.place(SimulatedU64::new(7), 64, 0);
    on(&mut simulation, 0, move || {
        let _ = word.compare_exchange(expected, 8, Ordering::Relaxed, Ordering::Relaxed);
        work(later);
        let begin = now();
        word.load(Ordering::Relaxed);
        now() - begin
    })
}

#[test]
fn a_load_behind_a_locked_operation_is_done_with_it_where_cores_do_so() {
    const LOAD: u64 = 5;
    const BEHIND: u64 = 13;
    assert_eq!(loads_behind(BEHIND, 7, 1.0), BEHIND);
    assert_eq!(loads_behind(0, 7, 1.0), 0);
    for behind in [0, BEHIND] {
        assert_eq!(
            loads_behind(behind, 7, 2.0),
            LOAD,
            "six cycles later it has not been waiting for the operation"
        );
    }
    assert_eq!(loads_behind(0, 9, 1.0), LOAD, "behind one that fails it begins anew");
}

#[test]
fn one_load_is_done_with_a_locked_operation_and_those_behind_it_take_their_time() {
    let mut simulation = Simulation::new(&machine(&[("load_behind_lock", 0), ("run_ahead", 0)]), 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    let cycles = on(&mut simulation, 0, move || {
        word.fetch_add(1, Ordering::Relaxed);
        let begin = now();
        for _ in 0..100 {
            word.load(Ordering::Relaxed);
        }
        now() - begin
    });
    assert_eq!(cycles, 99 * 5);
}

#[test]
fn a_load_that_is_done_early_has_the_value_though_the_line_goes() {
    let misses = |load_behind_lock| {
        let mut simulation =
            Simulation::new(&machine(&[("load_behind_lock", load_behind_lock)]), 1);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        for place in 0..8 {
            let word = word.clone();
            simulation.spawn(place, move || {
                for _ in 0..100 {
                    let before = word.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(word.load(Ordering::Relaxed), before + 1);
                }
            });
        }
        finish(&mut simulation);
        simulation.statistics().load_misses
    };
    assert_eq!(misses(0), 0);
}

/// Cycles of `code`, followed by an addition that waits for the stores of `code`. The words are in
/// lines that another core has modified.
fn until_drained(
    changes: &[(&str, u64)],
    code: impl Fn(&[Placed<SimulatedU64>; 3]) + 'static,
) -> u64 {
    let changes: Vec<_> = changes.iter().copied().chain([("jitter", 0)]).collect();
    let mut simulation = Simulation::new(&machine(&changes), 1);
    let words = [0; 3].map(|home| simulation.place(SimulatedU64::new(0), 64, home));
    let own = simulation.place(SimulatedU64::new(0), 64, 0);
    let theirs = words.clone();
    on(&mut simulation, 1, move || theirs.iter().for_each(|word| add(word)));
    on(&mut simulation, 0, move || {
        add(&own);
        let begin = now();
        code(&words);
        add(&own);
        now() - begin
    })
}

#[test]
fn the_lines_of_stores_come_one_after_another_or_where_cores_do_so_together() {
    let stores = |count: usize| {
        move |words: &[Placed<SimulatedU64>; 3]| {
            words[..count].iter().for_each(|word| word.store(7, Ordering::Release));
        }
    };
    let cycles = |early, count| until_drained(&[("early_stores", early)], stores(count));
    let one = cycles(0, 1);
    let transfer = one - ADDITION;
    assert_eq!([cycles(0, 2), cycles(0, 3)], [one + transfer, one + 2 * transfer]);
    // Stores take effect one cycle after another.
    assert_eq!([1, 2, 3].map(|count| cycles(1, count)), [one, one + 1, one + 2]);
}

#[test]
fn a_store_behind_a_compare_exchange_has_its_line_when_that_is_done_where_stores_ask_early() {
    let cycles = |early, what: fn(&[Placed<SimulatedU64>; 3])| {
        until_drained(&[("early_stores", early), ("redirect", 0)], what)
    };
    let exchange = |words: &[Placed<SimulatedU64>; 3]| {
        let _ = words[0].compare_exchange(1, 7, Ordering::Relaxed, Ordering::Relaxed);
    };
    let then_store = |words: &[Placed<SimulatedU64>; 3]| {
        let _ = words[0].compare_exchange(1, 7, Ordering::Relaxed, Ordering::Relaxed);
        words[1].store(7, Ordering::Release);
    };
    let swap_then_store = |words: &[Placed<SimulatedU64>; 3]| {
        words[0].swap(7, Ordering::Relaxed);
        words[1].store(7, Ordering::Release);
    };
    let fails_then_store = |words: &[Placed<SimulatedU64>; 3]| {
        let _ = words[0].compare_exchange(100, 7, Ordering::Relaxed, Ordering::Relaxed);
        words[1].store(7, Ordering::Release);
    };
    let alone = cycles(0, exchange);
    assert_eq!(cycles(1, exchange), alone);
    let one_after_another = cycles(0, then_store);
    assert!(one_after_another > alone + 100, "{one_after_another}");
    let together = cycles(1, then_store);
    assert!((alone..alone + 20).contains(&together), "{together}, not {alone}");
    assert_eq!(cycles(1, swap_then_store), one_after_another, "it may bring the address");
    assert_eq!(cycles(1, fails_then_store), one_after_another, "the outcome was not predicted");
}

#[test]
fn a_line_that_came_early_and_was_taken_again_is_asked_for_again() {
    let mut simulation = Simulation::new(&machine(&[("early_stores", 1)]), 1);
    // The first line is far away. The second one is near, and another core wants it.
    let [far, near] = [1, 0].map(|home| simulation.place(SimulatedU64::new(0), 64, home));
    let theirs = far.clone();
    on(&mut simulation, OTHER_SOCKET, move || add(&theirs));
    let start = simulation.now() + 1000;
    let (first, second) = (far.clone(), near.clone());
    let _ = thread(&mut simulation, 0, start, move || {
        first.store(7, Ordering::Release);
        second.store(7, Ordering::Release);
    });
    let seen = near.clone();
    let seen = thread(&mut simulation, 1, start + 150, move || seen.load(Ordering::Relaxed));
    let before = simulation.statistics().exclusive_fills;
    finish(&mut simulation);
    assert_eq!(seen.get(), Some(0), "the second store has not overtaken the first one");
    assert_eq!(simulation.statistics().exclusive_fills - before, 3, "the second line came twice");
    let [far, near] = simulation.setup(|| [far, near].map(|word| word.load(Ordering::Relaxed)));
    assert_eq!([far, near], [7, 7]);
}
