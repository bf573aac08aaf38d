//! A host of which every allocation can be made to fail, and which counts the bytes that it has given away, in all tests of a file
//! together.

#![allow(dead_code)] // each test file uses a part

use lockyard::Native;
use lockyard::platform::{Host, NativeAtomics, NativeU32, QueueNode, Slot};
use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// The native host, whose allocations fail on demand.
#[derive(Debug)]
pub(crate) struct Failing(());

thread_local! {
    /// Of this thread: how many allocations succeed before one fails.
    static BEFORE_FAILURE: Cell<Option<u32>> = const { Cell::new(None) };
    /// Whether this thread has a slot.
    static SLOTLESS: Cell<bool> = const { Cell::new(false) };
}

static BYTES: AtomicI64 = AtomicI64::new(0);

impl Failing {
    /// Lets the calling thread's allocation after the next `successes` fail, once; says, when `run` is over, whether it did.
    pub(crate) fn after<R>(successes: u32, run: impl FnOnce() -> R) -> (R, bool) {
        BEFORE_FAILURE.set(Some(successes));
        let result = run();
        (result, BEFORE_FAILURE.take().is_none())
    }

    /// Bytes that are given away, by all threads.
    pub(crate) fn bytes() -> i64 {
        BYTES.load(Ordering::Relaxed)
    }

    /// Runs `run` in a thread that has no slot.
    pub(crate) fn without_slot<R>(run: impl FnOnce() -> R) -> R {
        SLOTLESS.set(true);
        let result = run();
        SLOTLESS.set(false);
        result
    }
}

// SAFETY: everything is the native host's, or refused, which a host may do.
unsafe impl Host for Failing {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = Native::SLOTS;

    fn slot() -> Option<Slot> {
        if SLOTLESS.get() { None } else { Native::slot() }
    }
    fn numa_node() -> u32 {
        Native::numa_node()
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        Native::queue_node(slot, level)
    }
    fn relax() {
        Native::relax();
    }
    fn yield_now() {
        Native::yield_now();
    }
    fn now() -> Duration {
        Native::now()
    }
    fn park(word: &NativeU32, expected: u32, timeout: Option<Duration>) {
        Native::park(word, expected, timeout);
    }
    fn unpark(word: *const NativeU32, count: u32) {
        Native::unpark(word, count);
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
        BYTES.fetch_add(layout.size() as i64, Ordering::Relaxed);
        Native::allocate(layout, node)
    }
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        BYTES.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { Native::deallocate(memory, layout) }
    }
    fn fatal(message: &'static str) -> ! {
        Native::fatal(message)
    }
}
