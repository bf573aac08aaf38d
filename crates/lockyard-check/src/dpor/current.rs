//! The running execution of this OS thread, and the yielder of its running thread.

use super::run::Run;
use corosensei::Yielder;
use std::cell::{Cell, RefCell};
use std::ops::Range;

std::thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
    static YIELDER: Cell<*const Yielder<(), ()>> = const { Cell::new(std::ptr::null()) };
}

/// The running execution, which ends with this value.
pub(super) struct Running(());

impl Running {
    /// Ends the execution, and returns it.
    pub(super) fn end(self) -> Run {
        RUN.take().expect("it was running")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUN.take();
    }
}

/// Begins an execution.
pub(super) fn begin(run: Run) -> Running {
    RUN.set(Some(run));
    Running(())
}

/// Calls `f` with the running execution.
pub(super) fn with_run<R>(f: impl FnOnce(&mut Run) -> R) -> R {
    RUN.with_borrow_mut(|run| f(run.as_mut().expect("used outside of a model")))
}

/// Returns true if a model is running on this OS thread.
pub(super) fn is_running() -> bool {
    RUN.with_borrow(Option::is_some)
}

/// Sets the yielder of the coroutine that runs, or is about to run.
pub(super) fn set_yielder(yielder: *const Yielder<(), ()>) {
    YIELDER.set(yielder);
}

/// Returns the yielder of the coroutine that ran last.
pub(super) fn yielder() -> *const Yielder<(), ()> {
    YIELDER.get()
}

/// Suspends the running thread until it is its turn.
pub(super) fn suspend() {
    let yielder = YIELDER.get();
    // SAFETY: the pointer belongs to the running coroutine: the explorer set it before it resumed
    // the coroutine. It is valid as long as the coroutine.
    unsafe { (*yielder).suspend(()) };
}

/// Abandons the run.
pub(super) fn abandon() -> ! {
    with_run(|run| run.abandoned = true);
    suspend();
    unreachable!("an abandoned thread is not resumed")
}

/// Records that the running thread of a model frees the memory in `range`. A use of this memory
/// that is not ordered before the call is a finding.
pub(crate) fn freed(range: &Range<usize>) {
    if is_running() && !std::thread::panicking() {
        with_run(|run| run.free(range.clone()));
    }
}
