//! Measurement of subjects of `crate::tables` on this host: tables, counters and
//! reclamation, both ours and other projects', in the same rounds.
//!
//! As with scenarios, each cell is measured once per round, in an order that is shuffled for each
//! round.
//!
//! The subject is created and filled anew each time. The interval therefore covers the effect of
//! its random position in memory.
//!
//! The threads are not joined. A thread that does not stop is named in an error, and abandoned
//! until the process ends.

use crate::tables::{Done, Load, Stop, Subject, SubjectRow, Worker};
use lockyard_measure::cpus::placement::Placement;
use lockyard_measure::cpus::{guard, pin};
use lockyard_measure::order::Orders;
use lockyard_measure::scenario::presence::{self, Begun, Round, Stamps};
use lockyard_measure::scenario::rounds::{self, Effort, Sample};
use lockyard_measure::watchdog::{INTERRUPTED, LONGEST_START, Progress, Watchdog, abandonable};
use lockyard_results::row::Measured;
use lockyard_support::jobs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A subject, and the load on it.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Subject to measure.
    pub row: SubjectRow,
    /// Load on the subject.
    pub load: Load,
}

/// Result of a task.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    /// Throughput, fairness, presence.
    pub result: rounds::Result,
    /// Maximum number of objects that were removed but not yet freed: median over the rounds. Only
    /// for subjects that count them.
    pub held_back: Option<Measured>,
    /// Share of reads that had to create their object, in per cent: median over the rounds. Only
    /// for subjects with such reads.
    pub missed: Option<Measured>,
}

/// Result of a measurement request.
#[derive(Clone, Debug)]
pub(super) struct Results {
    /// One entry per task; `None` if no round was finished.
    pub figures: Vec<Option<Figures>>,
    /// Reason why the remaining tasks were not measured.
    pub failure: Option<String>,
}

/// Number of times per window that the held-back objects are counted.
const LOOKS: u32 = 10;

struct Shared {
    subject: Box<dyn Subject>,
    stop: Stop,
    progress: Vec<Progress>,
    ready: AtomicUsize,
    go: AtomicBool,
}

/// Message of a thread that has stopped.
struct Stopped {
    done: Done,
    pinned: bool,
    /// True if a pinned thread was still pinned at its end.
    kept: bool,
    stamps: Stamps,
}

/// Lock that admits one run at a time, because two runs would disturb each other.
static ONE: Mutex<()> = Mutex::new(());

/// Measures `tasks`, all with the same placement. Calls `done` after each round of each task. An
/// interrupt ends the measurement after the current run, and so does a failure.
pub(super) fn run(
    tasks: &[Task],
    placement: &Placement,
    effort: Effort,
    done: &mut dyn FnMut(),
) -> Results {
    let mut samples: Vec<Vec<Sample>> = tasks.iter().map(|_| Vec::new()).collect();
    let mut looked: Vec<[Vec<f64>; 2]> = tasks.iter().map(|_| Default::default()).collect();
    let mut orders = Orders::new(tasks.len());
    let mut failure = None;
    'rounds: for _ in 0..effort.repeats {
        for &index in orders.next_round() {
            if jobs::interrupted() {
                break 'rounds;
            }
            match once(&tasks[index], placement, effort) {
                // The interrupt cut the window short, or came before it.
                _ if jobs::interrupted() => break 'rounds,
                Ok((sample, found)) => {
                    samples[index].push(sample);
                    for (all, found) in looked[index].iter_mut().zip(found) {
                        all.extend(found);
                    }
                }
                Err(message) => {
                    let Task { row, load } = &tasks[index];
                    let s = if load.threads == 1 { "" } else { "s" };
                    failure = Some(format!(
                        "{} on {} thread{s} of this host: {message}",
                        row.name, load.threads
                    ));
                    break 'rounds;
                }
            }
            done();
        }
    }
    let figures = samples.iter().zip(looked).map(|(samples, looked)| {
        let result = rounds::summarise(samples, rounds::Looked::default())?;
        let [held_back, missed] = looked.map(|values| Measured::of_samples(&values));
        Some(Figures { result, held_back, missed })
    });
    Results { figures: figures.collect(), failure }
}

/// Runs one round of one task. Returns its sample, the held-back objects and the misses.
fn once(
    task: &Task,
    placement: &Placement,
    effort: Effort,
) -> Result<(Sample, [Option<f64>; 2]), String> {
    // Ignore poisoning: a panic in another run leaves no state that this run uses.
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let threads = task.load.threads;
    let (make, load) = (task.row.make, task.load);
    let shared = Arc::new(Shared {
        subject: abandonable("filling it", move || make(&load))??,
        stop: Stop::default(),
        progress: (0..threads).map(|_| Progress::default()).collect(),
        ready: AtomicUsize::new(0),
        go: AtomicBool::new(false),
    });
    guard::begin();
    let stop = StopAtLast(&shared);
    let receiver = start(task, placement, &shared)?;
    let (progress, what) = (&shared.progress[..], "it".to_owned());
    let watch = Watchdog { progress, stalled_after: effort.stalled_after, what };
    shared.go.store(true, Ordering::Relaxed);
    watch.sleep(effort.warm_up)?;
    let (before, begin) = (watch.counts(), Instant::now());
    let held_back = window(&watch, shared.subject.as_ref(), effort.window)?;
    // On a busy host, a short window may pass without any operation.
    watch.until(|counts| counts != before)?;
    let (after, end) = (watch.counts(), Instant::now());
    drop(stop);
    let mut stopped = Vec::new();
    for _ in 0..threads {
        stopped.push(watch.receive(&receiver)?);
    }
    if jobs::interrupted() {
        // Leak the table, because checking and freeing a large table takes long.
        std::mem::forget(shared);
        return Err(INTERRUPTED.to_owned());
    }
    let done: Vec<Done> = stopped.iter().map(|stopped| stopped.done).collect();
    shared.subject.verify(&done)?;
    let pinned = stopped.iter().all(|stopped| stopped.pinned);
    let kept = stopped.iter().all(|stopped| stopped.kept);
    guard::check(placement, threads, pinned, kept)?;
    let operations: Vec<u64> = before.iter().zip(&after).map(|(a, b)| b - a).collect();
    let stamps: Vec<Stamps> = stopped.iter().map(|stopped| stopped.stamps).collect();
    let all = Done::sum(&done);
    let ran = presence::ran(&stamps);
    let operations_done = (all.reads + all.changes) as f64;
    let sample = Sample {
        throughput: operations.iter().sum::<u64>() as f64 / (end - begin).as_secs_f64(),
        presence: Round::of(&stamps, (begin, end)),
        cpu_ns: ran.map(|ran| ran.as_nanos() as f64 / operations_done),
        sleeps: presence::slept(&stamps).map(|slept| slept as f64 / operations_done),
        failed_exchanges: None,
        operations,
        pinned,
    };
    let missed = all.missed as f64 * 100.0 / all.reads.max(1) as f64;
    let missed = shared.subject.may_miss().then_some(missed);
    Ok((sample, [held_back.map(|objects| objects as f64), missed]))
}

/// Starts the threads of a run, and returns when all are ready. Each thread sends a message when it
/// ends.
fn start(
    task: &Task,
    placement: &Placement,
    shared: &Arc<Shared>,
) -> Result<Receiver<Stopped>, String> {
    let threads = task.load.threads;
    let (sender, receiver) = channel();
    for thread in 0..threads {
        let (shared, sender, load) = (Arc::clone(shared), sender.clone(), task.load);
        let cpu = placement.cpu(thread);
        let body = move || {
            let pinned = cpu.is_none_or(pin);
            // Release: pairs with the main thread's acquire.
            shared.ready.fetch_add(1, Ordering::Release);
            while !shared.go.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            let begun = Begun::now();
            let progress = &shared.progress[thread].0;
            let done = shared.subject.work(&Worker { thread, load, stop: &shared.stop, progress });
            let stamps = begun.ended();
            drop(shared);
            let kept = !pinned || cpu.is_none_or(guard::is_pinned_to);
            // Sending fails only if the main thread has given up.
            let _ = sender.send(Stopped { done, pinned, kept, stamps });
        };
        let spawned = std::thread::Builder::new().spawn(body);
        spawned.map_err(|error| format!("thread {thread} cannot be started: {error}"))?;
    }
    let started = Instant::now();
    // Acquire: pairs with each thread's release when it is ready.
    while shared.ready.load(Ordering::Acquire) < threads {
        if jobs::interrupted() {
            return Err(INTERRUPTED.to_owned());
        }
        if started.elapsed() > LONGEST_START {
            return Err(format!("it did not start within {} s", LONGEST_START.as_secs()));
        }
        std::thread::yield_now();
    }
    Ok(receiver)
}

/// Stops the threads when the run ends, for whatever reason. Threads still waiting for the start
/// stop too.
struct StopAtLast<'r>(&'r Shared);

impl Drop for StopAtLast<'_> {
    fn drop(&mut self) {
        self.0.stop.stop();
        self.0.go.store(true, Ordering::Relaxed);
    }
}

/// Sleeps during the window. If the subject counts held-back objects, returns the maximum of
/// several readings.
fn window(
    watch: &Watchdog,
    subject: &dyn Subject,
    window: Duration,
) -> Result<Option<u64>, String> {
    if subject.held_back().is_none() {
        return watch.sleep(window).map(|()| None);
    }
    let mut most = None;
    for _ in 0..LOOKS {
        watch.sleep(window / LOOKS)?;
        most = most.max(subject.held_back());
    }
    Ok(most)
}
