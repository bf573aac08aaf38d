//! One run of a scenario with threads of this host, under a watchdog.
//!
//! The threads are not joined: one that waits for a lock that nobody releases would be joined for ever. Each counts its
//! operations in a line of its own, which the main thread reads at the beginning and the end of the window and, as the
//! watchdog, in between. What they leave behind when they are stuck is the process's end.

use super::attribution::{
    self, CpuTime, OnHostAttributed, Phase, Registered, Sampler, Tally, Watched,
};
use super::placement::Placement;
use super::stage::{OnHost, OnHostTimed, begin_waits, set_stop, take_waits};
use super::{guard, pin};
use crate::jobs;
use hdrhistogram::Histogram;
use lockyard_scenarios::{Prepared, Stage, Variant};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// The alignment of the objects' lines: two lines, because neighbours are fetched in pairs.
const LINE_BYTES: usize = 128;

/// How long a run is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// Before counting begins.
    pub(super) warm_up: Duration,
    /// What is counted.
    pub(super) window: Duration,
    /// Without an operation of any thread for so long, the run is stalled.
    pub(super) stalled_after: Duration,
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<'a> {
    pub(super) variant: &'a Variant,
    pub(super) threads: usize,
    pub(super) local_work: f64,
    pub(super) placement: &'a Placement,
}

/// What a run came to.
pub(super) struct Run {
    /// Operations of each thread in the window.
    pub(super) counted: Vec<u64>,
    /// How long the window was.
    pub(super) window: Duration,
    /// Whether all threads that should be are pinned.
    pub(super) pinned: bool,
    /// CPU time of all threads for an operation, warm-up and all, in nanoseconds; `None` without an operation, or on a
    /// system that does not count it.
    pub(super) cpu_ns: Option<f64>,
    /// The waits of all threads, on a stage that times them.
    pub(super) waits: Option<Histogram<u64>>,
    /// CPU time by phase in the window, on a stage whose threads say what they do.
    pub(super) phases: Option<Tally>,
}

/// The main thread looks after so long whether the run was interrupted: rarely, because it takes a CPU from the threads.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);

/// One thread's number of operations, in lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Progress(AtomicU64);

struct Shared<S: Stage> {
    prepared: Prepared<S>,
    progress: Vec<Progress>,
    go: AtomicBool,
}

/// What a thread says when it has stopped.
struct Stopped {
    pinned: bool,
    cpu: Option<Duration>,
    /// Whether it still was at its end, if it was pinned.
    kept: bool,
    waits: Option<Histogram<u64>>,
}

/// Runs `cell`, counting only.
///
/// # Errors
///
/// If it is stalled, the objects are not as they ought to be afterwards, or CPUs were taken away meanwhile.
pub(super) fn counted(cell: Cell, times: Times) -> Result<Run, String> {
    run::<OnHost>(cell, times, Watching::Counts)
}

/// Runs `cell`, timing each wait.
///
/// # Errors
///
/// As [`counted`].
pub(super) fn timed(cell: Cell, times: Times) -> Result<Run, String> {
    run::<OnHostTimed>(cell, times, Watching::Waits)
}

/// Runs `cell`, sampling in which phase each thread is.
///
/// # Errors
///
/// As [`counted`], or if the system has no CPU-time clocks of threads.
pub(super) fn attributed(cell: Cell, times: Times) -> Result<Run, String> {
    run::<OnHostAttributed>(cell, times, Watching::Phases)
}

/// What is watched besides the counts; the stage must have it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watching {
    Counts,
    Waits,
    Phases,
}

fn run<S: Stage>(cell: Cell, times: Times, watching: Watching) -> Result<Run, String> {
    let Some(prepared) = Prepared::<S>::new(cell.variant, LINE_BYTES, None, cell.local_work) else {
        return Err("there is no memory for the scenario's objects".to_owned());
    };
    let progress = (0..cell.threads).map(|_| Progress::default()).collect();
    let shared = Arc::new(Shared { prepared, progress, go: AtomicBool::new(false) });
    set_stop(false);
    guard::begin();
    let (sender, receiver) = channel();
    let (to_sampler, watched) = channel();
    for index in 0..cell.threads {
        let (mine, sender) = (Arc::clone(&shared), sender.clone());
        let to_sampler = to_sampler.clone();
        let cpu = cell.placement.cpu(index);
        let spawned = std::thread::Builder::new().spawn(move || {
            let pinned = cpu.is_none_or(pin);
            if watching == Watching::Waits {
                begin_waits();
            }
            // Until the thread ends.
            let _registered = match watching {
                Watching::Phases => register(&to_sampler),
                Watching::Counts | Watching::Waits => None,
            };
            drop(to_sampler);
            while !mine.go.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            let begin = CpuTime::of_this_thread();
            let progress = &mine.progress[index].0;
            // A store by its only writer: it costs no transfer but where the main thread reads.
            mine.prepared.run_task(|done| progress.store(done, Ordering::Relaxed));
            let used = begin.and_then(CpuTime::elapsed);
            let waits = take_waits();
            drop(mine);
            let kept = !pinned || cpu.is_none_or(guard::is_pinned_to);
            // The main thread has gone away only if it has given up.
            let _ = sender.send(Stopped { pinned, kept, cpu: used, waits });
        });
        if let Err(error) = spawned {
            set_stop(true);
            shared.go.store(true, Ordering::Relaxed);
            return Err(format!("thread {index} cannot be started: {error}"));
        }
    }
    drop((sender, to_sampler));
    let watch = Watch { cell, shared: &shared, times };
    // It ends when all threads have said where they are, or that they cannot be seen.
    let watched: Option<std::io::Result<Vec<Watched>>> =
        (watching == Watching::Phases).then(|| watched.iter().collect());
    shared.go.store(true, Ordering::Relaxed);
    watch.sleep(times.warm_up)?;
    let sampler = watched.map(sampler);
    let (before, begin) = (watch.counts(), Instant::now());
    watch.sleep(times.window)?;
    let (after, window) = (watch.counts(), begin.elapsed());
    let phases = sampler.map(|sampler| sampler.map(Sampler::finish));
    set_stop(true);
    let (mut pinned, mut kept, mut waits) = (true, true, None::<Histogram<u64>>);
    let mut cpu = Some(Duration::ZERO);
    for _ in 0..cell.threads {
        let stopped = watch.receive(&receiver)?;
        pinned &= stopped.pinned;
        kept &= stopped.kept;
        cpu = cpu.zip(stopped.cpu).map(|(all, of_thread)| all + of_thread);
        match (&mut waits, stopped.waits) {
            (Some(all), Some(waits)) => all.add(waits).map_err(|e| e.to_string())?,
            (None, of_thread) => waits = of_thread,
            (Some(_), None) => {}
        }
    }
    // All threads have stopped, and each said so after its last access.
    let operations: u64 = watch.counts().iter().sum();
    shared.prepared.verify(operations).map_err(|violation| {
        let (name, threads) = (&cell.variant.name, cell.threads);
        format!("{name} on {threads} threads of this host: {violation}")
    })?;
    guard::check(cell.placement, cell.threads, pinned, kept)?;
    let counted = before.iter().zip(after).map(|(before, after)| after - before).collect();
    let phases = phases.transpose().map_err(|error| {
        format!("CPU time cannot be attributed to phases on this host: {error}")
    })?;
    let cpu_ns =
        cpu.filter(|_| operations > 0).map(|cpu| cpu.as_nanos() as f64 / operations as f64);
    Ok(Run { counted, window, pinned, cpu_ns, waits, phases })
}

/// Gives the calling thread a line for its phase, and tells the main thread.
fn register(to_sampler: &Sender<std::io::Result<Watched>>) -> Option<Registered> {
    let registered = Registered::new();
    let (registered, watched) = match registered {
        Ok((registered, watched)) => (Some(registered), Ok(watched)),
        Err(error) => (None, Err(error)),
    };
    // The main thread has gone away only if it has given up.
    let _ = to_sampler.send(watched);
    registered
}

fn sampler(watched: std::io::Result<Vec<Watched>>) -> std::io::Result<Sampler> {
    Sampler::start(watched?, Phase::NAMES.len(), attribution::INTERVAL)
}

/// The main thread's view of a run.
struct Watch<'a, S: Stage> {
    cell: Cell<'a>,
    shared: &'a Shared<S>,
    times: Times,
}

impl<S: Stage> Watch<'_, S> {
    fn counts(&self) -> Vec<u64> {
        self.shared.progress.iter().map(|p| p.0.load(Ordering::Relaxed)).collect()
    }

    /// Sleeps while the threads run; returns early if they are stalled, or after an interrupt.
    fn sleep(&self, time: Duration) -> Result<(), String> {
        let begin = Instant::now();
        let (mut last, mut since) = (self.counts(), begin);
        loop {
            let left = time.saturating_sub(begin.elapsed());
            if left.is_zero() || jobs::interrupted() {
                return Ok(());
            }
            std::thread::sleep(left.min(self.times.stalled_after).min(LONGEST_SLEEP));
            self.progressed(&mut last, &mut since)?;
        }
    }

    /// Waits for a thread that was asked to stop.
    fn receive(&self, receiver: &Receiver<Stopped>) -> Result<Stopped, String> {
        let (mut last, mut since) = (self.counts(), Instant::now());
        loop {
            match receiver.recv_timeout(self.times.stalled_after) {
                Ok(stopped) => return Ok(stopped),
                Err(RecvTimeoutError::Timeout) => self.progressed(&mut last, &mut since)?,
                Err(RecvTimeoutError::Disconnected) => {
                    let name = &self.cell.variant.name;
                    return Err(format!("{name}: a thread ended without a word"));
                }
            }
        }
    }

    /// Whether any thread has done anything since `since`; if not for too long, that is an error.
    fn progressed(&self, last: &mut Vec<u64>, since: &mut Instant) -> Result<(), String> {
        let now = self.counts();
        if now != *last {
            (*last, *since) = (now, Instant::now());
            return Ok(());
        }
        if since.elapsed() < self.times.stalled_after {
            return Ok(());
        }
        let (name, threads) = (&self.cell.variant.name, self.cell.threads);
        let counts: Vec<String> = now.iter().take(16).map(u64::to_string).collect();
        let more = if threads > 16 { ", ..." } else { "" };
        Err(format!(
            "{name} on {threads} threads of this host is stalled: no operation was finished for {:.1} s; operations of \
             each thread before: {}{more}",
            self.times.stalled_after.as_secs_f64(),
            counts.join(", ")
        ))
    }
}
