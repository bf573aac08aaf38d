//! The test-and-set lock, with a read-only inner loop: the baseline.
//!
//! ```text
//!   bit 0 of the lane: held        free --fetch-or 1, saw 0--> held --store 0 in byte 0--> free
//! ```
//!
//! The lock is unfair: after a release, the thread whose read-modify-write is served first gets the
//! lock, so a thread may starve. After a release all waiters read the line. Those that saw the lock
//! free then take the line exclusively, one after another, and only one of them gets the lock.
//!
//! Source: Rudolph and Segall, *Dynamic Decentralized Cache Schemes for MIMD Parallel Processors*,
//! ISCA 1984 (test-and-test-and-set).

use super::algorithm::{Algorithm, LaneLock, TimedLock};
use super::deadline::Deadline;
use crate::lane::{FourBytes, Lane};
use crate::platform::{Event, Host, Instant, Int, Ordering};

/// The test-and-set lock. See the [module documentation](crate::lock).
#[derive(Debug)]
pub struct TestAndSet;

#[inline(always)]
fn held<B: Int>() -> B {
    B::truncate(1)
}

#[cold]
#[inline(never)]
fn lock_slowly<H: Host, L: Lane>(lane: L) {
    H::count(Event::Slowpath);
    loop {
        // Relaxed: only the read-modify-write that follows takes the lock.
        lane.wait_until::<H>(Ordering::Relaxed, |bits| !TestAndSet::is_held(bits));
        // Acquire: pairs with the release store in `unlock`.
        if !TestAndSet::is_held(lane.fetch_or(held(), Ordering::Acquire)) {
            return;
        }
    }
}

impl Algorithm for TestAndSet {
    type Token = ();
    type Width = FourBytes;

    #[inline(always)]
    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & 1 != 0
    }
}

// SAFETY: bit 0 goes from 0 to 1 only by a read-modify-write that saw 0, so at most one thread is
// past `lock`. Only that thread stores 0. Comments at each operation justify its ordering.
unsafe impl<H: Host> LaneLock<H> for TestAndSet {
    #[inline(always)]
    unsafe fn lock<L: Lane>(lane: L) {
        // Acquire: pairs with the release store in `unlock`.
        if Self::is_held(lane.fetch_or(held(), Ordering::Acquire)) {
            lock_slowly::<H, L>(lane);
        }
    }

    #[inline(always)]
    unsafe fn try_lock<L: Lane>(lane: L) -> Option<()> {
        if Self::is_held(lane.load(Ordering::Relaxed)) {
            return None;
        }
        // Acquire: pairs with the release store in `unlock`.
        (!Self::is_held(lane.fetch_or(held(), Ordering::Acquire))).then_some(())
    }

    #[inline(always)]
    unsafe fn unlock<L: Lane>(lane: L, _token: ()) {
        // Release: pairs with the acquire of the next holder. While the lock is held, other threads
        // write only the 1 that is already there, so only the holder changes the byte.
        lane.store_lowest_byte(1, 0, Ordering::Release);
    }
}

// SAFETY: the lock is taken as in `lock`.
unsafe impl<H: Host> TimedLock<H> for TestAndSet {
    #[cold]
    unsafe fn lock_until<L: Lane>(lane: L, until: Instant<H>) -> Option<()> {
        // SAFETY: the caller's promise.
        Deadline::new(until).poll(
            lane,
            |bits| bits & 1 == 0,
            || unsafe { <Self as LaneLock<H>>::try_lock(lane) },
        )
    }
}
