//! A host that counts the bytes in use, with one account for each test file, and helpers shared
//! with the tests of the locks.

#[cfg(feature = "hooks")]
#[path = "../../../lockyard/tests/it/support/between.rs"]
pub(crate) mod between;
#[path = "../../../lockyard/tests/it/support/failing.rs"]
pub(crate) mod failing;
#[macro_use]
#[path = "../../../lockyard/tests/it/support/traits.rs"]
mod traits;

use failing::Failing;
use lockyard::platform::{Host, HostWithSlots};
use std::alloc::Layout;
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
