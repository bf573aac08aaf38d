//! The exploration of waiting loops.
//!
//! Model checking of locks explodes at loops that poll until another thread has acted: each failed
//! poll is a branch, and there may be any number of them. But a failed poll leaves nothing behind.
//! The predicate is pure, and a poll with acquire can only *add* order. So every outcome of the
//! program is also the outcome of an execution in which no poll fails, because the waiter was
//! scheduled later. [`Waits::UntilTrue`] and [`Waits::SteppingBack`] explore only those.

use std::cell::Cell;

/// The executions of a waiting loop to explore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Waits {
    /// Those in which the first poll succeeds. If it fails, nothing more is explored below that
    /// point (`loom::skip_branch`). The execution still runs to its end. So its assertions are
    /// tried, a waiter that no thread wakes is reported, and the accesses that race with it are
    /// explored from earlier points.
    UntilTrue,
    /// The same, but a thread that would wait steps back once before it polls, which is no
    /// preemption. So waiting threads do not use up the bound on preemptions, and many more
    /// executions are explored in which several threads wait at the same time.
    SteppingBack,
    /// All of them. It ends with two threads, rarely with more. It shows that
    /// [`UntilTrue`](Self::UntilTrue) loses nothing.
    Everything,
}

std::thread_local! {
    // A thread-local of the OS thread: loom runs all threads of a model on the one that called
    // `check`.
    static WAITS: Cell<Waits> = const { Cell::new(Waits::UntilTrue) };
}

/// Runs `check` (a call of loom's `check` or `model`) with waiting loops explored as `waits` says.
/// Elsewhere they are explored as [`Waits::UntilTrue`].
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

/// Polls until `poll` returns a value; `ready` says, outside the model, that it can. Unless
/// everything is explored, a first poll that fails ends the exploration below it.
#[track_caller]
pub(super) fn wait<T>(ready: impl FnOnce() -> bool, mut poll: impl FnMut() -> Option<T>) -> T {
    let waits = WAITS.get();
    if waits == Waits::SteppingBack && !ready() {
        // Once, and only until it is ready: two threads that step back in turn would do so for
        // ever.
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
        // A thread that will never be satisfied polls until loom's limit of branches is reached,
        // and that is the report.
        loom::thread::yield_now();
    }
}
