//! The code of a simulated thread: a stackful coroutine that is suspended at each operation.
//!
//! A suspended coroutine is never dropped. Dropping it would unwind through guards, and their
//! destructors are operations. If a run ends while threads are suspended, their coroutines leak.
//!
//! A coroutine owns a reference to the arena of its simulation. So a leaked coroutine keeps the
//! arena alive. That is necessary: safe code may have lent a value on the stack or in the arena to
//! a host thread, which may still use that value. For the same reason the stack of a leaked
//! coroutine is never used again.

use crate::shared::Shared;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::cell::RefCell;
use std::io;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

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
    /// Dropped only by [`recycle`](Self::recycle), after the code has returned.
    inner: ManuallyDrop<Inner>,
}

impl SimulatedThread {
    /// Returns a thread that has not begun, or the system's error if there is no memory for its
    /// stack.
    pub(super) fn new(shared: Rc<Shared>, code: Box<dyn FnOnce()>) -> io::Result<Self> {
        let stack = match STACKS.with_borrow_mut(Vec::pop) {
            Some(stack) => stack,
            None => DefaultStack::new(STACK_BYTES)?,
        };
        let inner = Coroutine::with_stack(stack, move |yielder, _| {
            shared.set_yielder(yielder);
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
    pub(super) fn recycle(mut self) {
        debug_assert!(self.inner.done());
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
