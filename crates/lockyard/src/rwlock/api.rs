//! The connection of the [reader-writer lock](super) to `lock_api`: all of that crate's traits for
//! reader-writer locks.

use super::raw::RawRwLock;
use crate::lock::adaptive::Patience;
use crate::platform::{ConstAtomics, HostWithSlots, Instant};
use core::marker::PhantomData;
use core::time::Duration;
use lock_api::{
    GuardNoSend, RawRwLock as Raw, RawRwLockDowngrade, RawRwLockFair, RawRwLockTimed,
    RawRwLockUpgrade, RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair, RawRwLockUpgradeTimed,
};

type Guard = GuardNoSend;

/// Returns the state of an acquisition that succeeded.
#[inline(always)]
fn guard(is_inside: bool) -> Option<Guard> {
    is_inside.then(Guard::new)
}

/// Returns the state of an upgrade.
#[inline(always)]
fn upgraded(is_writer: bool, guard: Guard) -> Result<Guard, Guard> {
    if is_writer { Ok(guard) } else { Err(guard) }
}

// SAFETY: a writer enters only while no thread is inside, and no other thread enters beside it: see
// the module's documentation. The writer's acquisitions have acquire ordering, and its releases
// have release ordering. The state of an acquisition holds nothing. Forgetting it leaves the thread
// inside, which is safe. No operation unwinds: a broken invariant calls `Host::fatal`, which does
// not unwind.
unsafe impl<H, P, const RECURSIVE: bool> Raw for RawRwLock<H, P, RECURSIVE>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Patience,
{
    const INIT: Self =
        RawRwLock { word: <H::Atomics as ConstAtomics>::U64_ZERO, _policy: PhantomData };

    type SharedGuard = Guard;
    type ExclusiveGuard = Guard;

    #[inline(always)]
    fn lock_shared(&self) -> Guard {
        self.acquire_shared();
        Guard::new()
    }
    #[inline(always)]
    fn try_lock_shared(&self) -> Option<Guard> {
        guard(self.try_acquire_shared())
    }
    #[inline(always)]
    unsafe fn unlock_shared(&self, _guard: Guard) {
        // SAFETY: the caller makes the same promise.
        unsafe { self.release_shared() };
    }
    #[inline(always)]
    fn lock_exclusive(&self) -> Guard {
        self.acquire_exclusive();
        Guard::new()
    }
    #[inline(always)]
    fn try_lock_exclusive(&self) -> Option<Guard> {
        guard(self.try_acquire_exclusive())
    }
    #[inline(always)]
    unsafe fn unlock_exclusive(&self, _guard: Guard) {
        // SAFETY: the caller makes the same promise.
        unsafe { self.release_exclusive() };
    }
    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.is_held()
    }
    #[inline(always)]
    fn is_locked_exclusive(&self) -> bool {
        self.is_held_exclusive()
    }
}

// SAFETY: the releases are the same as in `RawRwLock`, with release ordering.
unsafe impl<H, P, const RECURSIVE: bool> RawRwLockFair for RawRwLock<H, P, RECURSIVE>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Patience,
{
    #[inline(always)]
    unsafe fn unlock_shared_fair(&self, _guard: Guard) {
        // SAFETY: the caller makes the same promise.
        unsafe { self.release_shared_fair() };
    }
    #[inline(always)]
    unsafe fn unlock_exclusive_fair(&self, _guard: Guard) {
        // SAFETY: the caller makes the same promise.
        unsafe { self.release_exclusive_fair() };
    }
}

// SAFETY: the writer becomes a reader by one operation, with release ordering.
unsafe impl<H, P, const RECURSIVE: bool> RawRwLockDowngrade for RawRwLock<H, P, RECURSIVE>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Patience,
{
    #[inline(always)]
    unsafe fn downgrade(&self, guard: Guard) -> Guard {
        // SAFETY: the caller makes the same promise.
        unsafe { self.downgrade_to_shared() };
        guard
    }
}

/// Instants are points in time on the host's clock.
// SAFETY: the acquisitions are the same as in `RawRwLock`, and a thread that gives up is not
// inside.
unsafe impl<H, P, const RECURSIVE: bool> RawRwLockTimed for RawRwLock<H, P, RECURSIVE>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Patience,
{
    type Duration = Duration;
    type Instant = Instant<H>;

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<Guard> {
        self.try_lock_shared_until(Instant::now() + timeout)
    }
    fn try_lock_shared_until(&self, until: Instant<H>) -> Option<Guard> {
        guard(self.acquire_shared_until(until))
    }
    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<Guard> {
        self.try_lock_exclusive_until(Instant::now() + timeout)
    }
    fn try_lock_exclusive_until(&self, until: Instant<H>) -> Option<Guard> {
        guard(self.acquire_exclusive_until(until))
    }
}

// SAFETY: at most one reader is upgradable. That reader becomes the writer when it is the only
// reader. That step has acquire ordering, and pairs with the releases of the other readers.
unsafe impl<H, P, const RECURSIVE: bool> RawRwLockUpgrade for RawRwLock<H, P, RECURSIVE>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Patience,
{
    type UpgradableGuard = Guard;

    #[inline]
    fn lock_upgradable(&self) -> Guard {
        self.acquire_upgradable();
        Guard::new()
    }
    #[inline]
    fn try_lock_upgradable(&self) -> Option<Guard> {
        guard(self.try_acquire_upgradable())
    }
    #[inline(always)]
    unsafe fn unlock_upgradable(&self, _guard: Guard) {
        // SAFETY: the caller makes the same promise.
        unsafe { self.release_upgradable() };
    }
    #[inline(always)]
    unsafe fn upgrade(&self, guard: Guard) -> Guard {
        // SAFETY: the caller makes the same promise.
        unsafe { self.upgrade_to_exclusive() };
        guard
    }
    #[inline]
    unsafe fn try_upgrade(&self, guard: Guard) -> Result<Guard, Guard> {
        // SAFETY: the caller makes the same promise.
        upgraded(unsafe { self.try_upgrade_to_exclusive() }, guard)
    }
}

// SAFETY: the release is the same as in `RawRwLockUpgrade`, with release ordering.
unsafe impl<H, P, const RECURSIVE: bool> RawRwLockUpgradeFair for RawRwLock<H, P, RECURSIVE>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Patience,
{
    #[inline(always)]
    unsafe fn unlock_upgradable_fair(&self, _guard: Guard) {
        // SAFETY: the caller makes the same promise.
        unsafe { self.release_upgradable_fair() };
    }
}

// SAFETY: each changes the access by one operation, with release ordering.
unsafe impl<H, P, const RECURSIVE: bool> RawRwLockUpgradeDowngrade for RawRwLock<H, P, RECURSIVE>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Patience,
{
    #[inline(always)]
    unsafe fn downgrade_upgradable(&self, guard: Guard) -> Guard {
        // SAFETY: the caller makes the same promise.
        unsafe { self.downgrade_upgradable_to_shared() };
        guard
    }
    #[inline(always)]
    unsafe fn downgrade_to_upgradable(&self, guard: Guard) -> Guard {
        // SAFETY: the caller makes the same promise.
        unsafe { RawRwLock::downgrade_to_upgradable(self) };
        guard
    }
}

// SAFETY: as `RawRwLockTimed`. A thread whose upgrade fails is still the upgradable reader.
unsafe impl<H, P, const RECURSIVE: bool> RawRwLockUpgradeTimed for RawRwLock<H, P, RECURSIVE>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Patience,
{
    fn try_lock_upgradable_for(&self, timeout: Duration) -> Option<Guard> {
        self.try_lock_upgradable_until(Instant::now() + timeout)
    }
    fn try_lock_upgradable_until(&self, until: Instant<H>) -> Option<Guard> {
        guard(self.acquire_upgradable_until(until))
    }
    unsafe fn try_upgrade_for(&self, guard: Guard, timeout: Duration) -> Result<Guard, Guard> {
        // SAFETY: the caller makes the same promise.
        unsafe { self.try_upgrade_until(guard, Instant::now() + timeout) }
    }
    unsafe fn try_upgrade_until(&self, guard: Guard, until: Instant<H>) -> Result<Guard, Guard> {
        // SAFETY: the caller makes the same promise.
        upgraded(unsafe { self.upgrade_to_exclusive_until(until) }, guard)
    }
}
