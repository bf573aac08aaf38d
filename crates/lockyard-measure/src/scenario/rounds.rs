//! Measurement of cells on this host: a warm-up and a window of bounded time, repeated, with the
//! cells interleaved.
//!
//! The cells of a request combine each variant with each thread count. In each round, every cell is
//! measured once, in an order that is shuffled for each round. A figure is the median over the
//! rounds, with the interval of [`lockyard_results::statistics::median_interval`].
//!
//! Observations that take time (waits, hand-overs, hardware counters) have separate passes after
//! the rounds. Each pass is one window long, and its throughput is not reported. The attribution of
//! CPU time also has a separate pass.

use super::handover::{Handovers, Holders};
use super::presence::{Presence, Round};
use super::probe::{Counting, Nothing, Phases, Previous, WaitTimes};
use super::run::{self, Times};
use super::stage::{clock_ns, rounds_per_ns};
use super::watch::HostCell;
use crate::attribution::{self, Attribution};
use crate::counters::{self, Counted, Source, System};
use crate::cpus::placement::Placement;
use crate::order::Orders;
use hdrhistogram::Histogram;
use lockyard_results::fairness::{self, Fairness, Waits};
use lockyard_results::histogram::{self, Bucket};
use lockyard_results::outcome::SampleFigures;
use lockyard_results::phase::Phase;
use lockyard_results::row::Measured;
use lockyard_results::statistics::{self, Oddity};
use lockyard_scenarios::{Samples, Variant};
use lockyard_support::jobs;
use std::sync::Arc;
use std::time::Duration;

/// Length and number of rounds per cell.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Time before counting begins in each round.
    pub warm_up: Duration,
    /// Time during which operations are counted in each round.
    pub window: Duration,
    /// Number of rounds.
    pub repeats: usize,
    /// True to time waits, record hand-overs and read the hardware counters, each in a separate
    /// pass.
    pub waits: bool,
    /// True to attribute CPU time to phases, in a pass as long as all windows together.
    pub attribution: bool,
    /// Abort a run where no thread finishes an operation for this long.
    pub stalled_after: Duration,
}

impl Effort {
    /// Default: nine rounds of a tenth of a second.
    pub const USUAL: Effort = Effort {
        warm_up: Duration::from_millis(20),
        window: Duration::from_millis(100),
        repeats: 9,
        waits: false,
        attribution: false,
        stalled_after: Duration::from_secs(10),
    };

    /// Returns the settings that must be equal before two results can be compared.
    pub fn describe(&self) -> Vec<(String, String)> {
        let entry = |name: &str, value: String| (name.to_owned(), value);
        vec![
            entry("seconds", self.window.as_secs_f64().to_string()),
            entry("warm_up_seconds", self.warm_up.as_secs_f64().to_string()),
            entry("repeats", self.repeats.to_string()),
        ]
    }
}

/// A cell to measure.
#[derive(Clone, Debug)]
pub struct Task {
    /// Variant to measure.
    pub variant: Variant,
    /// Number of threads.
    pub threads: usize,
    /// Local work of an operation, in nanoseconds.
    pub local_work: f64,
    /// Placement of the threads.
    pub placement: Placement,
}

/// Figures of a cell.
#[derive(Clone, Debug)]
pub struct Result {
    /// Operations per second, all threads together.
    pub measured: Measured,
    /// Probability that the interval covers the median.
    pub coverage: f64,
    /// Operations per second in each round.
    pub rounds: Vec<f64>,
    /// Operations of each thread, summed over all rounds.
    pub operations: Vec<u64>,
    /// Fairness among the threads, computed from these operations.
    pub fairness: Fairness,
    /// True if all threads that should be pinned were pinned.
    pub pinned: bool,
    /// CPU time per operation, all threads together, in nanoseconds: median over the rounds. `None`
    /// if the system does not count it.
    pub cpu_ns: Option<f64>,
    /// Sleeps of threads (voluntary context switches) per operation: median over the rounds. `None`
    /// if the system does not count them.
    pub sleeps: Option<f64>,
    /// Failed compare-exchanges of the script's steps per operation: mean over the rounds. `None`
    /// if it has no such steps.
    pub failed_exchanges: Option<f64>,
    /// CPU time by phase, if requested.
    pub attribution: Option<Attribution>,
    /// 95 % bootstrap interval of the median.
    pub bootstrap: (f64, f64),
    /// Oddities of the rounds.
    pub oddities: Vec<Oddity>,
    /// Presence of the threads, if the system reports it.
    pub presence: Option<Presence>,
    /// Waits, if they were timed.
    pub waits: Option<Waits>,
    /// Histogram of the waits, in ascending order.
    pub histogram: Vec<Bucket>,
    /// Hand-overs of locks by distance. Set if they were recorded and an operation takes a lock.
    pub handovers: Option<Handovers>,
    /// Throughput while hand-overs were recorded, divided by the throughput of the rounds.
    pub recording: Option<f64>,
    /// Hardware counter values, if there are counters.
    pub counted: Option<Counted>,
}

/// Result of a measurement request.
#[derive(Clone, Debug)]
pub struct Results {
    /// One entry per task; `None` if no round was finished.
    pub results: Vec<Option<Result>>,
    /// Reason why the remaining tasks were not measured: a lock that stalled or failed to exclude.
    pub failure: Option<String>,
    /// Time that reading the clock adds to each timed wait, in nanoseconds. Set if waits were
    /// timed.
    pub clock_ns: Option<f64>,
    /// Reason why the hardware counters were not read, if they were requested.
    pub no_counters: Option<String>,
}

impl Result {
    /// Returns the ratio of throughputs, this result divided by `other`, for each round that both
    /// finished.
    pub fn ratios(&self, other: &Result) -> Vec<f64> {
        self.rounds.iter().zip(&other.rounds).map(|(a, b)| a / b).collect()
    }

    /// Returns the ratio of throughputs, this result divided by `other`: the median over the rounds
    /// that both finished, with its interval. A slow moment of the host affects both in the same
    /// round.
    pub fn relative_to(&self, other: &Result) -> Option<(f64, statistics::Interval)> {
        let ratios = self.ratios(other);
        Some((statistics::median(&ratios)?, statistics::median_interval(&ratios)?))
    }
}

/// One round of one cell.
#[derive(Debug)]
pub struct Sample {
    /// Operations per second.
    pub throughput: f64,
    /// Operations of each thread.
    pub operations: Vec<u64>,
    /// Presence of the threads in the round; `None` if it was not watched.
    pub presence: Option<Round>,
    /// True if every thread was pinned to its CPU.
    pub pinned: bool,
    /// CPU time per operation, in nanoseconds.
    pub cpu_ns: Option<f64>,
    /// Sleeps per operation.
    pub sleeps: Option<f64>,
    /// Failed compare-exchanges per operation.
    pub failed_exchanges: Option<f64>,
}

/// Observations of one cell in the passes after the rounds.
#[derive(Debug, Default)]
pub struct Looked {
    waits: Option<Histogram<u64>>,
    handovers: Option<(Handovers, f64)>,
    counted: Option<Counted>,
}

/// Returns the number of passes per cell, including those after the rounds.
pub fn passes(effort: Effort) -> usize {
    const AFTER: usize = 3;
    effort.repeats + if effort.waits { AFTER } else { 0 } + usize::from(effort.attribution)
}

/// Measures `tasks`, and calls `done` after each pass of each task. An interrupt ends the
/// measurement after the current round, and so does a failure. After a failure, threads may still
/// be running, so this process cannot measure anything else.
pub fn run(tasks: &[Task], effort: Effort, done: &mut dyn FnMut()) -> Results {
    run_with(tasks, effort, &(Arc::new(System::default()) as Arc<dyn Source>), done)
}

/// Does the same as [`run()`], but with a given source of counters.
pub fn run_with(
    tasks: &[Task],
    effort: Effort,
    source: &Arc<dyn Source>,
    done: &mut dyn FnMut(),
) -> Results {
    rounds_per_ns();
    let times = Times {
        warm_up: effort.warm_up,
        window: effort.window,
        stalled_after: effort.stalled_after,
    };
    let mut samples: Vec<Vec<Sample>> = tasks.iter().map(|_| Vec::new()).collect();
    let mut looked: Vec<Looked> = tasks.iter().map(|_| Looked::default()).collect();
    let mut failure = rounds(tasks, effort.repeats, times, &mut samples, done).err();
    let clock_ns = effort.waits.then(clock_ns);
    let counters = if effort.waits { Some(counters::available(&**source)) } else { None };
    if effort.waits && failure.is_none() {
        let source = matches!(counters, Some(Ok(()))).then_some(source);
        for (task, looked) in tasks.iter().zip(&mut looked) {
            if jobs::interrupted() {
                break;
            }
            if let Err(message) = look(task, times, source, looked, done) {
                failure = Some(message);
                break;
            }
        }
    }
    let results = samples.iter().zip(looked).map(|(samples, looked)| summarise(samples, looked));
    let mut results: Vec<Option<Result>> = results.collect();
    if effort.attribution && failure.is_none() {
        failure = attribute(tasks, &mut results, effort, done).err();
    }
    if jobs::interrupted() {
        // If there was an interrupt, it is the cause of the failure.
        failure = None;
    }
    let no_counters = counters.and_then(|available| available.err());
    Results { results, failure, clock_ns, no_counters }
}

/// Runs the rounds of all cells.
fn rounds(
    tasks: &[Task],
    repeats: usize,
    times: Times,
    samples: &mut [Vec<Sample>],
    done: &mut dyn FnMut(),
) -> std::result::Result<(), String> {
    let mut orders = Orders::new(tasks.len());
    for _ in 0..repeats {
        for &index in orders.next_round() {
            if jobs::interrupted() {
                return Ok(());
            }
            let run = run::run(cell(&tasks[index]), times, Nothing)?;
            // The interrupt cut the window short.
            if jobs::interrupted() {
                return Ok(());
            }
            samples[index].push(Sample {
                throughput: run.throughput(),
                presence: Round::of(&run.threads, run.window),
                cpu_ns: run.cpu_ns(),
                sleeps: run.sleeps(),
                failed_exchanges: run.failed_exchanges,
                operations: run.counted,
                pinned: run.pinned,
            });
            done();
        }
    }
    Ok(())
}

/// Attributes the CPU time of each measured task.
fn attribute(
    tasks: &[Task],
    results: &mut [Option<Result>],
    effort: Effort,
    done: &mut dyn FnMut(),
) -> std::result::Result<(), String> {
    let window = effort.window * effort.repeats as u32;
    let times = Times { warm_up: effort.warm_up, window, stalled_after: effort.stalled_after };
    for (task, result) in tasks.iter().zip(results) {
        let Some(result) = result else { continue };
        if jobs::interrupted() {
            break;
        }
        let parts = &task.variant.parts;
        let run = run::run(cell(task), times, Phases::new(parts.len()))?;
        let cost_ratio = run.cpu_ns().zip(result.cpu_ns).map(|(with, without)| with / without);
        let tally = run.seen.map_err(|error| {
            format!("CPU time cannot be attributed to phases on this host: {error}")
        })?;
        let listing = attribution::listing(&attribution::by_activity(&tally, parts.len()), parts);
        let tally = attribution::by_phase(&tally);
        result.attribution = Some(Attribution { phases: Phase::NAMES, tally, listing, cost_ratio });
        done();
    }
    Ok(())
}

/// Runs `task` once, in one window that spans all samples, and returns the samples. Returns `None`
/// after an interrupt.
///
/// # Errors
///
/// Same as for [`run()`]: a lock that stalls or fails to exclude.
pub fn samples(
    task: &Task,
    samples: Samples,
    effort: Effort,
) -> std::result::Result<Option<Vec<SampleFigures>>, String> {
    rounds_per_ns();
    let times = Times {
        warm_up: effort.warm_up,
        window: effort.window,
        stalled_after: effort.stalled_after,
    };
    let cell = HostCell { samples: Some(samples), ..cell(task) };
    let run = match run::run(cell, times, Nothing) {
        Err(_) if jobs::interrupted() => return Ok(None),
        run => run?,
    };
    let figures = run.samples.iter();
    let figures: Vec<SampleFigures> = figures
        .map(|(time, counts)| SampleFigures::of_counts(counts, time.as_secs_f64()))
        .collect();
    Ok((figures.len() == samples.number).then_some(figures))
}

/// Runs the passes after the rounds, for one cell.
fn look(
    task: &Task,
    times: Times,
    source: Option<&Arc<dyn Source>>,
    looked: &mut Looked,
    done: &mut dyn FnMut(),
) -> std::result::Result<(), String> {
    let run = run::run(cell(task), times, WaitTimes)?;
    for waits in run.found.into_iter().flatten() {
        match &mut looked.waits {
            Some(all) => all.add(waits).map_err(|e| e.to_string())?,
            none => *none = Some(waits),
        }
    }
    done();
    if task.variant.takes_a_lock() {
        let holders = Arc::new(Holders::new(task.variant.objects.len()));
        let run = run::run(cell(task), times, Previous(holders))?;
        let mut all = Handovers::default();
        run.found.iter().for_each(|found| all.add(found));
        looked.handovers = Some((all, run.throughput()));
    }
    done();
    if let Some(source) = source {
        let run = run::run(cell(task), times, Counting(Arc::clone(source)))?;
        looked.counted = Some(Counted::of(&run.found, run.operations));
    }
    done();
    Ok(())
}

pub(crate) fn cell(task: &Task) -> HostCell<'_> {
    HostCell {
        variant: &task.variant,
        threads: task.threads,
        local_work: task.local_work,
        placement: &task.placement,
        samples: None,
    }
}

/// Returns the result of the rounds of one cell; `None` if there is no sample.
pub fn summarise(samples: &[Sample], looked: Looked) -> Option<Result> {
    let throughputs: Vec<f64> = samples.iter().map(|s| s.throughput).collect();
    let interval = statistics::median_interval(&throughputs)?;
    let rounds: Vec<&[u64]> = samples.iter().map(|s| s.operations.as_slice()).collect();
    let operations = fairness::totals(&rounds, samples.first()?.operations.len());
    let presence: Vec<Round> = samples.iter().filter_map(|s| s.presence).collect();
    let median = statistics::median(&throughputs)?;
    Some(Result {
        measured: Measured {
            value: median,
            ci_low: interval.low,
            ci_high: interval.high,
            samples: samples.len(),
        },
        coverage: interval.coverage,
        bootstrap: statistics::bootstrap_median(&throughputs)?,
        oddities: statistics::oddities(&throughputs),
        fairness: Fairness::of(&rounds)?,
        operations,
        rounds: throughputs,
        pinned: samples.iter().all(|s| s.pinned),
        cpu_ns: median_of(samples, |sample| sample.cpu_ns),
        sleeps: median_of(samples, |sample| sample.sleeps),
        failed_exchanges: mean(samples.iter().filter_map(|s| s.failed_exchanges)),
        attribution: None,
        presence: Presence::of(&presence),
        waits: looked.waits.as_ref().and_then(Waits::of),
        histogram: looked.waits.as_ref().map(histogram::buckets).unwrap_or_default(),
        handovers: looked.handovers.map(|(handovers, _)| handovers),
        recording: looked
            .handovers
            .and_then(|(_, throughput)| (median > 0.0).then(|| throughput / median)),
        counted: looked.counted,
    })
}

fn median_of(samples: &[Sample], value: fn(&Sample) -> Option<f64>) -> Option<f64> {
    statistics::median(&samples.iter().filter_map(value).collect::<Vec<_>>())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    statistics::mean(&values.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Recorded;
    use crate::cpus::Cpus;
    use crate::cpus::distance::CpuDistance;
    use lockyard_scenarios::Script;

    fn tasks(script: &str, threads: usize) -> Vec<Task> {
        let script = Script::shipped(script).unwrap();
        let placement = Placement::of(script.order, &Cpus::allowed());
        let task = |variant: &Variant| Task {
            variant: variant.clone(),
            threads,
            local_work: 50.0,
            placement: placement.clone(),
        };
        script.variants.iter().map(task).collect()
    }

    const BRIEF: Effort = Effort {
        warm_up: Duration::from_millis(1),
        window: Duration::from_millis(50),
        repeats: 3,
        waits: true,
        attribution: true,
        stalled_after: Duration::from_secs(60),
    };

    #[test]
    fn a_cell_is_measured_and_its_objects_are_as_they_ought_to_be() {
        let tasks = tasks("open3", Cpus::allowed().len());
        let mut done = 0;
        let results = run(&tasks, BRIEF, &mut || done += 1);
        assert_eq!((results.failure, done), (None, tasks.len() * passes(BRIEF)));
        for (result, task) in results.results.iter().zip(&tasks) {
            let result = result.as_ref().expect("nobody interrupted");
            assert_eq!(result.measured.samples, 3);
            assert!(result.measured.value > 0.0);
            assert!(result.measured.ci_low <= result.measured.value);
            assert!(result.measured.ci_high >= result.measured.value);
            assert_eq!(result.operations.len(), task.threads);
            let fairness = result.fairness;
            assert!(fairness.minimum <= 1.0 && fairness.maximum >= 1.0, "{fairness:?}");
            let waits = result.waits.expect("they were timed");
            let shares = result.attribution.as_ref().and_then(|found| found.tally.shares());
            let shares = shares.expect("CPU time was used");
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
            let percentiles = [waits.p50, waits.p90, waits.p99, waits.p999, Some(waits.maximum)];
            assert!(waits.count > 0 && percentiles.into_iter().flatten().is_sorted(), "{waits:?}");
            let counted: u64 = result.histogram.iter().map(|bucket| bucket.count).sum();
            assert_eq!(counted, waits.count, "every wait is in the histogram");
            assert_eq!(result.handovers, None, "its operations take and drop references");
            let (low, high) = result.bootstrap;
            assert!(low <= result.measured.value && result.measured.value <= high);
            if let Some(presence) = result.presence {
                let (least, most) = (presence.all_ran_least, presence.all_ran_most);
                assert!((0.0..=1.0).contains(&least) && (0.0..=1.0).contains(&most));
            }
        }
    }

    /// The script's lock stays held by the thread whose step is wrong.
    #[test]
    fn a_wrong_step_ends_the_run_though_another_thread_waits() {
        let script = Script::parse("bad.toml", lockyard_testing::WRONG_STEP).unwrap();
        let placement = Placement::of(script.order, &Cpus::allowed());
        let variant = script.variants[0].clone();
        let task = Task { variant, threads: 2, local_work: 0.0, placement };
        let failure = run(&[task], BRIEF, &mut || {}).failure.expect("a step is wrong");
        let expected = "v on 2 threads of this host: bad.toml:12: `slots` has 4 words, and a step \
                        used word 4; allowed: 0 to 3";
        assert_eq!(failure, expected);
    }

    /// Long enough for every thread to run, even on a busy host.
    const LONG: Effort = Effort { window: Duration::from_millis(500), repeats: 1, ..BRIEF };

    #[test]
    fn locks_that_one_cpu_takes_are_handed_over_there() {
        let mut tasks = tasks("spin-loop/same-node/embedded", 2);
        for task in &mut tasks {
            task.placement = Placement::Pinned(vec![Cpus::allowed().cpu(0)]);
        }
        // Two threads spinning on one CPU need many time slices before both have run.
        let results = run(&tasks[..2], LONG, &mut || {});
        assert_eq!(results.failure, None);
        for result in results.results.iter().flatten() {
            let handovers = result.handovers.expect("its operations take a lock");
            assert!(handovers.total() > 0 && handovers.same_thread <= handovers.total());
            assert_eq!(handovers.share(CpuDistance::SameCpu), Some(1.0), "{handovers:?}");
        }
    }

    #[test]
    fn a_thread_alone_hands_over_to_itself() {
        let tasks = tasks("spin-loop/same-node/embedded", 1);
        let results = run(&tasks[..1], LONG, &mut || {});
        let result = results.results[0].as_ref().expect("nobody interrupted");
        let handovers = result.handovers.expect("its operations take a lock");
        assert_eq!(handovers.same_thread, handovers.total());
    }

    /// Two threads on one CPU wait for each other: one kind lets its waiter sleep, the other never.
    #[test]
    fn sleeps_are_counted_for_the_lock_whose_waiters_sleep() {
        let text = r#"
            name = "two"
            work_varies = false
            objects = [{ name = "m", kind = "lock", lock = "ticket" }]
            steps = [
                { do = "lock", object = "m" },
                { do = "work", ns = 20_000 },
                { do = "unlock", object = "m" },
            ]
            variants = [
                { name = "sleeps", set = [{ object = "m", lock = "pthread-like-mutex" }] },
                { name = "spins" },
            ]
        "#;
        let script = Script::parse("two.toml", text).unwrap();
        let task = |variant: &Variant| Task {
            variant: variant.clone(),
            threads: 2,
            local_work: 0.0,
            placement: Placement::Pinned(vec![Cpus::allowed().cpu(0)]),
        };
        let tasks: Vec<Task> = script.variants.iter().map(task).collect();
        let effort = Effort { waits: false, attribution: false, ..LONG };
        let results = run(&tasks, effort, &mut || {});
        assert_eq!(results.failure, None);
        let sleeps = |index: usize| results.results[index].as_ref().expect("it ran").sleeps;
        let (Some(sleeping), Some(spinning)) = (sleeps(0), sleeps(1)) else {
            return lockyard_testing::skip!("the system does not count sleeps");
        };
        // A waiter sleeps at the latest when its turn on the CPU begins while the lock is held.
        assert!(sleeping > 10.0 * spinning && sleeping < 2.0, "{sleeping} and {spinning}");
    }

    #[test]
    fn a_recorded_reading_becomes_figures_of_an_operation() {
        let recorded = Recorded::parse("cycles 1000000 5 5\ninstructions error 2\n").unwrap();
        let source: Arc<dyn Source> = Arc::new(recorded);
        let tasks = tasks("open3", 1);
        let results = run_with(&tasks[..1], LONG, &source, &mut || {});
        assert_eq!(results.no_counters, None);
        let result = results.results[0].as_ref().expect("nobody interrupted");
        let counted = result.counted.as_ref().expect("there are counters");
        assert!(*counted.per_operation[0].1.as_ref().unwrap() > 0.0);
        assert!(counted.per_operation[1].1.is_err());
    }

    #[test]
    fn without_counters_there_is_a_reason() {
        let source: Arc<dyn Source> = Arc::new(Recorded::parse("cycles error 2\n").unwrap());
        let results = run_with(&tasks("open3", 1)[..1], BRIEF, &source, &mut || {});
        assert!(results.no_counters.expect("why").contains("performance monitoring unit"));
        assert_eq!(results.results[0].as_ref().expect("nobody interrupted").counted, None);
    }
}
