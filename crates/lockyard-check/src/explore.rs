//! Explores a model, and reports its result.
//!
//! loom reports a failure by a panic. Here a failure is a value, because half of this crate shows
//! that wrong programs fail. Each result includes the number of executions, because a check that
//! explored nothing has checked nothing.

use crate::finding::{Caught, catching};
use lockyard::platform::checked::{Waits, with_waits};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bounds of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum number of preemptions in one execution; `None` for no bound.
    pub preemptions: Option<usize>,
    /// Exploration of waiting loops.
    pub waits: Waits,
    /// Number of executions after which the exploration stops and counts as done: a search. It may
    /// find a fault, but finding none proves nothing. `None`: all executions.
    pub first: Option<u64>,
}

/// Maximum number of executions. A model that needs more fails as unfinished. A check that stops
/// early has not checked its claim.
pub const MOST_EXECUTIONS: u64 = 3_000_000;

/// Number of transitions in one execution after which it counts as making no progress.
const MOST_BRANCHES: usize = 2_000;

impl Bounds {
    /// Every execution; waits are explored only where they succeed.
    pub const ALL: Bounds = Bounds { preemptions: None, waits: Waits::UntilTrue, first: None };
    /// Every execution, with every failed poll of every wait.
    pub const EVERYTHING: Bounds =
        Bounds { preemptions: None, waits: Waits::Everything, first: None };

    /// Up to `preemptions` preemptions. Waiting threads that step back do not count as preempted.
    pub const fn stepping_back(preemptions: usize) -> Bounds {
        Bounds { preemptions: Some(preemptions), waits: Waits::SteppingBack, first: None }
    }

    /// Up to `preemptions` preemptions; waits are explored only where they succeed.
    pub const fn preemptions(preemptions: usize) -> Bounds {
        Bounds { preemptions: Some(preemptions), waits: Waits::UntilTrue, first: None }
    }

    /// The same, but only the first `executions`.
    #[must_use]
    pub const fn first(self, executions: u64) -> Bounds {
        Bounds { first: Some(executions), ..self }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.preemptions {
            Some(bound) => write!(f, "bound {bound}")?,
            None => write!(f, "no bound")?,
        }
        match self.waits {
            Waits::UntilTrue => {}
            Waits::SteppingBack => write!(f, ", waiters step back")?,
            Waits::Everything => write!(f, ", every poll")?,
        }
        self.first.map_or(Ok(()), |first| write!(f, ", the first {first} executions"))
    }
}

/// Coverage of an exploration that found nothing wrong.
#[derive(Clone, Copy, Debug)]
pub struct Explored {
    /// Number of executions of the model.
    pub executions: u64,
    /// Time that they took.
    pub elapsed: Duration,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} executions, {:.2} s", self.executions, self.elapsed.as_secs_f64())
    }
}

/// Failure of a model, with the execution that failed.
#[derive(Clone, Debug)]
pub struct Failed {
    /// The finding.
    pub caught: Caught,
    /// Number of executions, including the one that failed, and of abandoned runs.
    pub executions: u64,
}

/// Explores `model` within `bounds`. `threads` is its number of threads, including the main one.
///
/// # Errors
///
/// The report of the first execution that failed.
///
/// # Panics
///
/// If there was no execution, or if `threads` exceeds the maximum of loom.
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
    builder.max_permutations = bounds.first.map(|first| first as usize);
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
