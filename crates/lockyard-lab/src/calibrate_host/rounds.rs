//! All measurements, in rounds. Each round visits each item once, in a newly shuffled order, so a
//! slow minute of the host affects all items. Rounds continue until time is up.

use super::measurements::{figure, sampled, today};
use super::on_cpu::OnCpu;
use super::pair::{self, Visit};
use super::{
    Alone, CalibratedProcessor, Contended, Given, Layout, LineDistance, Measurements, Pair,
    PairFigure, alone, contended,
};
use crate::calibrate_host::trials;
use lockyard_measure::kernel;
use lockyard_measure::order::Orders;
use lockyard_measure::scenario::stage::OnHost;
use lockyard_results::statistics;
use lockyard_scenarios::{Stage, Variant};
use lockyard_support::jobs;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Minimum duration. A shorter measurement yields no figure at all.
pub const LEAST_SECONDS: f64 = 1.0;

/// Maximum duration. A longer measurement does not improve the figures.
pub const MOST_SECONDS: f64 = 3600.0;

/// Number of rounds for which the time is planned.
const WANTED_ROUNDS: f64 = 9.0;

/// Minimum number of rounds, even if they take longer than planned.
const LEAST_ROUNDS: usize = 3;

/// Approximate duration of a visit to a pair, in seconds.
const PAIR_SECONDS: f64 = 0.002;

/// Approximate duration of a visit to one CPU, in seconds.
const ALONE_SECONDS: f64 = 0.001;

/// Number of pairs per distance for which more than the hand-over is measured.
const CLOSER_LOOKS: usize = 3;

/// Local work of a try next to a busy sibling, in nanoseconds.
const BESIDE_WORK: f64 = 50_000.0;

/// Local work per operation in the experiment on siblings, in nanoseconds: about that of the
/// published table.
const SIBLINGS_WORK: f64 = 300.0;

/// An item to measure.
#[derive(Clone, Debug)]
enum Thing {
    Alone(Alone),
    Pair(Pair, (usize, usize)),
    Contended(usize, Vec<usize>),
    BesideSibling(usize, usize),
    Siblings(Vec<usize>),
}

/// An item with its samples.
struct Planned {
    thing: Thing,
    samples: Vec<f64>,
}

/// All items to measure.
struct Plan {
    things: Vec<Planned>,
    variants: Vec<Variant>,
    siblings: Variant,
    notes: Vec<String>,
}

/// Measures this host for about `seconds`. Reports the seconds that have passed to `progress`. An
/// interrupt ends the measurement after the current visit, and the samples so far are kept.
///
/// # Errors
///
/// If threads cannot be pinned, a run of a scenario fails, or the host is too busy to measure
/// anything.
pub fn measure(seconds: f64, progress: &mut dyn FnMut(f64)) -> Result<Measurements, String> {
    measure_variants(contended::variants(), seconds, progress)
}

/// Measures this host like [`measure`], but with other contended scenarios.
///
/// # Errors
///
/// The same as for [`measure`].
pub fn measure_variants(
    variants: Vec<Variant>,
    seconds: f64,
    progress: &mut dyn FnMut(f64),
) -> Result<Measurements, String> {
    let layout = Layout::of_process();
    let mut plan = plan(&layout, variants, seconds);
    let cpus = layout.cpus();
    let begin = Instant::now();
    let kernel = kernel::measure();
    let mut orders = Orders::new(plan.things.len());
    let (mut rounds, mut tried) = (0, (0u64, 0u64));
    'rounds: while rounds < LEAST_ROUNDS || begin.elapsed().as_secs_f64() < seconds {
        for &index in orders.next_round() {
            let passed = begin.elapsed().as_secs_f64();
            progress(passed.min(seconds));
            let over = passed > 2.0 * seconds + 10.0;
            if over && rounds < LEAST_ROUNDS {
                return Err(format!(
                    "after {passed:.0} s not even {LEAST_ROUNDS} rounds are done: \
                     the CPUs are too busy, or were taken away"
                ));
            }
            if over || jobs::interrupted() {
                break 'rounds;
            }
            let planned = &mut plan.things[index];
            let one = |figure| Visit { figure: Some(figure), ..Visit::default() };
            let visit = match &planned.thing {
                Thing::Alone(what) => alone::sample(*what, cpus[0]).map(one),
                Thing::Pair(what, (a, b)) => pair::visit(*what, cpus[*a], cpus[*b], rounds),
                Thing::Contended(variant, tasks) => {
                    trials::visit(&plan.variants[*variant], &on(&cpus, tasks), 0.0, rounds)
                }
                Thing::BesideSibling(a, b) => beside_sibling(cpus[*a], cpus[*b]).map(one),
                Thing::Siblings(tasks) => {
                    trials::visit(&plan.siblings, &on(&cpus, tasks), SIBLINGS_WORK, rounds)
                }
            };
            let visit = match visit {
                Err(_) if jobs::interrupted() => break 'rounds,
                visit => visit?,
            };
            tried = (tried.0 + visit.counted, tried.1 + visit.lost);
            let figure = visit.figure.filter(|figure| figure.is_finite() && *figure > 0.0);
            planned.samples.extend(figure);
        }
        rounds += 1;
    }
    let lost = tried.1 as f64 / ((tried.0 + tried.1) as f64).max(1.0);
    let course = Course { seconds: begin.elapsed().as_secs_f64(), rounds, lost };
    let mut found = Measurements { kernel, ..summarise(plan, layout, course) };
    found.notes.extend(kernel::siblings_note());
    Ok(found)
}

fn on(cpus: &[usize], tasks: &[usize]) -> Vec<usize> {
    tasks.iter().map(|&task| cpus[task]).collect()
}

/// Plans the measurements of these CPUs to fit into the time.
fn plan(layout: &Layout, variants: Vec<Variant>, seconds: f64) -> Plan {
    let mut things: Vec<Thing> = Alone::ALL.map(Thing::Alone).to_vec();
    let mut expected = things.len() as f64 * ALONE_SECONDS;
    let pairs = layout.pairs();
    for (distance, all) in &pairs {
        for closer in spread_out(all, CLOSER_LOOKS) {
            let mut what = vec![Pair::Add, Pair::CompareExchange, Pair::LoadHomedReader];
            if *distance == LineDistance::Remote {
                what.push(Pair::LoadHomedWriter);
            }
            expected += what.len() as f64 * PAIR_SECONDS;
            things.extend(what.into_iter().map(|what| Thing::Pair(what, closer)));
        }
    }
    for tasks in numbers_of_tasks(layout.cpus().len()) {
        for variant in 0..variants.len() {
            things.push(Thing::Contended(variant, (0..tasks).collect()));
            expected += trials::VISIT_SECONDS + tasks as f64 * 1e-4;
        }
    }
    let siblings = layout.siblings();
    if let Some(&(a, b)) = siblings.first() {
        things.push(Thing::BesideSibling(a, b));
        expected += ALONE_SECONDS;
    }
    let mut notes = layout.notes.clone();
    match experiment(layout, &siblings) {
        Ok(cells) => {
            expected += cells.len() as f64 * trials::VISIT_SECONDS;
            things.extend(cells.into_iter().map(Thing::Siblings));
        }
        Err(why) => notes.push(format!("how siblings share a line cannot be measured here: {why}")),
    }
    // The rest of a round goes to hand-overs, in equal parts for all distances.
    let left = (seconds / WANTED_ROUNDS - expected).max(0.0) / PAIR_SECONDS;
    let each = (left / pairs.len().max(1) as f64) as usize;
    let chosen: BTreeMap<LineDistance, Vec<(usize, usize)>> = pairs
        .iter()
        .map(|(distance, all)| (*distance, spread_out(all, each.max(CLOSER_LOOKS))))
        .collect();
    notes.extend(sampled(&pairs, &chosen));
    let hand_overs = chosen.into_values().flatten();
    things.extend(hand_overs.map(|tasks| Thing::Pair(Pair::HandOver, tasks)));
    let things = things.into_iter().map(|thing| Planned { thing, samples: Vec::new() }).collect();
    Plan { things, variants, siblings: contended::siblings_variant(), notes }
}

/// Returns at most `most` items of `all`, evenly spread.
fn spread_out(all: &[(usize, usize)], most: usize) -> Vec<(usize, usize)> {
    let count = all.len().min(most);
    (0..count).map(|index| all[index * all.len() / count]).collect()
}

/// Returns 1, 2, 4, ... and `all`.
fn numbers_of_tasks(all: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1usize), |tasks| Some(tasks * 2));
    let mut numbers: Vec<usize> = powers.take_while(|tasks| *tasks < all).collect();
    numbers.push(all);
    numbers
}

/// Returns the cells of the experiment on siblings: one task, three cores with their siblings, and
/// six cores if the host has that many.
fn experiment(layout: &Layout, siblings: &[(usize, usize)]) -> Result<Vec<Vec<usize>>, String> {
    if layout.threads < 2 {
        return Err("no core has two threads that the process may use".to_owned());
    }
    if siblings.len() < 3 {
        return Err(format!(
            "it takes three cores with two threads each, and there are {}",
            siblings.len()
        ));
    }
    let first: Vec<usize> = siblings[..3].iter().map(|(a, _)| *a).collect();
    let second = siblings[..3].iter().map(|(_, b)| *b);
    let mut cells = vec![vec![first[0]], first.iter().copied().chain(second).collect()];
    if siblings.len() >= 6 {
        cells.push(siblings[..6].iter().map(|(a, _)| *a).collect());
    }
    Ok(cells)
}

/// Returns the factor by which the lab's local work on `a` slows down while `b` works too.
fn beside_sibling(a: usize, b: usize) -> Result<f64, String> {
    let tries = || {
        let one = |_| {
            let begin = Instant::now();
            OnHost::work(BESIDE_WORK);
            begin.elapsed().as_nanos() as f64
        };
        statistics::median(&(0..9).map(one).collect::<Vec<f64>>()).unwrap_or(f64::NAN)
    };
    // Calibrates the work loop, once per process, before anything else is measured.
    OnHost::work(1.0);
    let alone = OnCpu::start(a, tries)?.finish()?;
    let over = Arc::new(AtomicBool::new(false));
    let other = {
        let over = Arc::clone(&over);
        OnCpu::start(b, move || {
            while !over.load(Ordering::Relaxed) {
                OnHost::work(BESIDE_WORK);
            }
        })?
    };
    let beside = OnCpu::start(a, tries).and_then(OnCpu::finish);
    over.store(true, Ordering::Relaxed);
    other.finish()?;
    Ok(beside? / alone)
}

/// Duration and losses of a calibration.
#[derive(Clone, Copy, Debug)]
struct Course {
    seconds: f64,
    rounds: usize,
    /// Share of the tries that were discarded.
    lost: f64,
}

fn summarise(plan: Plan, layout: Layout, course: Course) -> Measurements {
    let Course { seconds, rounds, lost } = course;
    let mut found = Measurements {
        given: Given::default(),
        processor: CalibratedProcessor::of_host(),
        layout,
        date: today(),
        seconds,
        rounds,
        alone: Vec::new(),
        pairs: Vec::new(),
        contended: Vec::new(),
        beside_sibling: None,
        siblings: Vec::new(),
        kernel: kernel::Costs::new(),
        lost,
        notes: plan.notes,
    };
    for Planned { thing, samples } in plan.things {
        let Some(figure) = figure(&samples) else { continue };
        match thing {
            Thing::Alone(what) => found.alone.push((what, figure)),
            Thing::Pair(what, tasks) => {
                found.pairs.push(PairFigure { what, tasks, figure, series: samples });
            }
            Thing::Contended(variant, tasks) => {
                let variant = plan.variants[variant].name.clone();
                found.contended.push(Contended { variant, tasks, figure });
            }
            Thing::BesideSibling(..) => found.beside_sibling = Some(figure),
            Thing::Siblings(tasks) => {
                let variant = plan.siblings.name.clone();
                found.siblings.push(Contended { variant, tasks, figure });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::CpuAt;
    use super::*;

    fn host(packages: usize, cores: usize, threads: usize) -> Layout {
        let all = packages * cores;
        let of = |cpu: usize| {
            let core = cpu % all;
            CpuAt { cpu, package: core / cores, complex: core / cores, core }
        };
        Layout::new(&(0..all * threads).map(of).collect::<Vec<_>>())
    }

    fn hand_overs(plan: &Plan) -> usize {
        let is = |planned: &&Planned| matches!(planned.thing, Thing::Pair(Pair::HandOver, _));
        plan.things.iter().filter(is).count()
    }

    #[test]
    fn every_pair_is_measured_if_there_is_time_and_a_sample_of_each_distance_if_not() {
        let small = plan(&host(1, 4, 2), contended::variants(), 60.0);
        assert_eq!(hand_overs(&small), 28);
        assert!(!small.notes.iter().any(|note| note.contains("sample")), "{:?}", small.notes);
        let layout = host(2, 64, 2);
        let large = plan(&layout, contended::variants(), 60.0);
        let count = hand_overs(&large);
        assert!((9..4000).contains(&count), "{count} of {}", 256 * 255 / 2);
        for distance in [LineDistance::Core, LineDistance::Complex, LineDistance::Remote] {
            let of = |planned: &&Planned| {
                matches!(planned.thing, Thing::Pair(Pair::HandOver, (a, b))
                    if layout.distance(a, b) == distance)
            };
            assert!(large.things.iter().filter(of).count() >= CLOSER_LOOKS, "{distance:?}");
        }
        assert!(large.notes.iter().any(|note| note.contains("a sample")), "{:?}", large.notes);
    }

    #[test]
    fn tasks_are_doubled_up_to_all_cpus() {
        assert_eq!(numbers_of_tasks(1), [1]);
        assert_eq!(numbers_of_tasks(2), [1, 2]);
        assert_eq!(numbers_of_tasks(6), [1, 2, 4, 6]);
    }

    #[test]
    fn the_experiment_on_siblings_is_made_where_three_cores_have_two_threads() {
        let of = |layout: &Layout| experiment(layout, &layout.siblings());
        assert!(of(&host(1, 8, 1)).unwrap_err().contains("no core has two threads"));
        assert!(of(&host(1, 2, 2)).unwrap_err().contains("there are 2"));
        assert_eq!(of(&host(1, 4, 2)).unwrap(), [vec![0], vec![0, 1, 2, 4, 5, 6]]);
        assert_eq!(of(&host(1, 6, 2)).unwrap()[2], [0, 1, 2, 3, 4, 5]);
        let alone = plan(&host(1, 1, 1), contended::variants(), 1.0);
        assert!(alone.notes[0].contains("how siblings share a line cannot be measured here"));
    }
}
