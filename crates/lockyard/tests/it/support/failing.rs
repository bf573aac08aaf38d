//! The native host, which refuses memory and slots on demand.

use lockyard::Native;
use lockyard::platform::{Host, HostWithSlots, Slot};
use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;

/// The native host, which refuses memory and slots on demand.
#[derive(Debug)]
pub(crate) struct Failing(());

thread_local! {
    /// Number of this thread's allocations that succeed before one fails.
    static BEFORE_FAILURE: Cell<Option<u32>> = const { Cell::new(None) };
    /// True while this thread has no slot.
    static SLOTLESS: Cell<bool> = const { Cell::new(false) };
}

impl Failing {
    /// Makes the calling thread's allocation after the next `successes` fail, once. Returns the
    /// result of `run`, and true if an allocation failed.
    pub(crate) fn after<R>(successes: u32, run: impl FnOnce() -> R) -> (R, bool) {
        BEFORE_FAILURE.set(Some(successes));
        let result = run();
        (result, BEFORE_FAILURE.take().is_none())
    }

    /// Runs `run` in a thread that has no slot.
    pub(crate) fn without_slot<R>(run: impl FnOnce() -> R) -> R {
        SLOTLESS.set(true);
        let result = run();
        SLOTLESS.set(false);
        result
    }
}

// SAFETY: the native host provides everything, or the request is refused, which is allowed.
unsafe impl Host for Failing {
    type Atomics = <Native as Host>::Atomics;
    const SLOTS: u32 = Native::SLOTS;

    lockyard::forward_to_host!(Native: activity, rest);

    fn slot() -> Option<Slot> {
        if SLOTLESS.get() { None } else { Native::slot() }
    }
    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        match BEFORE_FAILURE.get() {
            Some(0) => {
                BEFORE_FAILURE.set(None);
                return None;
            }
            Some(left) => BEFORE_FAILURE.set(Some(left - 1)),
            None => {}
        }
        Native::allocate(layout, node)
    }
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { Native::deallocate(memory, layout) }
    }
}

impl HostWithSlots for Failing {}
