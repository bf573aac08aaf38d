//! Caches of limited capacity: the cost of each level, sharing between threads, and evictions.
//! Nothing changes while everything fits.
//!
//! Tests that count cycles switch off the machine's jitter. They expect the sum of the machine
//! file's own numbers. Random walks consist of independent loads. So a cache with `c` lines, full
//! of random ones out of `s`, holds a share of `c / s`.

use crate::support::{OTHER_SOCKET, SIBLING_OF_0, finish, number, on};
use lockyard::platform::{Host, Ordering, Word};
use lockyard_sim::{
    Machine, Placed, RunEnd, RunStatistics, Simulated, SimulatedU64, Simulation, now, random_below,
};
use std::alloc::Layout;

/// Returns the shipped machine with eight threads per core and other changes. Eight, because each
/// simulated thread runs only one function.
fn machine(changes: &[(&str, u64)]) -> Machine {
    crate::support::machine(&[&[("threads", 8)], changes].concat())
}

/// Index of thread `turn` of core `core`.
fn turn(simulation: &Simulation, core: usize, turn: usize) -> usize {
    core + turn * simulation.machine().cores()
}

fn timed<T>(code: impl FnOnce() -> T) -> u64 {
    let begin = now();
    std::hint::black_box(code());
    now() - begin
}

fn read(word: &SimulatedU64) -> u64 {
    word.load(Ordering::Relaxed)
}

/// Loads the word and ignores its value.
fn touch(word: &SimulatedU64) {
    std::hint::black_box(read(word));
}

fn with(machine: Machine, name: &str, value: f64) -> Machine {
    machine.with(name, value).expect("it has the number")
}

/// Returns the machine with caches that hold these numbers of lines.
fn holding(machine: Machine, first: usize, second: usize, last: usize, inclusive: bool) -> Machine {
    let kib = |lines: usize| lines as f64 * 64.0 / 1024.0;
    let machine = with(machine, "caches.first_kib", kib(first));
    let machine = with(machine, "caches.second_kib", kib(second));
    let machine = with(machine, "caches.shared_kib", kib(last));
    with(machine, "caches.shared_inclusive", f64::from(u8::from(inclusive)))
}

/// Words in separate lines, whose home is `home`.
fn words(simulation: &mut Simulation, lines: usize, home: usize) -> Vec<Placed<SimulatedU64>> {
    (0..lines).map(|_| simulation.place(SimulatedU64::new(0), 64, home)).collect()
}

/// Cost, without jitter, of a load of a line that is only at its home.
fn from_home(machine: &Machine) -> u64 {
    let n = |name: &str| number(machine, &format!("cycles.{name}"));
    n("miss") + 2 * n("leg") + n("memory") + n("last_level") + n("load")
}

#[test]
fn each_level_costs_what_the_machine_file_says() {
    let machine = machine(&[("jitter", 0)]);
    let n = |name: &str| number(&machine, name);
    let mut simulation = Simulation::new(&machine, 1);
    let first = n("cycles.load");
    let second = n("caches.second_load");
    let last = n("cycles.miss") + 2 * n("cycles.leg") + n("cycles.last_level") + first;
    // More lines than the first level holds, but fewer than the second level: each is somewhere in
    // the core.
    let lines = words(&mut simulation, 2048, 0);
    let all = lines.clone();
    on(&mut simulation, 0, move || all.iter().for_each(|word| touch(word)));
    let all = lines.clone();
    let costs = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let out = std::rc::Rc::clone(&costs);
    let again = turn(&simulation, 0, 1);
    on(&mut simulation, again, move || {
        out.borrow_mut().extend(all.iter().map(|word| timed(|| read(word))));
    });
    let costs = costs.take();
    assert!(costs.iter().all(|&cost| cost == first || cost == second), "{costs:?}");
    assert!(costs.contains(&first) && costs.contains(&second));
    // Another core of the socket finds the line in the last level, and the second time in its own
    // first level.
    let word = lines[0].clone();
    let cost = on(&mut simulation, 1, move || (timed(|| read(&word)), timed(|| read(&word))));
    assert_eq!(cost, (last, first));
}

#[test]
fn a_line_in_memory_costs_more_by_the_same_at_every_distance() {
    let machine = machine(&[("jitter", 0)]);
    let dram = number(&machine, "caches.dram");
    let travel = 2 * number(&machine, "cycles.socket_leg");
    for (place, way) in [(0, 0), (OTHER_SOCKET, travel)] {
        let mut simulation = Simulation::new(&machine, 1);
        let lines = words(&mut simulation, 3, 0);
        // Memory laid out before the run is in its home's cache.
        let word = lines[0].clone();
        assert_eq!(
            on(&mut simulation, place, move || timed(|| read(&word))),
            from_home(&machine) + way
        );
        simulation.empty_caches();
        for (time, word) in (1..).zip(lines.iter().take(2).cloned()) {
            let again = turn(&simulation, place, time);
            let cost = on(&mut simulation, again, move || timed(|| read(&word)));
            assert_eq!(cost, from_home(&machine) + way + dram, "from {place}");
        }
        assert_eq!(simulation.statistics().memory_reads, 2);
    }
}

#[test]
fn memory_that_a_running_thread_gets_is_in_no_cache() {
    let machine = machine(&[("jitter", 0)]);
    let mut simulation = Simulation::new(&machine, 1);
    let (first, again) = on(&mut simulation, 0, || {
        let memory = Simulated::allocate(Layout::new::<[u64; 8]>(), None).expect("there is room");
        // SAFETY: the memory is zero, which is a valid word, and it lives as long as the
        // simulation.
        let word = unsafe { memory.cast::<SimulatedU64>().as_ref() };
        (timed(|| read(word)), timed(|| read(word)))
    });
    assert_eq!(first, from_home(&machine) + number(&machine, "caches.dram"));
    assert_eq!(again, number(&machine, "cycles.load"));
}

#[test]
fn in_a_machine_of_one_complex_memory_is_beyond_the_last_level() {
    let machine = machine(&[("jitter", 0), ("sockets", 1)]);
    let n = |name: &str| number(&machine, name);
    let mut simulation = Simulation::new(&machine, 1);
    let lines = words(&mut simulation, 2, 0);
    let last = n("cycles.miss") + 2 * n("cycles.leg") + n("cycles.last_level") + n("cycles.load");
    let word = lines[0].clone();
    assert_eq!(on(&mut simulation, 0, move || timed(|| read(&word))), last);
    simulation.empty_caches();
    let (word, other) = (lines[0].clone(), lines[1].clone());
    let again = turn(&simulation, 0, 1);
    let cost = on(&mut simulation, again, move || (timed(|| read(&word)), timed(|| read(&other))));
    assert_eq!(cost, (last + n("caches.dram"), last + n("caches.dram")));
}

/// Runs a program with contention, sharing and queue nodes. Returns its hash.
fn hash_of(machine: &Machine, seed: u64) -> (u64, RunStatistics) {
    let mut simulation = Simulation::new(machine, seed);
    let lines = words(&mut simulation, 40, 0);
    let lock = simulation.place(lockyard::on::RawQSpinLock::<Simulated>::new(), 64, 1);
    for place in [0, 1, 2, OTHER_SOCKET, OTHER_SOCKET + 1, SIBLING_OF_0] {
        let (lines, lock) = (lines.clone(), lock.clone());
        simulation.spawn(place, move || {
            for _ in 0..200 {
                let held = lock.acquire();
                lines[random_below(40) as usize].fetch_add(1, Ordering::Relaxed);
                // SAFETY: acquired above.
                unsafe { lock.release(held) };
                read(&lines[random_below(40) as usize]);
            }
        });
    }
    finish(&mut simulation);
    (simulation.hash(), simulation.statistics())
}

#[test]
fn a_run_whose_lines_fit_is_the_run_of_a_machine_whose_caches_hold_everything() {
    for name in Machine::names() {
        let shipped = Machine::shipped(name).expect("it is shipped");
        if shipped.hardware_threads() <= SIBLING_OF_0 {
            continue;
        }
        let everything = ["caches.first_kib", "caches.second_kib", "caches.shared_kib"]
            .iter()
            .fold(shipped.clone(), |machine, size| with(machine, size, 0.0));
        for seed in 1..=3 {
            assert_eq!(hash_of(&shipped, seed), hash_of(&everything, seed), "{name}");
        }
        let (_, statistics) = hash_of(&shipped, 1);
        assert_eq!((statistics.evictions, statistics.memory_reads), (0, 0), "{name}");
        let few = holding(shipped, 4, 8, 16, true);
        assert_ne!(hash_of(&few, 1).0, hash_of(&everything, 1).0, "{name}: they do not fit");
    }
}

/// Cycles of one load of hardware thread `place` at random among `lines`. The caches are first
/// warmed with the same number of loads.
fn walk(simulation: &mut Simulation, lines: &[Placed<SimulatedU64>], place: usize) -> f64 {
    const LOADS: u64 = 20_000;
    let all = lines.to_vec();
    let cycles = on(simulation, place, move || {
        let step = || touch(&all[random_below(all.len() as u64) as usize]);
        (0..LOADS).for_each(|_| step());
        timed(|| (0..LOADS).for_each(|_| step()))
    });
    cycles as f64 / LOADS as f64
}

#[test]
fn a_random_walk_costs_the_mean_over_the_levels_that_have_its_lines() {
    let (first, second, last) = (64, 256, 2048);
    for inclusive in [false, true] {
        let machine = machine(&[("jitter", 0), ("sockets", 1)]);
        let machine = holding(machine, first, second, last, inclusive);
        let n = |name: &str| number(&machine, name) as f64;
        let beyond =
            n("cycles.miss") + 2.0 * n("cycles.leg") + n("cycles.last_level") + n("cycles.load");
        for lines in [32, 64, 128, 256, 512, 1024, 2048] {
            let mut simulation = Simulation::new(&machine, 1);
            let all = words(&mut simulation, lines, 0);
            let cost = walk(&mut simulation, &all, 0);
            let share = |room: usize| (room as f64 / lines as f64).min(1.0);
            let expected = share(first) * n("cycles.load")
                + (share(second) - share(first)) * n("caches.second_load")
                + (1.0 - share(second)) * beyond;
            let error = cost / expected - 1.0;
            println!("{lines} lines: {cost:.2} cycles, expected {expected:.2}");
            assert!(error.abs() < 0.02, "{lines} lines: {cost}, not {expected}");
        }
        // A set larger than all caches. Together the caches hold at most their sum. They hold at
        // least the last level if that is not inclusive.
        let mut simulation = Simulation::new(&machine, 1);
        let all = words(&mut simulation, 8192, 0);
        let cost = walk(&mut simulation, &all, 0);
        let expected = |held: f64| {
            let share = |room: f64| room / 8192.0;
            share(first as f64) * n("cycles.load")
                + share((second - first) as f64) * n("caches.second_load")
                + (1.0 - share(second as f64)) * beyond
                + (1.0 - share(held)) * n("caches.dram")
        };
        let held = last as f64 + if inclusive { 0.0 } else { second as f64 };
        let (least, most) = (expected(held), expected(last as f64));
        println!("8192 lines: {cost:.2} cycles, expected {least:.2} to {most:.2}");
        assert!(cost > 0.98 * least && cost < 1.02 * most, "{cost}: not {least} to {most}");
    }
}

#[test]
fn siblings_share_their_core_s_caches_and_other_cores_do_not() {
    let machine = holding(machine(&[("jitter", 0)]), 16, 64, 4096, false);
    let mut simulation = Simulation::new(&machine, 1);
    let lines = words(&mut simulation, 64, 0);
    let others = words(&mut simulation, 64, 0);
    // Loads all lines on a thread of the core that has not run yet. Returns the number of loads
    // that miss, and of evictions so far.
    let mut threads = [0; 2];
    let mut read_all = |core: usize, lines: &[Placed<SimulatedU64>]| {
        let (before, lines) = (simulation.statistics().load_misses, lines.to_vec());
        let place = turn(&simulation, core, threads[core]);
        threads[core] += 1;
        on(&mut simulation, place, move || lines.iter().for_each(|word| touch(word)));
        (simulation.statistics().load_misses - before, simulation.statistics().evictions)
    };
    assert_eq!(read_all(0, &lines).0, 64);
    assert_eq!(read_all(0, &lines).0, 0, "a sibling finds all of them");
    // A line that a sibling loads evicts its core's lines.
    assert_eq!(read_all(0, &others), (64, 64));
    let (missed, before) = read_all(0, &lines);
    assert!(missed > 16, "{missed}");
    // A line that another core loads does not evict them.
    assert_eq!(read_all(1, &others), (64, before));
}

#[test]
fn an_inclusive_last_level_takes_lines_from_its_cores_and_another_does_not() {
    for (inclusive, misses) in [(false, 0), (true, 1)] {
        let machine = holding(machine(&[("sockets", 1)]), 16, 64, 256, inclusive);
        let mut simulation = Simulation::new(&machine, 1);
        let mine = words(&mut simulation, 8, 0);
        let stream = words(&mut simulation, 10_000, 0);
        let all = mine.clone();
        on(&mut simulation, 0, move || all.iter().for_each(|word| touch(word)));
        on(&mut simulation, 1, move || stream.iter().for_each(|word| touch(word)));
        let before = simulation.statistics().load_misses;
        let again = turn(&simulation, 0, 1);
        on(&mut simulation, again, move || mine.iter().for_each(|word| touch(word)));
        let found = simulation.statistics().load_misses - before;
        assert_eq!(found.min(1), misses, "inclusive {inclusive}: {found} of 8 lines were gone");
    }
}

#[test]
fn what_was_modified_is_written_back_and_keeps_its_value() {
    for inclusive in [false, true] {
        let machine = holding(machine(&[]), 4, 8, 32, inclusive);
        let mut simulation = Simulation::new(&machine, 1);
        let lines = words(&mut simulation, 200, 0);
        let all = lines.clone();
        on(&mut simulation, 0, move || {
            for (number, word) in (0..).zip(&all) {
                word.store(number, Ordering::Relaxed);
            }
        });
        let statistics = simulation.statistics();
        assert!(statistics.write_backs >= 190, "{statistics:?}");
        assert!(statistics.memory_writes >= 150, "{statistics:?}");
        let all = lines.clone();
        let same = on(&mut simulation, OTHER_SOCKET, move || {
            (0..).zip(&all).all(|(number, word)| read(word) == number)
        });
        assert!(same);
        assert!(simulation.check_quiet().is_ok());
    }
}

#[test]
fn what_was_laid_out_is_in_its_homes_cache_as_far_as_that_holds_it() {
    const LINES: usize = 4000;
    for (room, expected) in [(LINES, 0), (LINES / 2, LINES / 2), (LINES / 10, LINES * 9 / 10)] {
        let machine = holding(machine(&[]), 64, 256, room, false);
        let mut simulation = Simulation::new(&machine, 7);
        let here = words(&mut simulation, LINES, 0);
        let there = words(&mut simulation, LINES, 1);
        for (place, lines) in [(0, here), (OTHER_SOCKET, there)] {
            let before = simulation.statistics().memory_reads;
            on(&mut simulation, place, move || lines.iter().for_each(|word| touch(word)));
            let found = simulation.statistics().memory_reads - before;
            // In addition to the lines that did not fit, count those that the walk itself evicted
            // before it reached them.
            let (least, most) = (expected as u64, (expected + LINES / 4) as u64);
            assert!((least..=most).contains(&found), "room {room}: {found} of {LINES} from memory");
            if expected == 0 {
                assert_eq!(found, 0);
            }
        }
    }
}

/// The shape of an experiment: a million objects of 80 bytes in chains, laid out before threads
/// run. All times are in the simulated machine's time.
#[test]
fn a_walk_along_a_chain_of_a_million_objects_is_memory_misses_on_every_machine() {
    const WALK: usize = 256;
    for name in Machine::names() {
        let machine = Machine::shipped(name).expect("it is shipped");
        let mut simulation = crate::support::chain::simulation(&machine);
        let word = crate::support::chain::lay_out(&mut simulation);
        let walk = move || timed(|| (0..WALK).fold(0, |object, _| read(word(object)) as usize));
        // The same thread walks twice, because machines differ in the number of threads per core.
        let (cycles, again) = on(&mut simulation, 0, move || (walk(), walk()));
        let each = |cycles: u64| cycles as f64 / WALK as f64;
        let (cycles, again) = (each(cycles), each(again));
        let reads = simulation.statistics().memory_reads;
        let cached = number_or_zero(&machine, "caches.shared_kib") * 1024.0
            / (crate::support::chain::OBJECTS * crate::support::chain::BYTES) as f64;
        let expected = WALK as f64 * (1.0 - cached);
        println!(
            "{name}: {reads} of {WALK} from memory, {:.0} ns each",
            machine.nanoseconds(1) * cycles
        );
        assert!((reads as f64 - expected).abs() < 32.0, "{name}: {reads}, not {expected}");
        assert!(
            cycles > number_or_zero(&machine, "caches.dram") * (1.0 - cached),
            "{name}: {cycles}"
        );
        // In the second walk, the lines are in the core.
        assert!(again < cycles / 5.0, "{name}: {again}, after {cycles}");
    }
}

fn number_or_zero(machine: &Machine, name: &str) -> f64 {
    let found = machine.parameter(name);
    found.and_then(|p| p.value.number()).unwrap_or_default()
}

#[test]
fn a_machine_file_without_caches_has_caches_that_hold_everything() {
    let text = include_str!("../../../../machines/cascade-lake-2s24c2t.toml");
    let begin = text.find("[caches]").expect("it has them");
    let end = begin + text[begin..].find("\n\n").expect("more follows");
    let without = format!("{}{}", &text[..begin], &text[end..]);
    let machine = Machine::parse("m.toml", &without).expect("the section may be left out");
    let mut simulation = Simulation::new(&machine, 1);
    let lines = words(&mut simulation, 60_000, 0);
    let all = lines.clone();
    on(&mut simulation, 0, move || all.iter().for_each(|word| touch(word)));
    let before = simulation.statistics();
    let again = turn(&simulation, 0, 1);
    on(&mut simulation, again, move || lines.iter().for_each(|word| touch(word)));
    let after = simulation.statistics();
    assert_eq!((after.evictions, after.memory_reads), (0, 0));
    assert_eq!(after.load_misses, before.load_misses);
    assert!(matches!(simulation.run(), RunEnd::Finished));
}
