//! The back-ends: two model checkers, a simulated machine, threads of the host. Each runs a
//! [`Program`], unchanged, and reports its violations.

use crate::dpor::{self, Deletions, Exploration, Model};
use crate::explore::{Bounds, Explored, Failed, MOST_EXECUTIONS, explore};
use crate::finding::{Caught, Finding, STUCK, catching};
use crate::hooks::{Fault, Faulty, Watched, give_up_when};
use crate::primitives::Primitive;
use crate::program::{Outcome as Left, Program};
use lockyard::Native;
use lockyard::platform::checked::Checked;
use lockyard::platform::hooked::Hooked;
use lockyard_sim::{Machine, RunEnd, Simulated, Simulation};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};

/// Result of running a program on a back-end.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The violation found; `None` if there was none.
    pub caught: Option<Caught>,
    /// Number of runs of the program: executions of the model, attempts with threads, simulated
    /// runs.
    pub runs: u64,
}

impl Verdict {
    /// Returns the kind of the violation, if there is one.
    pub fn finding(&self) -> Option<Finding> {
        self.caught.as_ref().map(|caught| caught.finding)
    }
}

/// Prints a verdict. Asserts that its finding is one of `expected`, or that there is no finding if
/// `expected` is empty.
///
/// # Panics
///
/// Panics if the finding is not an expected one.
#[track_caller]
pub fn says(title: &str, verdict: &Verdict, expected: &[Finding]) {
    let found = verdict.caught.as_ref().map_or("nothing".into(), |caught| caught.to_string());
    println!("{title}: {found}, {} runs", verdict.runs);
    match verdict.finding() {
        Some(finding) => assert!(expected.contains(&finding), "{title}: expected {expected:?}"),
        None => assert!(expected.is_empty(), "{title}: expected {expected:?}"),
    }
}

/// Explores program `P` within `bounds`. Each of `ops` runs once, in its own thread. Also returns
/// the outcomes of all executions.
///
/// # Errors
///
/// The finding of the first execution that failed.
pub fn model<P: Program>(
    ops: &[P::Op],
    bounds: Bounds,
) -> Result<(Explored, BTreeSet<Left>), Failed> {
    let shared_ops: Arc<[P::Op]> = ops.into();
    let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
    let all = Arc::clone(&outcomes);
    let explored = explore(ops.len(), bounds, move || {
        Checked::begin();
        crate::quarantine::begin();
        let program = Arc::new(P::new(&shared_ops, 1));
        program.begin();
        let others: Vec<_> = (1..shared_ops.len())
            .map(|thread| {
                let program = Arc::clone(&program);
                loom::thread::spawn(move || program.step(thread, 0))
            })
            .collect();
        program.step(0, 0);
        for thread in others {
            thread.join().expect("a thread of a model does not end by a panic");
        }
        crate::hooks::free_nothing();
        program.finish();
        all.lock().expect("no thread panics with it").insert(program.outcome());
    })?;
    let outcomes = std::mem::take(&mut *outcomes.lock().expect("no thread panics with it"));
    Ok((explored, outcomes))
}

/// Explores program `P` by its execution graphs ([`crate::dpor`]), without a bound. Each of `ops`
/// runs once, in its own thread. Also returns the outcomes of all executions.
///
/// # Errors
///
/// The finding of the first execution that failed.
pub fn graphs<P: Program>(
    ops: &[P::Op],
    deletions: Deletions,
) -> Result<(Exploration, BTreeSet<Left>), Failed> {
    let outcomes = Rc::new(RefCell::new(BTreeSet::new()));
    let runs = Cell::new(0);
    let make = || {
        runs.set(runs.get() + 1);
        crate::quarantine::begin();
        let program = Rc::new(P::new(ops, 1));
        program.begin();
        let step = |thread: usize| {
            let program = Rc::clone(&program);
            Box::new(move || program.step(thread, 0)) as Box<dyn FnOnce()>
        };
        let threads = (0..ops.len()).map(step).collect();
        let all = Rc::clone(&outcomes);
        let finish = Box::new(move || {
            crate::hooks::free_nothing();
            program.finish();
            all.borrow_mut().insert(program.outcome());
        });
        Model { threads, finish }
    };
    let explored = catching(AssertUnwindSafe(|| dpor::explore(deletions, MOST_EXECUTIONS, make)))
        .map_err(|caught| Failed { caught, executions: runs.get() })?;
    Ok((explored, outcomes.take()))
}

/// Returns the result of an exploration of graphs as a verdict.
pub fn verdict_of_graphs(result: Result<(Exploration, BTreeSet<Left>), Failed>) -> Verdict {
    verdict_of(result.map(|(explored, _)| explored.executions))
}

/// Checks primitive `P` with fault `F` in a model, with at most two preemptions. The `Search` is
/// ignored, because the check is exhaustive within that bound.
pub fn check_model<P: Primitive, F: Fault>(_search: Search) -> Verdict {
    verdict(model::<P::Program<Hooked<Checked, Faulty<F>>>>(P::MIX, Bounds::preemptions(2)))
}

/// Returns the result of an exploration as a verdict.
pub fn verdict(result: Result<(Explored, BTreeSet<Left>), Failed>) -> Verdict {
    verdict_of(result.map(|(explored, _)| explored.executions))
}

fn verdict_of(executions: Result<u64, Failed>) -> Verdict {
    match executions {
        Ok(runs) => Verdict { caught: None, runs },
        Err(failed) => Verdict { caught: Some(failed.caught), runs: failed.executions },
    }
}

/// Runs program `P` on threads of the host, for `rounds` rounds each. Repeats this until it finds a
/// violation, at most `attempts` times. `P` must be on a [`Watched`] host, so that every wait ends.
pub fn native<P: Program>(ops: &[P::Op], rounds: u32, attempts: u64) -> Verdict {
    for attempt in 1..=attempts {
        if let Some(caught) = attempt_natively::<P>(ops, rounds, attempt) {
            return Verdict { caught: Some(caught), runs: attempt };
        }
    }
    Verdict { caught: None, runs: attempts }
}

/// Runs program `P` once on threads of the host. `attempt` determines where its threads yield.
pub(crate) fn attempt_natively<P: Program>(
    ops: &[P::Op],
    rounds: u32,
    attempt: u64,
) -> Option<Caught> {
    let program = P::new(ops, rounds);
    program.begin();
    let failed = Arc::new(AtomicBool::new(false));
    let start = Barrier::new(ops.len());
    let mut caught: Vec<Caught> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..ops.len())
            .map(|thread| {
                let (program, start, failed) = (&program, &start, Arc::clone(&failed));
                scope.spawn(move || {
                    give_up_when(Arc::clone(&failed), attempt << 8 | thread as u64);
                    start.wait();
                    let result = catching(AssertUnwindSafe(|| {
                        for round in 0..rounds {
                            program.step(thread, round);
                        }
                    }));
                    if result.is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                    result.err()
                })
            })
            .collect();
        let results = threads.into_iter().map(|t| t.join().expect("its panics are caught"));
        results.flatten().collect()
    });
    if caught.is_empty() {
        return catching(AssertUnwindSafe(|| program.finish())).err();
    }
    // A thread that panics while it holds the lock leaves the others stuck, so that thread's
    // finding comes first.
    caught.sort_by_key(|caught| caught.finding == Finding::Stuck);
    caught.into_iter().next()
}

/// Rounds of each thread in a native check.
pub const NATIVE_ROUNDS: u32 = 2_000;

/// Number of attempts after which a check reports that it found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// A few attempts, for a check that should find nothing.
    Briefly,
    /// Attempts until a violation is found, up to a limit, for a check that should find one.
    UntilFound,
}

impl Search {
    fn attempts(self) -> u64 {
        match self {
            Search::Briefly => 20,
            Search::UntilFound => 2_000,
        }
    }
}

/// Checks primitive `P` with fault `F` on threads of the host.
pub fn check_natively<P: Primitive, F: Fault>(search: Search) -> Verdict {
    native::<P::Program<Hooked<Native, Watched<F>>>>(P::MIX, NATIVE_ROUNDS, search.attempts())
}

/// The machine of simulated checks.
const MACHINE: &str = "cascade-lake-2s24c2t";
/// Number of events after which a simulated run counts as making no progress. The longest run
/// without a fault needs a hundredth of it.
const MOST_EVENTS: u64 = 20_000_000;

/// Runs program `P` on a simulated machine, for `rounds` rounds each. Each attempt uses another
/// random order of service. The search ends at the first violation, or after `attempts`. Threads
/// are placed on cores of both sockets.
///
/// # Panics
///
/// If the machine is not a shipped one.
pub fn simulated<P: Program>(ops: &[P::Op], rounds: u32, attempts: u64) -> Verdict {
    let machine = Machine::shipped(MACHINE).expect("the machine is shipped");
    let stride = machine.hardware_threads() / 2 / ops.len();
    let places: Vec<usize> = (0..ops.len()).map(|thread| thread * stride).collect();
    for seed in 1..=attempts {
        if let Some(caught) = simulate_at::<P>(&machine, &places, seed, ops, rounds) {
            return Verdict { caught: Some(caught), runs: seed };
        }
    }
    Verdict { caught: None, runs: attempts }
}

/// Runs program `P` once on a simulated machine, each thread at its place.
pub(crate) fn simulate_at<P: Program>(
    machine: &Machine,
    places: &[usize],
    seed: u64,
    ops: &[P::Op],
    rounds: u32,
) -> Option<Caught> {
    let run = || simulate::<P>(machine, places, seed, ops, rounds);
    catching(AssertUnwindSafe(run)).unwrap_or_else(Some)
}

fn simulate<P: Program>(
    machine: &Machine,
    places: &[usize],
    seed: u64,
    ops: &[P::Op],
    rounds: u32,
) -> Option<Caught> {
    let mut simulation = Simulation::new(machine, seed);
    simulation.limit_events(MOST_EVENTS);
    let program = simulation.setup(|| P::new(ops, rounds));
    let program = simulation.place(program, 64, 0);
    simulation.setup(|| program.begin());
    for (thread, &place) in places.iter().enumerate() {
        let program = program.clone();
        simulation.spawn(place, move || {
            for round in 0..rounds {
                program.step(thread, round);
            }
        });
    }
    let message = match simulation.run() {
        RunEnd::Finished => {
            simulation.setup(|| program.finish());
            return None;
        }
        RunEnd::Panicked { message, .. } => message,
        outcome @ (RunEnd::Stuck(_) | RunEnd::TooManyEvents(_)) => {
            format!("{STUCK}{outcome}").replacen("stuck: stuck: ", STUCK, 1)
        }
        outcome => outcome.to_string(),
    };
    Some(Caught { finding: Finding::of(&message), message })
}

/// Checks primitive `P` with fault `F` on the simulated machine.
pub fn check_simulated<P: Primitive, F: Fault>(search: Search) -> Verdict {
    simulated::<P::Program<Hooked<Simulated, Faulty<F>>>>(
        P::MIX,
        SIMULATED_ROUNDS,
        search.attempts(),
    )
}

/// Rounds of each thread in a simulated check.
pub const SIMULATED_ROUNDS: u32 = 50;
