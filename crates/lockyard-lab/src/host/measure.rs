//! Measuring cells on this host: a warm-up, a window of bounded time, repeated, the cells interleaved.
//!
//! The cells of a request are measured in rounds, each cell once a round, in an order that is shuffled
//! anew for each round, so that a slow minute of the host touches all of them. A figure is the median
//! over the rounds, with the interval of [`crate::statistics::median_interval`]. Waits are timed in a pass
//! of their own after the rounds, whose throughput is not reported: reading the clock takes time. So is CPU time attributed.

use super::attribution::{Attribution, Phase};
use super::placement::Placement;
use super::run::{self, Times};
use super::stage::{clock_ns, rounds_per_ns};
use crate::rows::Measured;
use crate::served::{self, Fairness, Waits};
use crate::{jobs, statistics};
use lockyard_scenarios::Variant;
use std::time::Duration;

/// How long and how often a cell is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Before counting begins, in each round.
    pub warm_up: Duration,
    /// What is counted, in each round.
    pub window: Duration,
    /// Rounds.
    pub repeats: usize,
    /// Whether waits are timed, in a pass of their own.
    pub waits: bool,
    /// Whether CPU time is attributed to phases, in a pass of its own that is as long as all windows together.
    pub attribution: bool,
    /// Without an operation of any thread for so long, a run is stalled.
    pub stalled_after: Duration,
}

impl Effort {
    /// Nine rounds of a tenth of a second.
    pub const USUAL: Effort = Effort {
        warm_up: Duration::from_millis(20),
        window: Duration::from_millis(100),
        repeats: 9,
        waits: false,
        attribution: false,
        stalled_after: Duration::from_secs(10),
    };

    /// For results: what must be alike in two that are compared.
    pub fn describe(&self) -> Vec<(String, String)> {
        let entry = |name: &str, value: String| (name.to_owned(), value);
        vec![
            entry("seconds", self.window.as_secs_f64().to_string()),
            entry("warm_up_seconds", self.warm_up.as_secs_f64().to_string()),
            entry("repeats", self.repeats.to_string()),
        ]
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Task {
    /// The variant.
    pub variant: Variant,
    /// Number of threads.
    pub threads: usize,
    /// Local work of an operation, in nanoseconds.
    pub local_work: f64,
    /// Where they run.
    pub placement: Placement,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Result {
    /// Operations a second, all threads together.
    pub measured: Measured,
    /// The probability with which the interval covers the median.
    pub coverage: f64,
    /// Operations a second in each round.
    pub rounds: Vec<f64>,
    /// Operations of each thread, all rounds together.
    pub operations: Vec<u64>,
    /// How alike they are.
    pub fairness: Fairness,
    /// Whether all threads that should be were pinned.
    pub pinned: bool,
    /// CPU time of all threads for an operation, in nanoseconds, the median of the rounds; `None` where the system does not
    /// count it.
    pub cpu_ns: Option<f64>,
    /// Waits, if they were timed.
    pub waits: Option<Waits>,
    /// Where CPU time went, if that was asked.
    pub attribution: Option<Attribution>,
}

/// What a request came to.
#[derive(Clone, Debug)]
pub struct Results {
    /// One for each task; `None` for those of which no round was finished.
    pub results: Vec<Option<Result>>,
    /// Why the rest was not measured: a lock that is stalled or does not exclude.
    pub failure: Option<String>,
    /// What the clock adds to each timed wait, in nanoseconds, if waits were timed.
    pub clock_ns: Option<f64>,
}

impl Result {
    /// The throughput over that of `other` in the same round: the median of the rounds that both finished, with its
    /// interval. What a slow moment of the host does to a round it does to both.
    pub fn relative_to(&self, other: &Result) -> Option<(f64, statistics::Interval)> {
        let ratios: Vec<f64> = self.rounds.iter().zip(&other.rounds).map(|(a, b)| a / b).collect();
        Some((statistics::median(&ratios)?, statistics::median_interval(&ratios)?))
    }
}

/// One round of one cell.
struct Sample {
    throughput: f64,
    operations: Vec<u64>,
    pinned: bool,
    cpu_ns: Option<f64>,
}

/// Measures `tasks`. An interrupt ends it after the round that runs; so does a failure, after which threads
/// may still run, and nothing can be measured any more in this process.
pub fn run(tasks: &[Task], effort: Effort, done: &mut dyn FnMut()) -> Results {
    rounds_per_ns();
    let mut samples: Vec<Vec<Sample>> = tasks.iter().map(|_| Vec::new()).collect();
    let mut waits: Vec<Option<Waits>> = vec![None; tasks.len()];
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    // Any shuffle will do; a fixed one can be repeated.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut failure = None;
    let times = Times {
        warm_up: effort.warm_up,
        window: effort.window,
        stalled_after: effort.stalled_after,
    };
    'rounds: for _ in 0..effort.repeats {
        for i in (1..order.len()).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            order.swap(i, (state % (i as u64 + 1)) as usize);
        }
        for &index in &order {
            if jobs::interrupted() {
                break 'rounds;
            }
            match run::counted(cell(&tasks[index]), times) {
                // Its window was cut short.
                Ok(_) if jobs::interrupted() => break 'rounds,
                Ok(run) => samples[index].push(Sample {
                    throughput: run.counted.iter().sum::<u64>() as f64 / run.window.as_secs_f64(),
                    operations: run.counted,
                    pinned: run.pinned,
                    cpu_ns: run.cpu_ns,
                }),
                Err(message) => {
                    failure = Some(message);
                    break 'rounds;
                }
            }
            done();
        }
    }
    let clock_ns = effort.waits.then(clock_ns);
    if effort.waits && failure.is_none() {
        for (task, waits) in tasks.iter().zip(&mut waits) {
            if jobs::interrupted() {
                break;
            }
            match run::timed(cell(task), times) {
                Ok(run) => *waits = run.waits.as_ref().and_then(Waits::of),
                Err(message) => {
                    failure = Some(message);
                    break;
                }
            }
            done();
        }
    }
    let results = samples.iter().zip(waits).map(|(samples, waits)| summarise(samples, waits));
    let mut results: Vec<Option<Result>> = results.collect();
    if effort.attribution && failure.is_none() {
        failure = attribute(tasks, &mut results, effort, done).err();
    }
    Results { results, failure, clock_ns }
}

/// Attributes the CPU time of each task that was measured.
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
        let run = run::attributed(cell(task), times)?;
        result.attribution = run.phases.map(|tally| Attribution {
            phases: Phase::NAMES,
            tally,
            cost_ratio: run.cpu_ns.zip(result.cpu_ns).map(|(with, without)| with / without),
        });
        done();
    }
    Ok(())
}

pub(super) fn cell(task: &Task) -> run::Cell<'_> {
    run::Cell {
        variant: &task.variant,
        threads: task.threads,
        local_work: task.local_work,
        placement: &task.placement,
    }
}

fn summarise(samples: &[Sample], waits: Option<Waits>) -> Option<Result> {
    let throughputs: Vec<f64> = samples.iter().map(|s| s.throughput).collect();
    let interval = statistics::median_interval(&throughputs)?;
    let rounds: Vec<&[u64]> = samples.iter().map(|s| s.operations.as_slice()).collect();
    let operations = served::totals(&rounds, samples.first()?.operations.len());
    Some(Result {
        measured: Measured {
            value: statistics::median(&throughputs)?,
            ci_low: interval.low,
            ci_high: interval.high,
            samples: samples.len(),
        },
        coverage: interval.coverage,
        fairness: Fairness::of(&rounds)?,
        operations,
        rounds: throughputs,
        pinned: samples.iter().all(|s| s.pinned),
        cpu_ns: statistics::median(&samples.iter().filter_map(|s| s.cpu_ns).collect::<Vec<_>>()),
        waits,
        attribution: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Cpus;
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
        window: Duration::from_millis(5),
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
        assert_eq!((results.failure, done), (None, tasks.len() * 5));
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
            assert!(waits.count > 0 && waits.p50 <= waits.p99 && waits.p99 <= waits.maximum);
        }
    }
}
