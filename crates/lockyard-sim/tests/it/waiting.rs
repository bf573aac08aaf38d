//! Waiting loops: how long a bounded loop runs, and which cycles count as waiting.

use crate::support::{OTHER_SOCKET, finish, machine, number, on, thread};
use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{
    CyclePhase, PHASES, Simulated, SimulatedU64, Simulation, now, random_below, stop_requested,
    work,
};
use std::cell::Cell;
use std::rc::Rc;

/// Cycles of `code`.
fn timed(code: impl FnOnce()) -> u64 {
    let begin = now();
    code();
    now() - begin
}

#[test]
fn a_bounded_wait_ends_when_its_budget_is_spent() {
    let machine = machine(&[]);
    let n = |name: &str| number(&machine, &format!("cycles.{name}"));
    let (load, period) = (n("load"), n("pause") + n("poll"));
    let mut simulation = Simulation::new(&machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    on(&mut simulation, 0, move || {
        word.load(Ordering::Relaxed);
        let mut result = Ok(0);
        let waited = timed(|| {
            result = Simulated::wait_within(&*word, Ordering::Acquire, 100, |value| value == 1);
        });
        assert!(result.is_err());
        assert_eq!(waited, 99 * period + load);
        let at_once = timed(|| {
            assert!(Simulated::wait_within(&*word, Ordering::Acquire, 100, |v| v == 0).is_ok());
        });
        assert_eq!(at_once, load);
    });
}

#[test]
fn a_budget_of_one_poll_is_one_poll() {
    let mut simulation = Simulation::new(&machine(&[]), 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    on(&mut simulation, 0, move || {
        assert!(Simulated::wait_within(&*word, Ordering::Acquire, 1, |v| v == 1).is_err());
    });
    assert_eq!(simulation.statistics().loads, 1);
}

/// Mean time of a hundred polls of a word, whose line other threads write. `bounded`: polls by a
/// bounded wait, otherwise by a loop that counts.
fn a_hundred_polls_beside(writers: usize, gap: f64, bounded: bool) -> f64 {
    let mut simulation = Simulation::new(&machine(&[]), 1);
    let word = simulation.place(SimulatedU64::new(0), 8, 0);
    let beside = simulation.place(SimulatedU64::new(0), 8, 0);
    for writer in 0..writers {
        let beside = beside.clone();
        simulation.spawn(1 + writer, move || {
            while !stop_requested() {
                beside.fetch_add(1, Ordering::Relaxed);
                work(gap + random_below(10) as f64);
            }
        });
    }
    let spent = Rc::new(Cell::new((0u64, 0u64)));
    let out = Rc::clone(&spent);
    simulation.spawn(0, move || {
        while !stop_requested() {
            let cycles = timed(|| {
                if bounded {
                    let result = Simulated::wait_within(&*word, Ordering::Relaxed, 100, |v| v != 0);
                    assert!(result.is_err());
                } else {
                    word.load(Ordering::Relaxed);
                    for _ in 1..100 {
                        Simulated::relax();
                        word.load(Ordering::Relaxed);
                    }
                }
            });
            let (sum, times) = out.get();
            out.set((sum + cycles, times + 1));
        }
    });
    simulation.run_until(3_000_000);
    simulation.request_stop();
    finish(&mut simulation);
    let (sum, times) = spent.get();
    sum as f64 / times as f64
}

#[test]
fn a_budget_is_of_polls_however_often_the_line_is_taken_away() {
    for (writers, gap) in [(0, 0.0), (1, 1000.0), (1, 300.0), (1, 20.0), (4, 20.0), (16, 20.0)] {
        let counted = a_hundred_polls_beside(writers, gap, false);
        let bounded = a_hundred_polls_beside(writers, gap, true);
        // A round of the counting loop costs a load instead of `poll`: 2 cycles less, of 47.
        assert!(
            (bounded / counted - 1.0).abs() < 0.08,
            "{writers} writers, every {gap} ns: {bounded} cycles, not {counted}"
        );
    }
}

/// Cycles in each phase, and number of polls that missed. Hardware thread 0 waits from cycle
/// `begin` on until the word is at least `value`. Another socket sets the word to 1 at the start,
/// and to 2 at cycle 20 000.
fn waits_for(value: u64, begin: u64) -> ([u64; PHASES], u64) {
    let mut simulation = Simulation::new(&machine(&[]), 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    let changed = word.clone();
    thread(&mut simulation, OTHER_SOCKET, 0, move || {
        changed.store(1, Ordering::Release);
    });
    finish(&mut simulation);
    simulation.begin_attribution();
    let changed = word.clone();
    thread(&mut simulation, OTHER_SOCKET + 1, 20_000, move || {
        changed.store(2, Ordering::Release);
    });
    thread(&mut simulation, 0, begin, move || {
        Simulated::wait_until(&*word, Ordering::Acquire, |seen| seen >= value);
    });
    finish(&mut simulation);
    let after = simulation.attribution();
    (after.cycles, after.lines[0].1.missed_polls)
}

#[test]
fn a_thread_waits_from_its_first_poll_that_failed() {
    let (cycles, polls) = waits_for(1, 10_000);
    let of = |phase: CyclePhase| cycles[phase as usize];
    assert_eq!((of(CyclePhase::Waiting), polls), (0, 0), "the first look finds what it wants");
    assert!(of(CyclePhase::Moving) > 200, "it brings the line from the other socket: {cycles:?}");
    let (cycles, polls) = waits_for(2, 10_000);
    let of = |phase: CyclePhase| cycles[phase as usize];
    assert_eq!(polls, 1, "the second look misses, as the word was changed");
    let waited = of(CyclePhase::Waiting);
    assert!(waited > 9_500, "from the first look until the change is here: {cycles:?}");
}
