//! Cost of a mispredicted compare-exchange or swap.

use crate::support::{machine, on};
use lockyard::platform::{Ordering, Word};
use lockyard_sim::{Machine, SimulatedU64, Simulation, now};

/// Number of operations of each thread.
const TRIES: usize = 20;

/// Cycles of each of [`TRIES`] operations at one place in the code. The thread's core already has
/// the word.
fn cycles(machine: &Machine, one: fn(&SimulatedU64, usize)) -> [u64; TRIES] {
    let mut simulation = Simulation::new(machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    on(&mut simulation, 0, move || {
        word.fetch_add(1, Ordering::Relaxed);
        std::array::from_fn(|index| {
            let begin = now();
            one(&word, index);
            now() - begin
        })
    })
}

/// Extra cycles of each operation when a misprediction costs 16.
fn lost(one: fn(&SimulatedU64, usize)) -> [u64; TRIES] {
    let [with, without] = [16, 0].map(|redirect| cycles(&machine(&[("redirect", redirect)]), one));
    std::array::from_fn(|index| with[index] - without[index])
}

fn exchange(word: &SimulatedU64, expected: u64) {
    let _ = word.compare_exchange(expected, 1, Ordering::Relaxed, Ordering::Relaxed);
}

#[test]
fn a_compare_exchange_that_succeeds_was_expected_to() {
    assert_eq!(lost(|word, _| exchange(word, 1)), [0; TRIES]);
}

#[test]
fn failures_cost_until_they_are_expected() {
    let lost = lost(|word, _| exchange(word, 7));
    assert_eq!(lost[..4], [16; 4]);
    assert_eq!(lost[4..], [0; TRIES - 4]);
}

#[test]
fn places_in_the_code_are_told_apart() {
    let lost = lost(|word, _| {
        exchange(word, 1);
        let _ = word.compare_exchange(7, 1, Ordering::Relaxed, Ordering::Relaxed);
    });
    assert_eq!(lost[..4], [16; 4]);
    assert_eq!(lost[4..], [0; TRIES - 4], "each place has one outcome");
}

#[test]
fn a_swap_that_finds_its_own_value_has_failed_and_an_addition_cannot_fail() {
    // The word is 1, so a test-and-set of it fails. The last test-and-set finds it free.
    let test_and_set = lost(|word, index| {
        word.swap(if index == TRIES - 1 { 2 } else { 1 }, Ordering::Relaxed);
    });
    assert_eq!(test_and_set[..4], [16; 4], "it was expected to succeed");
    assert_eq!(test_and_set[4..TRIES - 1], [0; TRIES - 5]);
    assert_eq!(test_and_set[TRIES - 1], 16, "it was expected to fail");
    let additions = lost(|word, _| {
        word.fetch_add(1, Ordering::Relaxed);
    });
    assert_eq!(additions, [0; TRIES]);
}
