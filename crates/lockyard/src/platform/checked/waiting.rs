//! How a waiting loop is explored.
//!
//! A loop that polls until another thread has acted is what makes model checking of locks explode:
//! each failed poll is a branch, and there may be any number of them. But a failed poll leaves
//! nothing behind (the predicate is pure; if the poll is an acquire it can only *add* order), so
//! every outcome of the program is also the outcome of an execution whose polls fail nowhere: the
//! one in which the waiter was scheduled later. [`Waits::UntilTrue`] and [`Waits::SteppingBack`] explore only
//! those.

use std::cell::Cell;

/// Which executions of a waiting loop are explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waits {
    /// Those in which the first poll succeeds. Where it fails, nothing further is explored below
    /// that point (`loom::skip_branch`); the execution still runs to its end, so that its
    /// assertions are tried, a waiter that nobody wakes is reported, and the accesses that it races
    /// with are explored from earlier points.
    UntilTrue,
    /// The same, and a thread that is about to wait for what is not there yet steps back once, before it
    /// polls, which is no preemption. So the bound on preemptions is not used up by waiting threads, and
    /// many more executions are explored in which several wait at the same time.
    SteppingBack,
    /// All of them. It ends with two threads, rarely with more; it is there to show that
    /// [`UntilTrue`](Self::UntilTrue) loses nothing.
    Everything,
}

std::thread_local! {
    // Of the OS thread: loom runs all threads of a model on the one that called `check`.
    static WAITS: Cell<Waits> = const { Cell::new(Waits::UntilTrue) };
}

/// Runs `check` (a call of loom's `check` or `model`) with waiting loops explored as `waits` says.
/// Without it they are explored as [`Waits::UntilTrue`].
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

/// Polls until `poll` returns a value; `ready` says, outside the model, that it can. A first poll that fails
/// ends the exploration below it, unless everything is explored.
#[track_caller]
pub(super) fn wait<T>(ready: impl FnOnce() -> bool, mut poll: impl FnMut() -> Option<T>) -> T {
    let waits = WAITS.get();
    if waits == Waits::SteppingBack && !ready() {
        // Once, and not until it is ready: two threads that step back in turn would do so for ever.
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
        // A thread that nobody will ever satisfy polls until loom's limit of branches is reached,
        // and that is the report.
        loom::thread::yield_now();
    }
}
