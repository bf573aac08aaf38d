//! The connection of the [sharded reader-writer lock](super::sharded) to `lock_api`, and to code
//! that takes any reader-writer lock.

use super::raw::RawRwLock;
use super::read_write::ReadWrite;
use super::sharded::{Entry, RawShardedRwLock, Spreading};
use crate::platform::{ConstAtomics, HostWithSlots, Instant};
use core::marker::PhantomData;
use core::time::Duration;
use lock_api::{GuardNoSend, RawRwLock as Raw, RawRwLockDowngrade, RawRwLockFair, RawRwLockTimed};

// SAFETY: the module's documentation says why the lock excludes, and each operation its ordering.
unsafe impl<H: HostWithSlots, P: Spreading> ReadWrite<H> for RawShardedRwLock<H, P> {
    type Entry = Entry<H>;

    fn free() -> Self {
        Self::new()
    }
    #[inline(always)]
    fn lock_shared(&self) -> Entry<H> {
        self.acquire_shared()
    }
    #[inline(always)]
    unsafe fn unlock_shared(&self, entry: Entry<H>) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.release_shared(entry) };
    }
    #[inline(always)]
    fn lock_exclusive(&self) {
        self.acquire_exclusive();
    }
    #[inline(always)]
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.release_exclusive() };
    }
    fn is_inside(&self) -> bool {
        self.is_held()
    }
}

/// Returns the state of a writer that has entered.
#[inline(always)]
fn guard(is_inside: bool) -> Option<GuardNoSend> {
    is_inside.then(GuardNoSend::new)
}

// SAFETY: as for `ReadWrite`. The state of a reader names the count that it is in, and is given
// back once. Forgetting it leaves the reader inside, which is safe. No operation unwinds.
unsafe impl<H, P> Raw for RawShardedRwLock<H, P>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Spreading,
{
    #[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
    const INIT: Self = RawShardedRwLock {
        inner: <RawRwLock<H, P> as Raw>::INIT,
        table: <H::Atomics as ConstAtomics>::U64_ZERO,
        meetings: <H::Atomics as ConstAtomics>::U64_ZERO,
        _policy: PhantomData,
    };

    type SharedGuard = Entry<H>;
    type ExclusiveGuard = GuardNoSend;

    #[inline(always)]
    fn lock_shared(&self) -> Entry<H> {
        self.acquire_shared()
    }
    #[inline(always)]
    fn try_lock_shared(&self) -> Option<Entry<H>> {
        self.try_acquire_shared()
    }
    #[inline(always)]
    unsafe fn unlock_shared(&self, entry: Entry<H>) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.release_shared(entry) };
    }
    #[inline(always)]
    fn lock_exclusive(&self) -> GuardNoSend {
        self.acquire_exclusive();
        GuardNoSend::new()
    }
    #[inline(always)]
    fn try_lock_exclusive(&self) -> Option<GuardNoSend> {
        guard(self.try_acquire_exclusive())
    }
    #[inline(always)]
    unsafe fn unlock_exclusive(&self, _guard: GuardNoSend) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.release_exclusive() };
    }
    fn is_locked(&self) -> bool {
        self.is_held()
    }
    fn is_locked_exclusive(&self) -> bool {
        self.is_held_exclusive()
    }
}

// SAFETY: the releases are of the inner lock, or of a shard, with release ordering.
unsafe impl<H, P> RawRwLockFair for RawShardedRwLock<H, P>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Spreading,
{
    #[inline]
    unsafe fn unlock_shared_fair(&self, entry: Entry<H>) {
        // SAFETY: the caller's promise is the same.
        unsafe { self.release_shared_fair(entry) };
    }
    #[inline]
    unsafe fn unlock_exclusive_fair(&self, _guard: GuardNoSend) {
        // SAFETY: the caller is the writer of the inner lock.
        unsafe { self.inner.release_exclusive_fair() };
    }
}

// SAFETY: the writer becomes a reader by one operation of the inner lock, with release ordering.
unsafe impl<H, P> RawRwLockDowngrade for RawShardedRwLock<H, P>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Spreading,
{
    #[inline]
    unsafe fn downgrade(&self, _guard: GuardNoSend) -> Entry<H> {
        // SAFETY: the caller's promise is the same.
        unsafe { self.downgrade_to_shared() }
    }
}

/// Instants are points in time on the host's clock.
// SAFETY: the acquisitions are the lock's own, and a thread that gives up is not inside.
unsafe impl<H, P> RawRwLockTimed for RawShardedRwLock<H, P>
where
    H: HostWithSlots<Atomics: ConstAtomics>,
    P: Spreading,
{
    type Duration = Duration;
    type Instant = Instant<H>;

    fn try_lock_shared_for(&self, timeout: Duration) -> Option<Entry<H>> {
        self.acquire_shared_until(Instant::now() + timeout)
    }
    fn try_lock_shared_until(&self, until: Instant<H>) -> Option<Entry<H>> {
        self.acquire_shared_until(until)
    }
    fn try_lock_exclusive_for(&self, timeout: Duration) -> Option<GuardNoSend> {
        guard(self.acquire_exclusive_until(Instant::now() + timeout))
    }
    fn try_lock_exclusive_until(&self, until: Instant<H>) -> Option<GuardNoSend> {
        guard(self.acquire_exclusive_until(until))
    }
}
