//! Caches of a simulated machine: the cost of a load at each level, and a table of these costs.
//!
//! Each figure is simulated in the way in which the tools behind published figures measure. Loads
//! depend on each other, so one begins when the previous one has ended. They go to random places,
//! so a prefetcher would not help (the simulated machine has none).

use crate::interruptible;
use lockyard::platform::{Ordering, Word};
use lockyard_sim::machine::walked_kib;
use lockyard_sim::{Machine, Placed, RunEnd, SimulatedU64, Simulation, now, random_below};
use std::cell::Cell;
use std::rc::Rc;

/// Number of lines over which the cost of a load is averaged.
const LINES: usize = 400;

/// Number of loads of a walk per line. A walk has at least [`LEAST_LOADS`] loads in total.
const ROUNDS: usize = 3;
const LEAST_LOADS: usize = 20_000;

/// Largest working set of a walk, in KiB. Published curves go further, but their simulation would
/// take a gigabyte.
pub(crate) const LARGEST_WALK: usize = 32 * 1024;

type Words = Vec<Placed<SimulatedU64>>;

/// Places words in separate lines, whose home is socket `home`.
fn words(simulation: &mut Simulation, lines: usize, home: usize) -> Words {
    let bytes = simulation.machine().line_bytes();
    (0..lines).map(|_| simulation.place(SimulatedU64::new(0), bytes, home)).collect()
}

/// Runs `code` on hardware thread `place`, after all threads that ran before. Returns the cycles
/// that `code` returns. After an interrupt the result is meaningless, and the caller has to check
/// for that.
fn on(simulation: &mut Simulation, place: usize, code: impl FnOnce() -> u64 + 'static) -> u64 {
    let cycles = Rc::new(Cell::new(0));
    let out = Rc::clone(&cycles);
    let start = simulation.now() + 1000;
    simulation.spawn_at(place, start, move || out.set(code()));
    let outcome = simulation.run();
    assert!(matches!(outcome, RunEnd::Finished | RunEnd::Cancelled), "{outcome}");
    cycles.get()
}

/// Loads all words, one after another. Returns the cycles of all loads together.
fn load_all(words: &Words) -> u64 {
    let begin = now();
    for word in words {
        word.load(Ordering::Relaxed);
    }
    now() - begin
}

fn mean(machine: &Machine, cycles: u64) -> f64 {
    machine.nanoseconds(cycles) / LINES as f64
}

/// Nanoseconds of a load that hits in the first level.
pub(crate) fn first_level(machine: &Machine) -> f64 {
    let mut simulation = interruptible(Simulation::new(machine, 1));
    let word = words(&mut simulation, 1, 0);
    let cycles = on(&mut simulation, 0, move || {
        load_all(&word);
        (0..LINES).map(|_| load_all(&word)).sum()
    });
    mean(machine, cycles)
}

/// Nanoseconds of a load that hits in the second level. The simulated first level is reduced to one
/// line. `None` if the file does not state the second level's size.
pub(crate) fn second_level(machine: &Machine) -> Option<f64> {
    let kib = |name: &str| machine.number(name).filter(|&kib| kib > 0.0);
    let line = machine.line_bytes() as f64 / 1024.0;
    kib("caches.second_kib").filter(|&kib| kib > 2.0 * LINES as f64 * line)?;
    let small = machine.clone().with("caches.first_kib", line)?;
    let mut simulation = interruptible(Simulation::new(&small, 1));
    let words = words(&mut simulation, LINES, 0);
    let cycles = on(&mut simulation, 0, move || {
        load_all(&words);
        load_all(&words)
    });
    Some(mean(machine, cycles))
}

/// Nanoseconds of a load of a line that the complex's last level has. One other core of the complex
/// has the line too, unmodified.
pub(crate) fn last_level(machine: &Machine) -> Option<f64> {
    if machine.cores_per_complex() < 2 {
        return None;
    }
    let mut simulation = interruptible(Simulation::new(machine, 1));
    let words = words(&mut simulation, LINES, 0);
    let all = words.clone();
    on(&mut simulation, 1, move || load_all(&all));
    let cycles = on(&mut simulation, 0, move || load_all(&words));
    Some(mean(machine, cycles))
}

/// Nanoseconds of a load, by hardware thread 0, of a line that no cache has. The line's home is
/// socket `home`. `None` if the file has nothing about memory, or if the machine has no such
/// socket.
pub(crate) fn memory(machine: &Machine, home: usize) -> Option<f64> {
    machine.number("caches.dram")?;
    if home >= machine.sockets() {
        return None;
    }
    let mut simulation = interruptible(Simulation::new(machine, 1));
    let words = words(&mut simulation, LINES, home);
    simulation.empty_caches();
    let cycles = on(&mut simulation, 0, move || load_all(&words));
    Some(mean(machine, cycles))
}

/// Nanoseconds of one load of a random walk over `kib` KiB. The thread has walked there before.
pub(crate) fn walk(machine: &Machine, kib: usize) -> Option<f64> {
    machine.number("caches.dram")?;
    let lines = kib * 1024 / machine.line_bytes();
    if !(1..=LARGEST_WALK).contains(&kib) {
        return None;
    }
    let bytes = kib * 1024 + 4096;
    let mut simulation = interruptible(Simulation::with_memory(machine, 1, bytes));
    let words = words(&mut simulation, lines, 0);
    let loads = (ROUNDS * lines).max(LEAST_LOADS);
    let cycles = on(&mut simulation, 0, move || {
        let round = || {
            let begin = now();
            for _ in 0..loads {
                words[random_below(lines as u64) as usize].load(Ordering::Relaxed);
            }
            now() - begin
        };
        round();
        round()
    });
    Some(machine.nanoseconds(cycles) / loads as f64)
}

/// Returns the figure with this name, under which a machine's `[checks]` may state it.
pub(crate) fn figure(machine: &Machine, name: &str) -> Option<f64> {
    match name {
        "load_first_level" => Some(first_level(machine)),
        "load_second_level" => second_level(machine),
        "load_last_level" => last_level(machine),
        "load_memory_local" => memory(machine, 0),
        "load_memory_remote" => memory(machine, 1),
        _ => walk(machine, walked_kib(name)?),
    }
}

/// Returns a size as text.
fn size(kib: f64) -> String {
    if kib == 0.0 {
        "holds everything".to_owned()
    } else if kib >= 1024.0 {
        format!("{} MiB", kib / 1024.0)
    } else {
        format!("{kib} KiB")
    }
}

/// Describes the caches in a few lines, with the simulated cost of loads. Ends with a line feed.
pub fn text(machine: &Machine) -> String {
    let kib = |name: &str| machine.number(name);
    let (Some(first), Some(second), Some(last)) =
        (kib("caches.first_kib"), kib("caches.second_kib"), kib("caches.shared_kib"))
    else {
        return "Caches: not in the file; they hold everything.\n".to_owned();
    };
    let threads = match machine.threads_per_core() {
        1 => String::new(),
        threads => format!(" (its {threads} threads share it)"),
    };
    let inclusive = kib("caches.shared_inclusive") == Some(1.0);
    let holds =
        if inclusive { "with all lines of its cores" } else { "lines that its cores evict" };
    let cost = |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| format!("{ns:.1} ns"));
    let rows = [
        (
            "first level",
            format!("{} a core{threads}", size(first)),
            cost(Some(first_level(machine))),
        ),
        ("second level", format!("{} a core{threads}", size(second)), cost(second_level(machine))),
        (
            "last level",
            format!("{} a complex of {} cores, {holds}", size(last), machine.cores_per_complex()),
            cost(last_level(machine)),
        ),
        ("memory", "of the own socket".to_owned(), cost(memory(machine, 0))),
        ("", "of another socket".to_owned(), cost(memory(machine, 1))),
    ];
    let mut text = "Caches, and the simulated cost of a load that hits there:\n".to_owned();
    for (level, what, cost) in rows.iter().filter(|row| row.2 != "-" || !row.0.is_empty()) {
        text.push_str(&format!("  {level:<13} {what:<58} {cost:>9}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str) -> Machine {
        Machine::shipped(name).expect("it is shipped")
    }

    #[test]
    fn a_farther_level_costs_more_on_every_machine() {
        for name in Machine::names() {
            let machine = machine(name);
            let levels: Vec<f64> = [
                Some(first_level(&machine)),
                second_level(&machine),
                last_level(&machine),
                memory(&machine, 0),
                memory(&machine, 1),
            ]
            .into_iter()
            .flatten()
            .collect();
            assert!(levels.len() >= 4, "{name}");
            assert!(levels.is_sorted_by(|a, b| a < b), "{name}: {levels:?}");
        }
    }

    /// Compares with the published curve of a Westmere-EP, in cycles, up to sizes that fit in the
    /// last levels of both machines.
    #[test]
    fn the_walk_s_curve_has_the_steps_of_the_published_one() {
        const CURVE: &str = include_str!("../../../../training/cache_latencies.csv");
        let machine = machine("westmere-ex-4s10c");
        let mut reader =
            csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(CURVE.as_bytes());
        let mut compared = 0;
        let mut before = 0.0;
        for row in reader.records() {
            let row = row.expect("the table is CSV");
            let (kind, what, unit) = (&row[1], &row[2], &row[4]);
            if kind != "walk" || unit != "cycles" {
                continue;
            }
            let published: f64 = row[3].parse().expect("a number");
            let kib: usize = what.parse().expect("a size");
            let nanoseconds = walk(&machine, kib).expect("it is small enough");
            let cycles = nanoseconds / machine.nanoseconds(1);
            println!("{kib:6} KiB: {cycles:6.1} cycles, published {published}");
            assert!(cycles >= before - 0.5, "{kib} KiB: a larger set costs less");
            before = cycles;
            // The tolerance is one cycle in the core's own caches. Beyond these, it is the last
            // level's error.
            let near = if kib <= 256 {
                (cycles - published).abs() < 1.0
            } else {
                cycles / published < 1.4
            };
            assert!(
                near && cycles / published > 0.85,
                "{kib} KiB: {cycles}, published {published}"
            );
            compared += 1;
        }
        assert_eq!(compared, 9);
    }

    #[test]
    fn figures_have_names_that_files_may_use() {
        let machine = machine("cascade-lake-2s24c2t");
        let of = |name: &str| figure(&machine, name);
        assert!((of("load_first_level").expect("it is known") - 5.0 / 3.0).abs() < 0.01);
        assert!((of("load_second_level").expect("it is known") - 14.0 / 3.0).abs() < 0.01);
        assert_eq!(of("walk_0_kib"), None);
        assert_eq!(of("walk_99999999_kib"), None);
        assert_eq!(of("walk_kib"), None);
        assert_eq!(of("ping_pong_remote"), None, "another module's");
    }

    #[test]
    fn the_caches_are_shown_with_their_costs() {
        let shown = text(&machine("zen4-7840u"));
        assert!(
            shown.contains("16 MiB a complex of 8 cores, lines that its cores evict"),
            "{shown}"
        );
        assert!(shown.contains("1 MiB a core (its 2 threads share it)"), "{shown}");
        assert!(!shown.contains("another socket"), "{shown}");
        let shown = text(&machine("westmere-ex-4s10c"));
        assert!(
            shown.contains("30 MiB a complex of 10 cores, with all lines of its cores"),
            "{shown}"
        );
        assert!(shown.contains("of another socket"), "{shown}");
    }
}
