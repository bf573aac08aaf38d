//! The code of a simulated thread: a stackful coroutine that is suspended at each operation.
//!
//! A suspended coroutine is never dropped. Dropping it would unwind through guards, and their
//! destructors are operations. If a run ends while threads are suspended, the values on their
//! stacks leak. The stacks leak too, unless the run's owner [abandons](SimulatedThread::abandon)
//! the threads. So a coroutine owns no part of the simulation.

use crate::shared::Shared;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::cell::RefCell;
use std::io;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Size of a stack in bytes: room for the primitives, and for a panic's message and backtrace. Only
/// pages that are touched take memory.
const STACK_BYTES: usize = 256 * 1024;

/// Number of stacks that are kept for the next run.
const KEPT_STACKS: usize = 1024;

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Progress of the code when it stops running.
pub(super) enum Progress {
    /// The code asks for an operation.
    Suspended,
    Finished,
    Panicked(String),
}

type Inner = Coroutine<u64, (), Result<(), String>, DefaultStack>;

pub(super) struct SimulatedThread {
    /// Dropped only by [`keep_stack`](Self::keep_stack).
    inner: ManuallyDrop<Inner>,
}

impl SimulatedThread {
    /// Returns a thread that has not begun, or the system's error if there is no memory for its
    /// stack.
    pub(super) fn new(code: Box<dyn FnOnce()>) -> io::Result<Self> {
        let stack = match STACKS.with_borrow_mut(Vec::pop) {
            Some(stack) => stack,
            None => DefaultStack::new(STACK_BYTES)?,
        };
        let inner = Coroutine::with_stack(stack, move |yielder, _| {
            Shared::with(|shared| shared.set_yielder(yielder));
            catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
                if let Some(text) = panic.downcast_ref::<&str>() {
                    (*text).to_owned()
                } else if let Some(text) = panic.downcast_ref::<String>() {
                    text.clone()
                } else {
                    "a panic without a message".to_owned()
                }
            })
        });
        Ok(SimulatedThread { inner: ManuallyDrop::new(inner) })
    }

    #[inline(always)]
    pub(super) fn resume(&mut self, value: u64) -> Progress {
        match self.inner.resume(value) {
            CoroutineResult::Yield(()) => Progress::Suspended,
            CoroutineResult::Return(Ok(())) => Progress::Finished,
            CoroutineResult::Return(Err(message)) => Progress::Panicked(message),
        }
    }

    /// Keeps the stack of a thread that has returned, for reuse.
    pub(super) fn recycle(self) {
        debug_assert!(self.inner.done());
        self.keep_stack();
    }

    /// Keeps the stack of a thread that never runs again, for reuse. The values on the stack leak.
    ///
    /// # Safety
    ///
    /// If the thread has begun and not returned, nothing accesses its stack any more.
    pub(super) unsafe fn abandon(mut self) {
        // SAFETY: the code of a thread that has not begun is a box, which may be moved or leaked.
        // As the caller says, nothing accesses the stack of one that has. No destructor has to run:
        // what the values own is leaked. The yielder is on the stack, but `Shared` has a pointer to
        // it only while the thread's code runs.
        unsafe { self.inner.force_reset() };
        self.keep_stack();
    }

    /// Keeps the stack of a coroutine that is done.
    fn keep_stack(mut self) {
        // SAFETY: `self` is consumed and has no destructor, so `inner` is not used after this.
        let inner = unsafe { ManuallyDrop::take(&mut self.inner) };
        let stack = inner.into_stack();
        STACKS.with_borrow_mut(|stacks| {
            if stacks.len() < KEPT_STACKS {
                stacks.push(stack);
            }
        });
    }
}

/// Number of stacks that are kept for the next run.
#[cfg(test)]
pub(crate) fn kept_stacks() -> usize {
    STACKS.with_borrow(Vec::len)
}
