//! Time for which a line stays at a core: turns of siblings, the hold after a grant, and the
//! slowdown of siblings' work.

use crate::support::{OTHER_SOCKET, SIBLING_OF_0, finish, machine, number, ping_pong, thread};
use lockyard::platform::{Ordering, Word};
use lockyard_sim::{Machine, RunStatistics, SimulatedU64, Simulation, nanoseconds, now, work};

#[test]
fn a_sibling_waits_for_its_turn() {
    let at = |turn| ping_pong(&machine(&[("sibling_turn", turn)]), [0, SIBLING_OF_0], 0);
    let (without, with) = (at(0), at(60));
    assert!(without < 7.0, "{without} ns");
    assert!(with > 20.0, "a turn of 60 cycles is 20 ns: {with} ns");
    let apart = |turn| ping_pong(&machine(&[("sibling_turn", turn)]), [0, 1], 0);
    assert_eq!(apart(0), apart(60), "threads of different cores have no turns");
}

#[test]
fn a_siblings_load_waits_out_the_turn_whenever_it_comes() {
    // Nothing is done ahead here, so that work can measure the time.
    let machine = machine(&[("jitter", 0), ("sibling_turn", 60), ("run_ahead", 0)]);
    let n = |name: &str| number(&machine, &format!("cycles.{name}"));
    let (before_lock, lock, turn) = (n("rmw_before_lock"), n("rmw_lock"), n("sibling_turn"));
    // Start times relative to the start of the lock: within it, at its end, within the turn, at the
    // turn's end, and later.
    for late in [4, lock, lock + 1, lock + turn - 1, lock + turn, lock + turn + 9] {
        let mut simulation = Simulation::new(&machine, 1);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        let ours = word.clone();
        thread(&mut simulation, 0, 0, move || {
            ours.fetch_add(1, Ordering::Relaxed);
            let wait = nanoseconds(10_000 - now());
            work(wait);
            ours.fetch_add(1, Ordering::Relaxed);
        });
        let begin = 10_000 + before_lock;
        let seen = thread(&mut simulation, SIBLING_OF_0, begin + late, move || {
            assert_eq!(word.load(Ordering::Relaxed), 2);
            now()
        });
        finish(&mut simulation);
        let free = begin + late.max(lock + turn);
        assert_eq!(seen.get(), Some(free + n("load")), "asked for {late} cycles after the lock");
    }
}

/// Counts of a run where each of `places` adds to a word this many times.
fn additions(
    machine: &Machine,
    places: impl IntoIterator<Item = usize>,
    times: usize,
) -> RunStatistics {
    let mut simulation = Simulation::new(machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 0);
    for place in places {
        let word = word.clone();
        simulation.spawn(place, move || {
            for _ in 0..times {
                word.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    finish(&mut simulation);
    simulation.statistics()
}

/// Read-modify-writes per ownership when both sockets add to a word.
fn additions_of_an_ownership(machine: &Machine) -> f64 {
    let statistics = additions(machine, [0, OTHER_SOCKET], 2000);
    statistics.rmws as f64 / statistics.exclusive_fills as f64
}

#[test]
fn after_a_grant_the_owner_keeps_the_line() {
    let at = |legs| {
        additions_of_an_ownership(&machine(&[("granted_legs", legs), ("granted_spread", 0)]))
    };
    let (short, long) = (at(0), at(5));
    // Meanwhile the other socket's request is in flight, so the two times overlap.
    assert!(long >= 5.0 * 92.0 / 22.0, "5 legs of 92 cycles are time for 21 additions: {long}");
    assert!(short < long - 4.0, "{short} and {long}");
}

#[test]
fn the_hold_varies_from_nothing_to_twice_the_mean() {
    // Both cores of the other socket want the line, which is in this socket. The second core waits
    // for the hold of the first.
    let second_ends = |spread, seed| {
        let numbers = [("jitter", 0), ("granted_legs", 1), ("granted_spread", spread)];
        let machine = machine(&numbers);
        let mut simulation = Simulation::new(&machine, seed);
        let word = simulation.place(SimulatedU64::new(0), 64, 0);
        let add = |simulation: &mut Simulation, place, start| {
            let word = word.clone();
            thread(simulation, place, start, move || {
                word.fetch_add(1, Ordering::Relaxed);
                now()
            })
        };
        add(&mut simulation, 0, 0);
        let ends = [0, 1].map(|core| add(&mut simulation, OTHER_SOCKET + core, 5000));
        finish(&mut simulation);
        ends.map(|end| end.get().expect("it finished")).into_iter().max().expect("there are two")
    };
    let all = |spread| (0..200).map(|seed| second_ends(spread, seed)).collect::<Vec<u64>>();
    let same = all(0);
    assert!(same.iter().all(|end| *end == same[0]), "{same:?}");
    let differ = all(1);
    let leg = number(&machine(&[]), "cycles.socket_leg");
    let (least, most) = (*differ.iter().min().unwrap(), *differ.iter().max().unwrap());
    assert!(least >= same[0] - leg && most <= same[0] + leg, "{least} to {most}, {}", same[0]);
    // A short hold ends before the first addition does.
    assert!(most - least > leg + leg / 2, "{least} to {most}: nearly two legs of {leg}");
    let mean = differ.iter().sum::<u64>() as f64 / differ.len() as f64;
    assert!((mean - same[0] as f64).abs() < leg as f64 / 8.0, "{mean} and {}", same[0]);
}

/// The home agent's grants per addition, when `ours` cores of one socket and `theirs` of the other
/// socket add to a word.
fn grants_of_an_addition(machine: &Machine, ours: usize, theirs: usize) -> f64 {
    let places = (0..ours).chain((0..theirs).map(|core| OTHER_SOCKET + core));
    let statistics = additions(machine, places, 1000);
    statistics.remote_grants as f64 / statistics.rmws as f64
}

#[test]
fn the_more_the_other_sockets_request_weighs_the_sooner_it_gets_the_line() {
    let at =
        |weight, theirs| grants_of_an_addition(&machine(&[("snoop_weight", weight)]), 8, theirs);
    let (sticky, fair, first) = (at(1, 8), at(7, 8), at(1000, 8));
    assert!(fair > 1.7 * sticky, "as all of the own that wait: {fair}; as one: {sticky}");
    assert!(first > 1.15 * fair, "always first: {first}; as all of the own: {fair}");
    assert!(
        first < 0.5,
        "each ownership is the other socket's, and has several additions: {first}"
    );
}

/// Cycles for 1000 cycles of work, with a sibling that works for `beside` cycles.
fn work_beside(machine: &Machine, beside: u64) -> u64 {
    let mut simulation = Simulation::new(machine, 1);
    let cycles = machine.nanoseconds(1000);
    let ours = thread(&mut simulation, 0, 0, move || {
        let begin = now();
        work(cycles);
        now() - begin
    });
    let theirs = machine.nanoseconds(beside);
    thread(&mut simulation, SIBLING_OF_0, 0, move || work(theirs));
    finish(&mut simulation);
    ours.get().expect("it has finished")
}

#[test]
fn work_is_slow_only_while_the_sibling_works() {
    let machine = machine(&[]);
    assert_eq!(work_beside(&machine, 0), 1000);
    // The sibling's 100 cycles take 155. In that time, this thread does 100 cycles of its own work.
    assert_eq!(work_beside(&machine, 100), 155 + 900);
    assert_eq!(work_beside(&machine, 5000), 1550);
}

#[test]
fn work_is_not_slowed_by_a_sibling_that_waits_for_a_line() {
    let machine = machine(&[]);
    let mut simulation = Simulation::new(&machine, 1);
    let word = simulation.place(SimulatedU64::new(0), 64, 1);
    let ours = thread(&mut simulation, 0, 0, || {
        let begin = now();
        work(100.0);
        now() - begin
    });
    let missing = word.clone();
    thread(&mut simulation, SIBLING_OF_0, 0, move || missing.load(Ordering::Relaxed));
    finish(&mut simulation);
    let cycles = ours.get().expect("it has finished");
    assert!((300..310).contains(&cycles), "only while the sibling's load is not waiting: {cycles}");
}
