//! The exploration of waiting loops.
//!
//! Model checking of locks explodes at loops that poll until another thread has acted: each failed
//! poll is a branch, and their number has no limit. But a failed poll has no effect. The predicate
//! is pure, and a poll with acquire can only *add* order. So every outcome of the program is also
//! the outcome of an execution in which the waiter runs later and no poll fails.
//! [`Waits::UntilTrue`] and [`Waits::SteppingBack`] explore only such executions.

use std::cell::Cell;

/// The executions of a waiting loop to explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waits {
    /// Executions in which the first poll succeeds. If the first poll fails, loom explores nothing
    /// below that point (`loom::skip_branch`). The execution still runs to its end. So its
    /// assertions run, a waiter that no thread wakes is reported, and loom explores the accesses
    /// that race with it from earlier points.
    UntilTrue,
    /// The same as `UntilTrue`, but a thread that would wait yields once before it polls, which
    /// does not count as a preemption. So waiting threads do not use up the bound on preemptions.
    /// Many more explored executions then have several threads waiting at the same time.
    SteppingBack,
    /// All executions. The exploration ends with two threads, and rarely with more. It shows that
    /// [`UntilTrue`](Self::UntilTrue) loses nothing.
    Everything,
}

std::thread_local! {
    // A thread-local of the OS thread: loom runs all threads of a model on the OS thread that
    // called `check`.
    static WAITS: Cell<Waits> = const { Cell::new(Waits::UntilTrue) };
}

/// Runs `check` (a call of loom's `check` or `model`) with waiting loops explored as `waits` says.
/// Outside this call they are explored as [`Waits::UntilTrue`].
pub fn with_waits<R>(waits: Waits, check: impl FnOnce() -> R) -> R {
    struct Restore(Waits);
    impl Drop for Restore {
        fn drop(&mut self) {
            WAITS.set(self.0);
        }
    }
    let _restore = Restore(WAITS.replace(waits));
    check()
}

/// Polls until `poll` returns a value. `ready` tells, outside the model, whether `poll` would
/// return a value now. Except in [`Waits::Everything`], a first poll that fails ends the
/// exploration below it.
#[track_caller]
pub(super) fn wait<T>(ready: impl FnOnce() -> bool, mut poll: impl FnMut() -> Option<T>) -> T {
    let waits = WAITS.get();
    if waits == Waits::SteppingBack && !ready() {
        // Yields once, and only if the value is not ready: two threads that yield to each other in
        // turn would never end.
        loom::thread::yield_now();
    }
    let mut first = true;
    loop {
        if let Some(value) = poll() {
            return value;
        }
        if first && waits != Waits::Everything {
            loom::skip_branch();
        }
        first = false;
        // A thread whose wait never ends polls until it reaches loom's limit of branches, which
        // reports it.
        loom::thread::yield_now();
    }
}

std::thread_local! {
    /// Number of changes of words so far, by all threads. All threads of a model run on one OS
    /// thread, and so do its executions: only differences within one execution mean something.
    static CHANGES: Cell<u64> = const { Cell::new(0) };
}

loom::thread_local! {
    /// Number of changes of words by the running thread, in this execution.
    static OWN_CHANGES: Cell<u64> = Cell::new(0);
}

/// Counts a change of a word by the running thread.
pub(super) fn note_change() {
    CHANGES.set(CHANGES.get() + 1);
    // A thread whose thread-locals are gone does not nap any more, so its own count is not needed.
    let _ = OWN_CHANGES.try_with(|own| own.set(own.get() + 1));
}

/// Returns the number of changes so far, by all threads. Only differences within one execution mean
/// something.
pub(super) fn changes() -> u64 {
    CHANGES.get()
}

/// Returns [`changes`] without the running thread's changes.
pub(super) fn changes_of_others() -> u64 {
    changes() - OWN_CHANGES.with(Cell::get)
}
