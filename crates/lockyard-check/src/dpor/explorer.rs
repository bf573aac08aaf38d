//! Explores the executions of a model, one graph after another.

use super::allocations;
use super::current::{self, with_run};
use super::graph::{Action, Deletions, Graph, MOST_THREADS};
use super::run::{Phase, Run, State};
use crate::finding::STUCK;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::ManuallyDrop;

/// A model: its threads, and the check after they have ended.
pub struct Model {
    /// The code of each thread.
    pub threads: Vec<Box<dyn FnOnce()>>,
    /// Runs after all threads. It is not called if the run is abandoned.
    pub finish: Box<dyn FnOnce()>,
}

/// Result of an exploration that found nothing wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exploration {
    /// Number of executions. Two can have the same graph only if a thread waits.
    pub executions: u64,
    /// Number of runs that ended early, because their graph belongs to no execution, or another run
    /// continues from it.
    pub abandoned: u64,
}

impl fmt::Display for Exploration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} executions, {} abandoned", self.executions, self.abandoned)
    }
}

/// Size of a stack in bytes.
const STACK_BYTES: usize = 128 * 1024;

std::thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

type Inner = Coroutine<(), (), (), DefaultStack>;

/// A thread of a model.
struct Thread {
    inner: ManuallyDrop<Inner>,
    yielder: *const Yielder<(), ()>,
}

impl Thread {
    fn new(code: Box<dyn FnOnce()>) -> Self {
        let stack = STACKS.with_borrow_mut(Vec::pop);
        let stack = stack.unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("a stack"));
        let inner = Coroutine::with_stack(stack, move |yielder, ()| {
            current::set_yielder(yielder);
            code();
        });
        Thread { inner: ManuallyDrop::new(inner), yielder: std::ptr::null() }
    }

    /// Runs the thread to its next operation. Returns true if it has ended.
    fn resume(&mut self) -> bool {
        current::set_yielder(self.yielder);
        match self.inner.resume(()) {
            CoroutineResult::Yield(()) => {
                self.yielder = current::yielder();
                false
            }
            CoroutineResult::Return(()) => true,
        }
    }
}

impl Drop for Thread {
    /// Keeps the stack. A suspended thread is not unwound, because its destructors would be
    /// operations. So everything that it owns leaks.
    fn drop(&mut self) {
        // SAFETY: `inner` is not used after this.
        let mut inner = unsafe { ManuallyDrop::take(&mut self.inner) };
        if inner.started() && !inner.done() {
            // SAFETY: only the model's objects refer to the stack, and no thread of the model runs
            // again. The objects are leaked, as are the values on the stack.
            unsafe { inner.force_reset() };
        }
        if inner.done() {
            STACKS.with_borrow_mut(|stacks| stacks.push(inner.into_stack()));
        }
    }
}

/// Explores all executions of the model that `make` makes. The objects of an abandoned run, and of
/// a failed run, are leaked.
///
/// # Panics
///
/// If an execution fails, with its message: see [`Finding`](crate::finding::Finding). Also if there
/// are more than `most` executions and abandoned runs, if the model has more than [`MOST_THREADS`]
/// threads, or if it is not deterministic.
pub fn explore(deletions: Deletions, most: u64, make: impl Fn() -> Model) -> Exploration {
    let all = deletions == Deletions::All;
    let most_runs = |result: &Exploration| {
        let runs = result.executions + result.abandoned;
        assert!(runs <= most, "unfinished: {most} executions");
    };
    let mut seen = HashSet::new();
    let mut complete = HashSet::new();
    let mut result = Exploration::default();
    let mut work = vec![Graph::default()];
    while let Some(graph) = work.pop() {
        let (run, ended) = execute(graph, deletions, &make);
        let new = run.work.into_iter().filter(|graph| !all || seen.insert(hash_of(graph)));
        work.extend(new);
        if !ended {
            result.abandoned += 1;
            most_runs(&result);
            continue;
        }
        if all && !complete.insert(hash_of(&run.graph)) {
            continue;
        }
        result.executions += 1;
        most_runs(&result);
    }
    result
}

/// Returns the same for graphs with the same events, sources and orders of writes.
fn hash_of(graph: &Graph) -> u64 {
    let mut hasher = DefaultHasher::new();
    // Ranks only order the writes of a location.
    let mut writes = Vec::new();
    for (id, event) in graph.events() {
        match event.action {
            Action::Write { rank, .. } => writes.push((event.location, rank, id)),
            action => (id, action, event.location).hash(&mut hasher),
        }
    }
    writes.sort_unstable();
    for (location, _, id) in writes {
        (location, id).hash(&mut hasher);
    }
    hasher.finish()
}

/// Runs one execution of the model from `graph`. Returns it, and true if it is complete.
fn execute(graph: Graph, deletions: Deletions, make: impl Fn() -> Model) -> (Run, bool) {
    allocations::free_all();
    let running = current::begin(Run::new(graph, deletions));
    let model = make();
    let count = model.threads.len();
    assert!(count <= MOST_THREADS, "a model has at most {MOST_THREADS} threads");
    // The model is not dropped if the execution fails or is abandoned: its objects may be in any
    // state.
    let finish = ManuallyDrop::new(model.finish);
    if !with_run(|run| run.begin(count)) {
        std::mem::forget(model.threads);
        return (running.end(), false);
    }
    let mut threads: Vec<Thread> = model.threads.into_iter().map(Thread::new).collect();
    let mut resume = |thread: usize| {
        with_run(|run| run.running = thread);
        if threads[thread].resume() {
            with_run(|run| run.states[thread] = State::Ended);
        }
    };
    (0..count).for_each(&mut resume);
    while let Some(thread) = with_run(|run| run.next_replayed()) {
        resume(thread);
        if with_run(|run| run.abandoned) {
            break;
        }
    }
    with_run(|run| run.end_replay());
    while let Some(thread) = with_run(|run| run.next_extended()) {
        resume(thread);
    }
    let complete = with_run(|run| {
        if run.abandoned {
            return false;
        }
        let waits = run.states.iter().filter(|&&state| state == State::Blocked).count();
        assert!(waits == 0, "{STUCK}{waits} threads wait for ever");
        run.phase = Phase::After;
        true
    });
    drop(threads);
    if complete {
        ManuallyDrop::into_inner(finish)();
    }
    (running.end(), complete)
}
