//! Measuring cells on this host: pinned threads, a warm-up, bounded time, repeated, the cells
//! interleaved.
//!
//! The cells of a request are measured in rounds, each cell once a round, in an order that is shuffled
//! anew for each round, so that a slow minute of the host touches all of them. A figure is the median
//! over the rounds, with the interval of [`crate::statistics::median_interval`].

use super::stage::{OnHost, rounds_per_ns, set_stop};
use super::{Cpus, pin};
use crate::rows::Measured;
use crate::{jobs, statistics};
use lockyard_scenarios::{Prepared, Variant};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// The alignment of the objects' lines: two lines, because neighbours are fetched in pairs.
const LINE_BYTES: usize = 128;

/// How long and how often a cell is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Before counting begins, in each round.
    pub warm_up: Duration,
    /// What is counted, in each round.
    pub window: Duration,
    /// Rounds.
    pub repeats: usize,
}

impl Effort {
    /// Nine rounds of a tenth of a second.
    pub const USUAL: Effort = Effort {
        warm_up: Duration::from_millis(20),
        window: Duration::from_millis(100),
        repeats: 9,
    };
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Task {
    /// The variant.
    pub variant: Variant,
    /// Number of threads, at most one for each CPU.
    pub threads: usize,
    /// Local work of an operation, in nanoseconds.
    pub local_work: f64,
}

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub struct Result {
    /// Operations a second, all threads together.
    pub measured: Measured,
    /// The probability with which the interval covers the median.
    pub coverage: f64,
    /// Operations of the slowest and the fastest thread in any round.
    pub per_thread: (u64, u64),
    /// Whether all threads were pinned.
    pub pinned: bool,
}

/// One round of one cell.
struct Sample {
    throughput: f64,
    slowest: u64,
    fastest: u64,
    pinned: bool,
}

/// Measures `tasks`; `None` for those of which no round was finished before an interrupt.
///
/// # Errors
///
/// If the objects are not as they ought to be after a run: a primitive is broken.
pub fn run(
    tasks: &[Task],
    cpus: &Cpus,
    effort: Effort,
) -> std::result::Result<Vec<Option<Result>>, String> {
    rounds_per_ns();
    let mut samples: Vec<Vec<Sample>> = tasks.iter().map(|_| Vec::new()).collect();
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    // Any shuffle will do; a fixed one can be repeated.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..effort.repeats {
        for i in (1..order.len()).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            order.swap(i, (state % (i as u64 + 1)) as usize);
        }
        for &index in &order {
            if jobs::interrupted() {
                break;
            }
            samples[index].push(one(&tasks[index], cpus, effort)?);
        }
    }
    Ok(samples.iter().map(|samples| summarise(samples)).collect())
}

fn summarise(samples: &[Sample]) -> Option<Result> {
    let throughputs: Vec<f64> = samples.iter().map(|s| s.throughput).collect();
    let interval = statistics::median_interval(&throughputs)?;
    Some(Result {
        measured: Measured {
            value: statistics::median(&throughputs)?,
            ci_low: interval.low,
            ci_high: interval.high,
            samples: samples.len(),
        },
        coverage: interval.coverage,
        per_thread: (
            samples.iter().map(|s| s.slowest).min()?,
            samples.iter().map(|s| s.fastest).max()?,
        ),
        pinned: samples.iter().all(|s| s.pinned),
    })
}

/// One round of one cell.
fn one(task: &Task, cpus: &Cpus, effort: Effort) -> std::result::Result<Sample, String> {
    let Some(prepared) = Prepared::<OnHost>::new(&task.variant, LINE_BYTES, None, task.local_work)
    else {
        return Err("there is no memory for the scenario's objects".to_owned());
    };
    set_stop(false);
    let barrier = Barrier::new(task.threads + 1);
    let threads: Vec<(u64, u64, Duration, bool)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..task.threads)
            .map(|index| {
                let (prepared, barrier) = (&prepared, &barrier);
                let cpu = cpus.cpu(index);
                scope.spawn(move || {
                    let pinned = pin(cpu);
                    barrier.wait();
                    let warm = prepared.run_task();
                    // All have stopped; the main thread clears the flag in between.
                    barrier.wait();
                    barrier.wait();
                    let begin = Instant::now();
                    let counted = prepared.run_task();
                    (warm, counted, begin.elapsed(), pinned)
                })
            })
            .collect();
        barrier.wait();
        std::thread::sleep(effort.warm_up);
        set_stop(true);
        barrier.wait();
        set_stop(false);
        barrier.wait();
        std::thread::sleep(effort.window);
        set_stop(true);
        handles
            .into_iter()
            .map(|h| h.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
            .collect()
    });
    let operations: u64 = threads.iter().map(|(warm, counted, ..)| warm + counted).sum();
    prepared.verify(operations).map_err(|e| {
        format!("{} on {} threads of this host: {e}", task.variant.name, task.threads)
    })?;
    // Each thread by its own clock: one that began late or stopped late is not counted against the
    // others.
    let throughput =
        threads.iter().map(|(_, counted, time, _)| *counted as f64 / time.as_secs_f64()).sum();
    Ok(Sample {
        throughput,
        slowest: threads.iter().map(|t| t.1).min().unwrap_or(0),
        fastest: threads.iter().map(|t| t.1).max().unwrap_or(0),
        pinned: threads.iter().all(|t| t.3),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard_scenarios::Script;

    #[test]
    fn a_cell_is_measured_and_its_objects_are_as_they_ought_to_be() {
        let script = Script::shipped("open3").unwrap();
        let cpus = Cpus::allowed();
        let tasks: Vec<Task> = script
            .variants
            .iter()
            .map(|variant| Task { variant: variant.clone(), threads: cpus.len(), local_work: 50.0 })
            .collect();
        let effort = Effort {
            warm_up: Duration::from_millis(1),
            window: Duration::from_millis(5),
            repeats: 3,
        };
        for result in run(&tasks, &cpus, effort).unwrap() {
            let result = result.expect("nobody interrupted");
            assert_eq!(result.measured.samples, 3);
            assert!(result.measured.value > 0.0);
            assert!(result.measured.ci_low <= result.measured.value);
            assert!(result.measured.ci_high >= result.measured.value);
        }
    }
}
