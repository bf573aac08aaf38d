//! Running a model to its end, and saying what it found.
//!
//! loom reports a failure by a panic. Here a failure is a value, because half of what this crate
//! does is to show that wrong programs fail; and the number of executions is part of every result,
//! because a check that explored nothing has checked nothing.

use crate::finding::{Caught, catching};
use lockyard::platform::checked::{Waits, with_waits};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How far a model is explored.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Preemptions in one execution; `None` for any number.
    pub preemptions: Option<usize>,
    /// How waiting loops are explored.
    pub waits: Waits,
}

/// More executions than this and the model is reported as not finished, which is a failure: a
/// check that stops on its way has not checked what it says.
pub const MOST_EXECUTIONS: u64 = 3_000_000;

/// Transitions in one execution after which it is taken to make no progress.
const MOST_BRANCHES: usize = 2_000;

impl Bounds {
    /// Every execution, waits explored where they succeed.
    pub const ALL: Bounds = Bounds { preemptions: None, waits: Waits::UntilTrue };
    /// Every execution, with every failed poll of every wait.
    pub const EVERYTHING: Bounds = Bounds { preemptions: None, waits: Waits::Everything };

    /// Up to `preemptions` preemptions, to which a thread that waits for what is not there yet adds none.
    pub const fn stepping_back(preemptions: usize) -> Bounds {
        Bounds { preemptions: Some(preemptions), waits: Waits::SteppingBack }
    }

    /// Up to `preemptions` preemptions, waits explored where they succeed.
    pub const fn preemptions(preemptions: usize) -> Bounds {
        Bounds { preemptions: Some(preemptions), waits: Waits::UntilTrue }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.preemptions {
            Some(bound) => write!(f, "bound {bound}")?,
            None => write!(f, "no bound")?,
        }
        match self.waits {
            Waits::UntilTrue => Ok(()),
            Waits::SteppingBack => write!(f, ", waiters step back"),
            Waits::Everything => write!(f, ", every poll"),
        }
    }
}

/// What an exploration that found nothing wrong covered.
#[derive(Clone, Copy, Debug)]
pub struct Explored {
    /// Executions of the model.
    pub executions: u64,
    /// How long they took.
    pub elapsed: Duration,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} executions, {:.2} s", self.executions, self.elapsed.as_secs_f64())
    }
}

/// A model that failed: how, and in which execution.
#[derive(Clone, Debug)]
pub struct Failed {
    /// What was found.
    pub caught: Caught,
    /// Executions up to and with the one that failed.
    pub executions: u64,
}

/// Explores `model` within `bounds`. `threads` is how many threads it has, with its main one.
///
/// # Errors
///
/// What the first execution that failed reported.
///
/// # Panics
///
/// If there was no execution, or if `threads` is more than loom has.
pub fn explore(
    threads: usize,
    bounds: Bounds,
    model: impl Fn() + Send + Sync + 'static,
) -> Result<Explored, Failed> {
    assert!(threads <= loom::MAX_THREADS, "loom has at most {} threads", loom::MAX_THREADS);
    let executions = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&executions);
    let started = Instant::now();
    let mut builder = loom::model::Builder::new();
    builder.max_threads = threads;
    builder.max_branches = MOST_BRANCHES;
    builder.preemption_bound = bounds.preemptions;
    builder.max_permutations = None;
    builder.max_duration = None;
    let result = catching(AssertUnwindSafe(|| {
        with_waits(bounds.waits, || {
            builder.check(move || {
                let so_far = counted.fetch_add(1, Ordering::Relaxed);
                assert!(so_far < MOST_EXECUTIONS, "unfinished: {MOST_EXECUTIONS} executions");
                model();
            });
        });
    }));
    let executions = executions.load(Ordering::Relaxed);
    assert!(executions > 0, "nothing was explored");
    match result {
        Ok(()) => Ok(Explored { executions, elapsed: started.elapsed() }),
        Err(caught) => Err(Failed { caught, executions }),
    }
}
