//! Watchdog of a run: reads how many operations each thread has done, and lets the main thread wait
//! without hanging.
//!
//! The threads are not joined: if one waits for a lock that is never released, the join would never
//! return. Each thread counts its operations in its own cache line. If no count changes for too
//! long, the run has stalled, which is an error.

use lockyard_support::jobs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Interval at which the main thread checks the threads for progress. It is long, because each
/// check takes CPU time from them.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);

/// Maximum time to wait for a message from a thread before checking for an interrupt.
pub const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// Time that threads get to stop after an interrupt. Slower threads are abandoned until the process
/// ends.
pub const LONGEST_STOP: Duration = Duration::from_millis(400);

/// Error of a run that ended by an interrupt. The caller checks for an interrupt, and does not
/// report this text.
pub const INTERRUPTED: &str = "interrupted";

/// Timeout for threads to start. Threads that miss it are abandoned.
pub const LONGEST_START: Duration = Duration::from_secs(60);

/// Maximum number of threads whose counts appear in an error.
const SHOWN: usize = 16;

/// Runs long work that cannot be interrupted on a separate thread. After an interrupt, that thread
/// is abandoned until the process ends.
///
/// # Errors
///
/// If no thread can be started, `work` panics, or an interrupt comes first.
pub fn abandonable<R: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, String> {
    let (sender, receiver) = channel();
    let begin = move || {
        // Sending fails only if the receiver has given up.
        let _ = sender.send(work());
    };
    let spawned = std::thread::Builder::new().spawn(begin);
    spawned.map_err(|error| format!("{what}: a thread cannot be started: {error}"))?;
    loop {
        match receiver.recv_timeout(LONGEST_WAIT) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) if jobs::interrupted() => {
                return Err(INTERRUPTED.to_owned());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(format!("{what}: a thread ended without a result"));
            }
        }
    }
}

/// Number of operations of one thread, padded to its own cache lines.
#[repr(align(128))]
#[derive(Default)]
pub struct Progress(
    /// Number of operations.
    pub AtomicU64,
);

/// The main thread's view of the threads of a run.
pub struct Watchdog<'a> {
    /// Progress of each thread.
    pub progress: &'a [Progress],
    /// Abort a run where no thread finishes an operation for this long.
    pub stalled_after: Duration,
    /// Description of the run, for errors.
    pub what: String,
}

impl Watchdog<'_> {
    /// Returns the operations of each thread.
    pub fn counts(&self) -> Vec<u64> {
        self.progress.iter().map(|p| p.0.load(Ordering::Relaxed)).collect()
    }

    /// Sleeps while the threads run. Returns early if they stall, or after an interrupt.
    pub fn sleep(&self, time: Duration) -> Result<(), String> {
        let begin = Instant::now();
        let (mut last, mut since) = (self.counts(), begin);
        loop {
            let left = time.saturating_sub(begin.elapsed());
            if left.is_zero() || jobs::interrupted() {
                return Ok(());
            }
            jobs::sleep(left.min(self.stalled_after).min(LONGEST_SLEEP));
            self.progressed(&mut last, &mut since)?;
        }
    }

    /// Waits until the counts meet a condition. Returns early if the threads stall, or after an
    /// interrupt.
    pub fn until(&self, are_such: impl Fn(&[u64]) -> bool) -> Result<(), String> {
        let (mut last, mut since) = (self.counts(), Instant::now());
        while !are_such(&last) && !jobs::interrupted() {
            std::thread::sleep(Duration::from_millis(1));
            self.progressed(&mut last, &mut since)?;
        }
        Ok(())
    }

    /// Waits for the message of a thread that was told to stop, or to do one thing. Gives up some
    /// time after an interrupt.
    pub fn receive<F>(&self, receiver: &Receiver<F>) -> Result<F, String> {
        let (mut last, mut since) = (self.counts(), Instant::now());
        loop {
            match receiver.recv_timeout(self.stalled_after.min(LONGEST_WAIT)) {
                Ok(stopped) => return Ok(stopped),
                Err(RecvTimeoutError::Timeout) => {
                    if jobs::since_interrupt().is_some_and(|passed| passed > LONGEST_STOP) {
                        return Err(INTERRUPTED.to_owned());
                    }
                    self.progressed(&mut last, &mut since)?;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("{}: a thread ended without a result", self.what));
                }
            }
        }
    }

    /// Returns an error if no thread has made progress for too long. `since` is the time of the
    /// last progress.
    fn progressed(&self, last: &mut Vec<u64>, since: &mut Instant) -> Result<(), String> {
        let now = self.counts();
        if now != *last {
            (*last, *since) = (now, Instant::now());
            return Ok(());
        }
        if since.elapsed() < self.stalled_after {
            return Ok(());
        }
        let counts: Vec<String> = now.iter().take(SHOWN).map(u64::to_string).collect();
        let more = if now.len() > SHOWN { ", ..." } else { "" };
        Err(format!(
            "{} is stalled: no operation was finished for {:.1} s; \
             operations of each thread before: {}{more}",
            self.what,
            self.stalled_after.as_secs_f64(),
            counts.join(", ")
        ))
    }
}
