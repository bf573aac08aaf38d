//! Allocations that fail at random. A program makes [`Refusing`] its global allocator, and then
//! `refusing` makes the calling thread's allocations fail while it runs a function.

use super::random::Random;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// State of the random numbers of the thread's refusals. `None` while nothing is refused.
    static STATE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Number of allocations that were refused.
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, which refuses on demand.
#[derive(Debug)]
pub struct Refusing;

// SAFETY: the system's allocator does everything, or the allocation is refused, which is allowed.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refuses() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refuses() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if refuses() {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise. The memory comes from the system's allocator.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise. The memory comes from `alloc`, and so from the system's
        // allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Returns true for a third of the calling thread's allocations within [`refusing`].
fn refuses() -> bool {
    // A thread that is ending has no state, and none of its allocations is refused.
    let Ok(Some(state)) = STATE.try_with(Cell::get) else { return false };
    let mut random = Random::new(state);
    let refused = random.below(3) == 0;
    STATE.set(Some(random.next()));
    if refused {
        REFUSED.fetch_add(1, Ordering::Relaxed);
    }
    refused
}

/// Runs a function of the library, while some of its allocations fail. The function must not
/// allocate in other ways.
pub(super) fn refusing<R>(seed: u64, run: impl FnOnce() -> R) -> R {
    STATE.set(Some(seed));
    let result = run();
    STATE.set(None);
    result
}

/// Returns the number of allocations of the process that were refused.
pub(super) fn refused() -> u64 {
    REFUSED.load(Ordering::Relaxed)
}
