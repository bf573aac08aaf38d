//! Scenarios on CPUs of this host, in short tries.
//!
//! All threads meet, and run operations until the first thread sees the end of the window. Then all
//! of them stop. As with pairs, a try counts only if every thread had its CPU throughout. With fair
//! locks, a single thread that waits for its CPU blocks all others for milliseconds.

use super::on_cpu::OnCpu;
use super::pair::Visit;
use super::share::Share;
use lockyard_measure::scenario::stage::OnHost;
use lockyard_measure::watchdog::{INTERRUPTED, LONGEST_STOP, LONGEST_WAIT};
use lockyard_results::statistics;
use lockyard_scenarios::{Prepared, Stage, Variant};
use lockyard_support::jobs;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Tries per sample. The first one is a warm-up, and is discarded.
const TRIES: usize = 5;

/// Duration of a try.
const WINDOW: Duration = Duration::from_micros(400);

/// Number of operations between two clock reads by the first thread.
const BATCH: u64 = 16;

/// Number of polls before a waiting thread yields its CPU.
const POLLS: u32 = 1 << 14;

/// Timeout for progress: if no thread finishes a try in this time, the run has stalled.
const STALLED: Duration = Duration::from_secs(20);

/// Approximate duration of a visit in seconds, not counting the start of its threads.
pub(super) const VISIT_SECONDS: f64 = 0.003;

/// Alignment of the objects' lines: two cache lines, because processors prefetch the neighbouring
/// line.
const LINE_BYTES: usize = 128;

/// Padding to a separate line, including the adjacent line that is prefetched with it.
#[repr(align(128))]
struct Line<T>(T);

/// Stop flag of the run. It is global, because a stage has no `self`. [`ONE`] is held while the
/// flag is in use.
static STOP: Line<AtomicBool> = Line(AtomicBool::new(false));
static ONE: Mutex<()> = Mutex::new(());

/// Stage on this host with a separate stop flag.
struct InTry;

impl Stage for InTry {
    type Host = <OnHost as Stage>::Host;

    #[inline]
    fn work(nanoseconds: f64) {
        OnHost::work(nanoseconds);
    }
    #[inline]
    fn stopping() -> bool {
        STOP.0.load(Ordering::Relaxed)
    }
    #[inline]
    fn operation_done() {}
}

/// State shared by the threads.
struct Shared {
    prepared: Prepared<InTry>,
    threads: usize,
    /// Number of arrivals at meetings, summed over all threads.
    arrived: Line<AtomicUsize>,
}

/// Message of a thread after a try.
struct Done {
    try_number: usize,
    operations: u64,
    /// Duration of the try. Only the first thread knows it.
    window: Option<Duration>,
    whole: bool,
}

impl Shared {
    /// Waits until all threads have arrived here `time` times.
    fn meet(&self, time: usize) {
        // Acquire and release: everything that a thread did before is visible to all threads after.
        self.arrived.0.fetch_add(1, Ordering::AcqRel);
        let mut polls = 0u32;
        // Acquire: pairs with the release above.
        while self.arrived.0.load(Ordering::Acquire) < time * self.threads {
            polls = polls.wrapping_add(1);
            spin_loop();
            if polls.is_multiple_of(POLLS) {
                std::thread::yield_now();
            }
        }
    }
}

/// Makes one visit. Returns the operations per second of all tasks on `cpus` together. If the
/// variant has calibrated work, each operation includes `local_work` nanoseconds of it.
///
/// # Errors
///
/// If a task may not run on its CPU, no task makes progress, or the objects end in a wrong state.
/// Also after an interrupt; the caller must check for an interrupt, because the message is then
/// meaningless.
pub(super) fn visit(
    variant: &Variant,
    cpus: &[usize],
    local_work: f64,
    round: usize,
) -> Result<Visit, String> {
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // Calibrates the work loop, once per process, before anything else is measured.
    OnHost::work(1.0);
    // The time of a transfer depends on the home of the line, so each round places its objects
    // elsewhere.
    let padding: Vec<u8> = Vec::with_capacity(round % 61 * 192 + 64);
    let prepared = Prepared::<InTry>::new(variant, LINE_BYTES, None, local_work)
        .ok_or("there is no memory for the scenario's objects")?;
    drop(black_box(padding));
    let shared =
        Arc::new(Shared { prepared, threads: cpus.len(), arrived: Line(AtomicUsize::new(0)) });
    STOP.0.store(true, Ordering::Relaxed);
    let (sender, receiver) = channel();
    let mut threads = Vec::new();
    for (index, &cpu) in cpus.iter().enumerate() {
        let (mine, sender) = (Arc::clone(&shared), sender.clone());
        match OnCpu::start(cpu, move || task(index, &mine, &sender)) {
            Ok(thread) => threads.push(thread),
            Err(message) => {
                // Let the threads that did start continue without the missing ones.
                shared.arrived.0.fetch_add(cpus.len() * 3 * TRIES, Ordering::AcqRel);
                // The results no longer matter, and neither does a panic.
                threads.into_iter().for_each(|thread| drop(thread.finish()));
                return Err(message);
            }
        }
    }
    drop(sender);
    let mut tries: Vec<(u64, Option<Duration>, bool)> = vec![(0, None, true); TRIES];
    let mut since = Instant::now();
    loop {
        match receiver.recv_timeout(LONGEST_WAIT) {
            Ok(done) => {
                since = Instant::now();
                let all = &mut tries[done.try_number];
                all.0 += done.operations;
                all.1 = all.1.or(done.window);
                all.2 &= done.whole;
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if since.elapsed() < STALLED => {
                if jobs::since_interrupt().is_some_and(|passed| passed > LONGEST_STOP) {
                    return Err(INTERRUPTED.to_owned());
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!(
                    "{} on {} of this host is stalled: nothing was finished for {:.0} s",
                    variant.name,
                    lockyard_support::threads(cpus.len()),
                    STALLED.as_secs_f64()
                ));
            }
        }
    }
    threads.into_iter().try_for_each(OnCpu::finish)?;
    let operations = tries.iter().map(|(operations, ..)| operations).sum();
    shared.prepared.verify(operations).map_err(|violation| {
        let on = lockyard_support::threads(cpus.len());
        format!("{} on {on} of this host: {violation}", variant.name)
    })?;
    let counted = &tries[1..];
    let figures: Vec<f64> = counted
        .iter()
        .filter(|(.., whole)| *whole)
        .filter_map(|(operations, window, _)| Some(*operations as f64 / (*window)?.as_secs_f64()))
        .collect();
    let lost = (counted.len() - figures.len()) as u64;
    Ok(Visit { figure: statistics::median(&figures), counted: figures.len() as u64, lost })
}

/// Runs one thread.
fn task(index: usize, shared: &Shared, sender: &Sender<Done>) {
    for try_number in 0..TRIES {
        shared.meet(try_number * 3 + 1);
        if index == 0 {
            STOP.0.store(false, Ordering::Relaxed);
        }
        // By now, every thread has passed the first meeting, and the flag is cleared.
        shared.meet(try_number * 3 + 2);
        let share = Share::begin();
        let begin = Instant::now();
        let (mut operations, mut window) = (0, None);
        shared.prepared.run_task(|done| {
            operations = done;
            if index == 0 && done.is_multiple_of(BATCH) {
                let passed = begin.elapsed();
                if passed >= WINDOW {
                    STOP.0.store(true, Ordering::Relaxed);
                    window = Some(passed);
                }
            }
        });
        let whole = share.was_whole();
        shared.meet(try_number * 3 + 3);
        // Sending fails only if the receiver has given up.
        let _ = sender.send(Done { try_number, operations, window, whole });
    }
}

#[cfg(test)]
mod tests {
    use super::super::contended;
    use super::*;
    use lockyard_measure::cpus::Cpus;

    #[test]
    fn every_scenario_is_performed_and_its_objects_are_as_they_ought_to_be() {
        let all = Cpus::allowed();
        let cpus = &all.all()[..all.len().min(2)];
        for variant in contended::variants() {
            match visit(&variant, cpus, 0.0, 7) {
                Ok(visit) => {
                    assert_eq!(visit.counted + visit.lost, TRIES as u64 - 1, "{visit:?}");
                    assert!(visit.figure.is_none_or(|figure| figure > 0.0), "{visit:?}");
                }
                Err(message) => assert!(message.contains("cannot be pinned"), "{message}"),
            }
        }
    }

    #[test]
    fn a_cpu_that_may_not_be_used_is_named_and_nobody_waits_for_it() {
        let variant = &contended::variants()[0];
        let error = visit(variant, &[Cpus::allowed().cpu(0), 1_000_000], 0.0, 0).unwrap_err();
        assert!(error.contains("cannot be pinned to CPU"), "{error}");
    }
}
