//! A host that runs an action between two operations of a primitive, at a place that a test
//! chooses.

use lockyard::platform::Native;
use lockyard::platform::hooked::{Effect, Hook, Hooked, Operation, OperationKind};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};

/// A hook that runs the action of [`after_next`] after the chosen operation.
pub(crate) struct Between;

type Then = Box<dyn FnOnce()>;

thread_local! {
    static THEN: RefCell<Option<(OperationKind, Then)>> = const { RefCell::new(None) };
    /// The counter of waits that the thread starts.
    pub(crate) static WAITS: Cell<Option<&'static AtomicU32>> = const { Cell::new(None) };
}

/// Runs `then` after the next operation of this kind in the running thread.
pub(crate) fn after_next(kind: OperationKind, then: impl FnOnce() + 'static) {
    THEN.set(Some((kind, Box::new(then))));
}

// SAFETY: the hook changes no operation.
unsafe impl Hook for Between {
    fn operation(operation: &mut Operation) -> Effect {
        if operation.kind == OperationKind::Wait
            && let Some(waits) = WAITS.get()
        {
            waits.fetch_add(1, Ordering::Relaxed);
        }
        Effect::Performed
    }
    fn done(operation: &Operation) {
        let due =
            THEN.with_borrow(|then| matches!(then, Some((kind, _)) if *kind == operation.kind));
        if due && let Some((_, then)) = THEN.take() {
            then();
        }
    }
}

pub(crate) type Host = Hooked<Native, Between>;
