//! A host that counts the bytes in use, with one account for each test file, what the files of
//! tests share, and helpers shared with the tests of the locks.

// Files of another crate's tests: hosts of a crate of their own would stand above `lockyard`, whose
// tests use them too.
#[cfg(feature = "hooks")]
#[path = "../../../lockyard/tests/it/support/between.rs"]
pub(crate) mod between;
#[path = "../../../lockyard/tests/it/support/failing.rs"]
pub(crate) mod failing;

use failing::Failing;
use lockyard::Context;
use lockyard::platform::{Host, HostWithSlots};
use std::alloc::Layout;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A [`Failing`] host that counts bytes. Each test file has its own `ACCOUNT`.
#[derive(Debug)]
pub(crate) struct Counted<const ACCOUNT: usize>(());

const ACCOUNTS: usize = 4;
static BYTES: [AtomicI64; ACCOUNTS] = [const { AtomicI64::new(0) }; ACCOUNTS];
static COUNTING: [Mutex<()>; ACCOUNTS] = [const { Mutex::new(()) }; ACCOUNTS];

impl<const ACCOUNT: usize> Counted<ACCOUNT> {
    /// Runs `test`, and asserts that it frees all memory.
    ///
    /// Only one test of an account runs at a time, because the bytes of all its threads are counted
    /// together.
    pub(crate) fn counting(test: impl FnOnce()) {
        let _alone = COUNTING[ACCOUNT].lock().unwrap_or_else(PoisonError::into_inner);
        let before = Self::bytes();
        test();
        assert_eq!(Self::bytes(), before, "all memory is given back");
    }

    /// Bytes in use by all threads.
    pub(crate) fn bytes() -> i64 {
        BYTES[ACCOUNT].load(Ordering::Relaxed)
    }
}

// SAFETY: every call goes to the other host, and is counted.
unsafe impl<const ACCOUNT: usize> Host for Counted<ACCOUNT> {
    type Atomics = <Failing as Host>::Atomics;
    const SLOTS: u32 = Failing::SLOTS;

    lockyard::forward_to_host!(Failing: slots, activity, rest);

    fn allocate(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
        let memory = Failing::allocate(layout, node)?;
        BYTES[ACCOUNT].fetch_add(layout.size() as i64, Ordering::Relaxed);
        Some(memory)
    }
    unsafe fn deallocate(memory: NonNull<u8>, layout: Layout) {
        BYTES[ACCOUNT].fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { Failing::deallocate(memory, layout) }
    }
}

impl<const ACCOUNT: usize> HostWithSlots for Counted<ACCOUNT> {}

/// A fixed sequence of numbers.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

thread_local! {
    /// Number of places that keep [`NoPreemption`] off in this thread.
    pub(crate) static OFF: Cell<u32> = const { Cell::new(0) };
}

/// A context that counts in [`OFF`].
pub(crate) struct NoPreemption;

impl Context for NoPreemption {
    type State = ();
    fn enter() {
        OFF.set(OFF.get() + 1);
    }
    fn leave((): ()) {
        OFF.set(OFF.get() - 1);
    }
}

/// A value whose destructor checks that no lock is held.
pub(crate) struct Witness;

impl Drop for Witness {
    fn drop(&mut self) {
        assert_eq!(OFF.get(), 0, "objects are dropped outside all locks");
    }
}
