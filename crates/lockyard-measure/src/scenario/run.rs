//! A single run of a scenario by threads on this host, under a [watchdog](crate::watchdog).
//!
//! The threads are not joined. Each thread counts its operations in its own line. The main thread
//! reads the lines at the beginning and the end of the window. In between, it reads them as the
//! watchdog. If threads are stuck, their memory is freed when the process ends.

use super::presence::{self, Begun, Stamps};
use super::probe::Probe;
use super::stage::set_stop;
use super::timeline;
use super::watch::{HostCell, Shared, Watch};
use crate::cpus::{guard, pin};
use crate::membarrier;
use crate::watchdog::{INTERRUPTED, LONGEST_START, Progress, Watchdog, abandonable};
use lockyard_scenarios::{Prepared, Stage};
use lockyard_support::{jobs, threads as in_words};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Alignment of the objects' lines: two cache lines, because processors prefetch the neighbouring
/// line.
const LINE_BYTES: usize = 128;

/// Durations of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// Time before counting begins.
    pub(crate) warm_up: Duration,
    /// Time during which operations are counted.
    pub(crate) window: Duration,
    /// Abort a run where no thread finishes an operation for this long.
    pub(crate) stalled_after: Duration,
}

/// Result of a run.
pub(crate) struct Run<F, S> {
    /// Operations of each thread during the window.
    pub(crate) counted: Vec<u64>,
    /// Number of guests.
    guests: usize,
    /// Operations of all threads, from start to end.
    pub(crate) operations: u64,
    /// Failed compare-exchanges of the script's steps per operation, from start to end. `None` if
    /// it has no such steps, or if nothing was done.
    pub(crate) failed_exchanges: Option<f64>,
    /// Length of each sample in the window, and the operations of each thread in it. Empty if the
    /// window has no samples.
    pub(crate) samples: Vec<(Duration, Vec<u64>)>,
    /// Beginning and end of the window.
    pub(crate) window: (Instant, Instant),
    /// True if all threads that should be pinned were pinned.
    pub(crate) pinned: bool,
    /// Start, end and presence of each thread, in any order.
    pub(crate) threads: Vec<Stamps>,
    /// Observations that the probe made on each thread.
    pub(crate) found: Vec<F>,
    /// Observation that the probe made on the main thread.
    pub(crate) seen: S,
}

impl<F, S> Run<F, S> {
    /// Returns the operations per second of one guest during the window.
    pub(crate) fn throughput(&self) -> f64 {
        let (begin, end) = self.window;
        let operations = self.counted.iter().sum::<u64>() as f64 / self.guests as f64;
        operations / (end - begin).as_secs_f64()
    }

    /// Returns the CPU time per operation, all threads together, from start to end, in nanoseconds.
    /// `None` if the system does not count it, or if nothing was done.
    pub(crate) fn cpu_ns(&self) -> Option<f64> {
        let ran = presence::ran(&self.threads)?;
        (self.operations > 0).then(|| ran.as_nanos() as f64 / self.operations as f64)
    }

    /// Returns the number of times that a thread slept per operation, all threads together, from
    /// start to end. `None` if the system does not count it, or if nothing was done.
    pub(crate) fn sleeps(&self) -> Option<f64> {
        let slept = presence::slept(&self.threads)?;
        (self.operations > 0).then(|| slept as f64 / self.operations as f64)
    }
}

/// Message of a thread that has stopped.
struct Stopped<F> {
    pinned: bool,
    /// True if a pinned thread was still pinned at its end.
    kept: bool,
    stamps: Stamps,
    found: F,
}

/// Lock that admits one run at a time: the stop flag is global, and two runs would disturb each
/// other.
static ONE: Mutex<()> = Mutex::new(());

/// Returns the prepared objects of each guest.
fn prepare<S: Stage>(cell: HostCell, guests: usize) -> Result<Vec<Prepared<S>>, String> {
    let (variant, local_work) = (cell.variant.clone(), cell.local_work);
    let objects = move || -> Option<Vec<_>> {
        let new = || Prepared::new(&variant, LINE_BYTES, None, local_work);
        (0..guests).map(|_| new()).collect()
    };
    // Filling tables takes long, so do it on a thread that can be abandoned.
    let prepared = match cell.variant.tables().next() {
        Some(_) => abandonable("filling the tables", objects)?,
        None => objects(),
    };
    prepared.ok_or_else(|| "there is no memory for the scenario's objects".to_owned())
}

/// Starts the threads of a run, and returns when all are ready. Each thread sends a message when it
/// ends.
fn start<P: Probe>(
    cell: HostCell,
    shared: &Arc<Shared<P::Stage>>,
    probe: &Arc<P>,
) -> Result<Receiver<Stopped<P::Found>>, String> {
    let tasks = shared.progress.len();
    let (sender, receiver) = channel();
    for index in 0..tasks {
        if jobs::interrupted() {
            return Err(INTERRUPTED.to_owned());
        }
        let (shared, probe, sender) = (Arc::clone(shared), Arc::clone(probe), sender.clone());
        let place = Place {
            index,
            guest: index / cell.threads,
            cpu: cell.placement.cpu(index % cell.threads),
        };
        std::thread::Builder::new()
            .spawn(move || work(place, shared, probe, &sender))
            .map_err(|error| format!("thread {index} cannot be started: {error}"))?;
    }
    let started = Instant::now();
    // Acquire: pairs with each thread's release when it is ready.
    while shared.ready.load(Ordering::Acquire) < tasks {
        if jobs::interrupted() {
            return Err(INTERRUPTED.to_owned());
        }
        if started.elapsed() > LONGEST_START {
            let seconds = LONGEST_START.as_secs();
            return Err(format!("{} did not start within {seconds} s", in_words(tasks)));
        }
        std::thread::yield_now();
    }
    Ok(receiver)
}

/// Place of a thread in a run.
#[derive(Clone, Copy)]
struct Place {
    index: usize,
    guest: usize,
    cpu: Option<usize>,
}

/// Runs the operations of one thread until the run stops. Then sends the thread's message.
fn work<P: Probe>(
    Place { index, guest, cpu }: Place,
    shared: Arc<Shared<P::Stage>>,
    probe: Arc<P>,
    sender: &Sender<Stopped<P::Found>>,
) {
    let pinned = cpu.is_none_or(pin);
    let mut ready = probe.prepare(index, cpu.filter(|_| pinned));
    drop(probe);
    // Release: pairs with the main thread's acquire, which makes the prepared state visible there.
    shared.ready.fetch_add(1, Ordering::Release);
    while !shared.go.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    let begun = Begun::now();
    P::begin(&mut ready);
    let progress = &shared.progress[index].0;
    // Only this thread writes the line, so the store is cheap. The line moves only when the main
    // thread reads it.
    shared.prepared[guest].run_task(|done| progress.store(done, Ordering::Relaxed));
    let found = P::end(ready);
    let stamps = begun.ended();
    drop(shared);
    let kept = !pinned || cpu.is_none_or(guard::is_pinned_to);
    // Sending fails only if the main thread has given up.
    let _ = sender.send(Stopped { pinned, kept, stamps, found });
}

/// Runs `cell` with a probe on each thread. If another thread has begun a run, waits for it first.
///
/// # Errors
///
/// If the run stalls, the objects end in a wrong state, or CPUs were taken away meanwhile. Also
/// after an interrupt; the caller must check for an interrupt, because the message is then
/// meaningless.
pub(crate) fn run<P: Probe>(
    cell: HostCell,
    times: Times,
    probe: P,
) -> Result<Run<P::Found, P::Seen>, String> {
    // Ignore poisoning: a panic in another run leaves no state that this run uses.
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if cell.variant.waits_for_others() {
        membarrier::available().map_err(|why| {
            format!(
                "{} waits for other processors, which is not available here: {why}",
                cell.variant.name
            )
        })?;
    }
    let guests = cell.variant.guests.unwrap_or(1);
    let tasks = cell.variant.tasks(cell.threads);
    let prepared = prepare(cell, guests)?;
    let probe = Arc::new(probe);
    let progress = (0..tasks).map(|_| Progress::default()).collect();
    let (ready, go) = (AtomicUsize::new(0), AtomicBool::new(false));
    let shared = Arc::new(Shared { prepared, progress, ready, go });
    set_stop(false);
    guard::begin();
    let receiver = start(cell, &shared, &probe).inspect_err(|_| {
        // Stop the threads that were already started.
        set_stop(true);
        shared.go.store(true, Ordering::Relaxed);
    })?;
    let what = format!("{} on {} of this host", cell.variant.name, in_words(cell.threads));
    let dog = Watchdog { progress: &shared.progress, stalled_after: times.stalled_after, what };
    let watch = Watch { cell, shared: &shared, dog };
    observe(&watch, times, &receiver, &*probe).map_err(|what| {
        // If a step of the script was wrong, that is the reason: its thread does nothing more, and
        // other threads may have waited for it.
        let fault = shared.prepared.iter().find_map(Prepared::fault);
        match fault.filter(|_| !jobs::interrupted()) {
            Some(fault) => format!("{}: {fault}", watch.dog.what),
            None => what,
        }
    })
}

/// Lets the threads of a run work, watches them, stops them, and checks the objects.
fn observe<P: Probe>(
    watch: &Watch<P::Stage>,
    times: Times,
    receiver: &Receiver<Stopped<P::Found>>,
    probe: &P,
) -> Result<Run<P::Found, P::Seen>, String> {
    let Watch { cell, shared, ref dog } = *watch;
    let guests = shared.prepared.len();
    shared.go.store(true, Ordering::Relaxed);
    dog.sleep(times.warm_up)?;
    let looking = probe.watch();
    let (before, begin) = (dog.counts(), Instant::now());
    let samples = match cell.samples {
        Some(samples) => timeline::pass(watch, samples, begin)?,
        None => {
            dog.sleep(times.window)?;
            dog.until(|counts| counts.iter().sum::<u64>() >= P::LEAST_OPERATIONS)?;
            Vec::new()
        }
    };
    let (after, window) = (dog.counts(), (begin, Instant::now()));
    let seen = looking();
    set_stop(true);
    let (mut pinned, mut kept) = (true, true);
    let (mut threads, mut found) = (Vec::new(), Vec::new());
    for _ in &shared.progress {
        let stopped = dog.receive(receiver)?;
        pinned &= stopped.pinned;
        kept &= stopped.kept;
        threads.push(stopped.stamps);
        found.push(stopped.found);
    }
    if jobs::interrupted() {
        // The window was cut short. Leak the objects, because checking and freeing a large table
        // takes long.
        std::mem::forget(Arc::clone(shared));
        return Err(INTERRUPTED.to_owned());
    }
    // All threads have stopped. Each sent its message after its last access.
    let counts = dog.counts();
    let operations: u64 = counts.iter().sum();
    for (prepared, counts) in shared.prepared.iter().zip(counts.chunks(cell.threads)) {
        let verified = prepared.verify(counts.iter().sum());
        verified.map_err(|violation| format!("{}: {violation}", dog.what))?;
    }
    guard::check(cell.placement, cell.threads, pinned, kept)?;
    let counted = before.iter().zip(after).map(|(before, after)| after - before).collect();
    let failed: u64 = shared.prepared.iter().map(|objects| objects.exchanges().failed).sum();
    let has_exchanges = cell.variant.compares_and_exchanges() && operations > 0;
    Ok(Run {
        counted,
        guests,
        operations,
        failed_exchanges: has_exchanges.then(|| failed as f64 / operations as f64),
        samples,
        window,
        pinned,
        threads,
        found,
        seen,
    })
}
