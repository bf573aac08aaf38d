//! A host whose allocations can be made to fail, and which counts the bytes in use, in one account
//! for each file of tests.

pub(crate) mod counting;
#[cfg(unix)]
pub(crate) mod forked;
pub(crate) mod watchdog;

use lockyard::Native;
use lockyard::platform::{Host, HostWithSlots, NativeAtomics, NativeU32, QueueNode, Slot};
use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The native host, whose allocations fail on demand. Each file of tests has an `ACCOUNT` of its
/// own.
#[derive(Debug)]
pub(crate) struct Failing<const ACCOUNT: usize>(());

thread_local! {
    /// Number of allocations of this thread that succeed before one fails.
    static BEFORE_FAILURE: Cell<Option<u32>> = const { Cell::new(None) };
    /// True if this thread has a slot.
    static SLOTLESS: Cell<bool> = const { Cell::new(false) };
}

const ACCOUNTS: usize = 4;
static BYTES: [AtomicI64; ACCOUNTS] = [const { AtomicI64::new(0) }; ACCOUNTS];
static COUNTING: [Mutex<()>; ACCOUNTS] = [const { Mutex::new(()) }; ACCOUNTS];

impl<const ACCOUNT: usize> Failing<ACCOUNT> {
    /// Runs `run`, in which the allocation after the next `successes` fails, once. Returns its
    /// result, and true if one failed.
    pub(crate) fn after<R>(successes: u32, run: impl FnOnce() -> R) -> (R, bool) {
        BEFORE_FAILURE.set(Some(successes));
        let result = run();
        (result, BEFORE_FAILURE.take().is_none())
    }

    /// Runs `test`, and checks that it frees all memory. One test of an account runs at a time,
    /// because the bytes of all its threads count together.
    pub(crate) fn counting(test: impl FnOnce()) {
        let _alone = COUNTING[ACCOUNT].lock().unwrap_or_else(PoisonError::into_inner);
        let before = Self::bytes();
        test();
        assert_eq!(Self::bytes(), before, "all memory is given back");
    }

    /// Returns the bytes in use by all threads.
    pub(crate) fn bytes() -> i64 {
        BYTES[ACCOUNT].load(Ordering::Relaxed)
    }

    /// Runs `run` in a thread that has no slot.
    pub(crate) fn without_slot<R>(run: impl FnOnce() -> R) -> R {
        SLOTLESS.set(true);
        let result = run();
        SLOTLESS.set(false);
        result
    }
}

// SAFETY: everything is the native host's, or is refused, which a host may do.
unsafe impl<const ACCOUNT: usize> Host for Failing<ACCOUNT> {
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
        BYTES[ACCOUNT].fetch_add(layout.size() as i64, Ordering::Relaxed);
        Native::allocate(layout, node)
    }
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        BYTES[ACCOUNT].fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { Native::deallocate(memory, layout) }
    }
    fn fatal(message: &'static str) -> ! {
        Native::fatal(message)
    }
}

impl<const ACCOUNT: usize> HostWithSlots for Failing<ACCOUNT> {}
