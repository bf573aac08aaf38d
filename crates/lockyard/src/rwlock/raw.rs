//! The type of the [reader-writer lock](super), and the first steps of each access.

use super::patience::Usual;
use super::wait::{try_enter, wait};
use super::word::{
    CLOSED, FULL, INTENT, Mode, READER, UPGRADABLE, WRITER, head, is_queued, needs_poke, poke,
    readers,
};
use crate::invariance::Invariant;
use crate::lock::Deadline;
use crate::lock::adaptive::{Patience, assert_policy};
use crate::lock::queue::assert_slots_fit;
use crate::platform::{
    Host, HostWithSlots, Instant, Native, Ordering, RELAXED_ACQUIRE_LATE, RELEASE_ACQUIRE_LATE,
    Region, U64, Word, acquire_late, during,
};
use core::fmt;
use core::marker::PhantomData;

/// A reader-writer lock in 8 bytes: policy `P` on host `H`. See the [module](super).
///
/// Usually written through an alias such as [`RwLock`](crate::RwLock). If `RECURSIVE` is true, a
/// thread that reads may read again: only a writer inside keeps it out, so readers may starve
/// writers.
///
/// The type is invariant in `H` and `P`, because they decide what the word means.
#[repr(transparent)]
pub struct RawRwLock<H: Host = Native, P: Patience = Usual, const RECURSIVE: bool = false> {
    pub(super) word: U64<H>,
    pub(super) _policy: Invariant<P>,
}

/// Fails to compile if the policy makes no sense, or the lock does not fit the host.
const fn assert_fits<P: Patience, H: HostWithSlots>() {
    assert_policy::<P>();
    assert_slots_fit::<H>();
}

impl<H: HostWithSlots, P: Patience, const RECURSIVE: bool> RawRwLock<H, P, RECURSIVE> {
    /// The access of [`acquire_shared`](Self::acquire_shared).
    const READ: Mode = if RECURSIVE { Mode::Recursive } else { Mode::Read };
    /// The bits of the word that keep readers out.
    const KEEPS_READERS_OUT: u64 =
        if RECURSIVE { WRITER | FULL } else { WRITER | CLOSED | INTENT | FULL };

    /// Makes a free lock. Statics use `lock_api`'s `INIT`.
    #[inline]
    pub fn new() -> Self {
        RawRwLock { word: Word::new(0), _policy: PhantomData }
    }

    /// Waits as `mode`.
    #[cold]
    fn wait(&self, mode: Mode, deadline: Option<Deadline<H>>) -> bool {
        // Others may sleep while the lock is empty, so the first step may have failed although the
        // lock is free.
        let Err(seen) = try_enter::<H>(&self.word, mode) else { return true };
        if mode.is_shared() && seen & FULL != 0 {
            H::fatal("reader-writer lock: it has 2^22 readers");
        }
        during::<H, _>(Region::LockWait, || wait::<P, H>(&self.word, mode, deadline))
    }

    /// Waits as `mode` until `until` at most.
    fn wait_until(&self, mode: Mode, until: Instant<H>) -> bool {
        let mut deadline = Deadline::new(until);
        // A wait without a deadline need not read the clock before it spins.
        let has_passed = !deadline.is_latest() && deadline.end_slice();
        !has_passed && self.wait(mode, Some(deadline))
    }

    /// Ends an access: the word was `before`, and is `bits` now. `opens` says that the change lets
    /// threads in although the lock is not empty. The lock's memory is not touched.
    #[cold]
    fn after_release(before: u64, bits: u64, opens: bool) {
        if needs_poke(before, bits, opens)
            && let Some(head) = head(bits)
        {
            acquire_late::<H::Atomics>();
            poke::<H>(head);
        }
    }

    /// Ends an access by adding `change`, modulo 2^64.
    #[inline(always)]
    #[track_caller]
    fn release(&self, change: u64, opens: bool) {
        // Release: pairs with the acquire of the next thread that enters. With a sleeper, the
        // addition is an acquire too: it pairs with the release of a thread that joined or went to
        // sleep.
        let before = self.word.fetch_add(change, RELEASE_ACQUIRE_LATE);
        if is_queued(before) {
            Self::after_release(before, before.wrapping_add(change), opens);
        }
    }

    /// The same as [`release`](Self::release), for a thread that has nothing to publish.
    #[track_caller]
    fn let_in(&self, change: u64, opens: bool) {
        // With a sleeper, this addition is an acquire too, as in `release`.
        let before = self.word.fetch_add(change, RELAXED_ACQUIRE_LATE);
        if is_queued(before) {
            Self::after_release(before, before.wrapping_add(change), opens);
        }
    }

    /// Ends an access as [`release`](Self::release), and closes the lock for the head of the queue,
    /// if there is one.
    #[track_caller]
    fn release_fair(&self, change: u64, opens: bool) {
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            let closed = if is_queued(seen) { CLOSED } else { 0 };
            let new = seen.wrapping_add(change) | closed;
            // Release and acquire: as in `release`.
            let (of, to) = (RELEASE_ACQUIRE_LATE, Ordering::Relaxed);
            match self.word.compare_exchange(seen, new, of, to) {
                Ok(_) if closed != 0 => return Self::after_release(seen, new, opens),
                Ok(_) => return,
                Err(actual) => seen = actual,
            }
        }
    }

    /// Enters as a reader, waiting until no writer is inside or has closed the lock. Acquire.
    #[inline(always)]
    pub fn acquire_shared(&self) {
        self.acquire_shared_beside();
    }

    /// The same as [`acquire_shared`](Self::acquire_shared). Returns true if other readers were
    /// inside, and it did not wait.
    #[inline(always)]
    pub(super) fn acquire_shared_beside(&self) -> bool {
        const { assert_fits::<P, H>() }
        // Acquire: pairs with the releases of writers.
        let before = self.word.fetch_add(READER, Ordering::Acquire);
        if before & Self::KEEPS_READERS_OUT != 0 {
            self.leave_and_wait();
            return false;
        }
        readers(before) != 0
    }

    /// Takes back the count of a reader that must not enter, and waits.
    #[cold]
    #[inline(never)]
    fn leave_and_wait(&self) {
        // This reader was not inside, but a writer may have waited for it.
        self.let_in(READER.wrapping_neg(), false);
        self.wait(Self::READ, None);
    }

    /// Enters as a reader if no writer is inside or waits for readers to leave.
    #[inline(always)]
    pub fn try_acquire_shared(&self) -> bool {
        const { assert_fits::<P, H>() }
        try_enter::<H>(&self.word, Self::READ).is_ok()
    }

    /// Enters as a reader, waiting until `until` at most. Returns false only after that time.
    pub fn acquire_shared_until(&self, until: Instant<H>) -> bool {
        self.try_acquire_shared() || self.wait_until(Self::READ, until)
    }

    /// Enters as a reader, also while a writer waits. So a thread that reads may read again. If a
    /// writer is inside, the call waits its turn, like any other reader.
    #[inline]
    pub fn acquire_shared_recursive(&self) {
        if !self.try_acquire_shared_recursive() {
            self.wait(Mode::Recursive, None);
        }
    }

    /// Enters as a reader unless a writer is inside.
    #[inline]
    pub fn try_acquire_shared_recursive(&self) -> bool {
        const { assert_fits::<P, H>() }
        try_enter::<H>(&self.word, Mode::Recursive).is_ok()
    }

    /// The same as [`acquire_shared_recursive`](Self::acquire_shared_recursive), until `until` at
    /// most.
    pub fn acquire_shared_recursive_until(&self, until: Instant<H>) -> bool {
        self.try_acquire_shared_recursive() || self.wait_until(Mode::Recursive, until)
    }

    /// Leaves as a reader. Release.
    ///
    /// # Safety
    ///
    /// The calling thread must be inside as a reader, and not as the upgradable reader.
    #[inline(always)]
    pub unsafe fn release_shared(&self) {
        self.release(READER.wrapping_neg(), false);
    }

    /// Leaves as a reader. If threads wait, the thread that has waited longest comes next: only
    /// upgrades and recursive reads may pass it.
    ///
    /// # Safety
    ///
    /// The same as for [`release_shared`](Self::release_shared).
    #[inline]
    pub unsafe fn release_shared_fair(&self) {
        self.release_fair(READER.wrapping_neg(), false);
    }

    /// Enters as the writer, waiting until no thread is inside. Acquire.
    #[inline(always)]
    pub fn acquire_exclusive(&self) {
        const { assert_fits::<P, H>() }
        // Acquire: pairs with the releases of all that have left.
        if self.word.compare_exchange(0, WRITER, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait(Mode::Write, None);
        }
    }

    /// Enters as the writer if no thread is inside. A reader that is about to find that it must
    /// wait counts as inside, so the call may fail although no thread is inside.
    #[inline(always)]
    pub fn try_acquire_exclusive(&self) -> bool {
        const { assert_fits::<P, H>() }
        try_enter::<H>(&self.word, Mode::Write).is_ok()
    }

    /// Enters as the writer, waiting until `until` at most. Returns false only after that time.
    pub fn acquire_exclusive_until(&self, until: Instant<H>) -> bool {
        self.try_acquire_exclusive() || self.wait_until(Mode::Write, until)
    }

    /// Leaves as the writer. Release.
    ///
    /// # Safety
    ///
    /// The calling thread must be inside as the writer.
    #[inline(always)]
    pub unsafe fn release_exclusive(&self) {
        self.release(WRITER.wrapping_neg(), false);
    }

    /// Leaves as the writer. If threads wait, the thread that has waited longest comes next: only
    /// upgrades and recursive reads may pass it.
    ///
    /// # Safety
    ///
    /// The same as for [`release_exclusive`](Self::release_exclusive).
    #[inline]
    pub unsafe fn release_exclusive_fair(&self) {
        self.release_fair(WRITER.wrapping_neg(), false);
    }

    /// Becomes a reader. No other writer enters in between.
    ///
    /// # Safety
    ///
    /// The calling thread must be inside as the writer.
    #[inline]
    pub unsafe fn downgrade_to_shared(&self) {
        self.release(READER - WRITER, true);
    }

    /// Enters as the upgradable reader: beside readers, but not beside another upgradable reader.
    #[inline]
    pub fn acquire_upgradable(&self) {
        if !self.try_acquire_upgradable() {
            self.wait(Mode::Upgradable, None);
        }
    }

    /// Enters as the upgradable reader, if no writer and no other upgradable reader is inside, and
    /// no writer waits for readers to leave.
    #[inline]
    pub fn try_acquire_upgradable(&self) -> bool {
        const { assert_fits::<P, H>() }
        try_enter::<H>(&self.word, Mode::Upgradable).is_ok()
    }

    /// Enters as the upgradable reader, waiting until `until` at most. Returns false only after
    /// that time.
    pub fn acquire_upgradable_until(&self, until: Instant<H>) -> bool {
        self.try_acquire_upgradable() || self.wait_until(Mode::Upgradable, until)
    }

    /// Leaves as the upgradable reader. Release.
    ///
    /// # Safety
    ///
    /// The calling thread must be inside as the upgradable reader.
    #[inline]
    pub unsafe fn release_upgradable(&self) {
        self.release((READER | UPGRADABLE).wrapping_neg(), true);
    }

    /// Leaves as the upgradable reader. If threads wait, the thread that has waited longest comes
    /// next: only upgrades and recursive reads may pass it.
    ///
    /// # Safety
    ///
    /// The same as for [`release_upgradable`](Self::release_upgradable).
    #[inline]
    pub unsafe fn release_upgradable_fair(&self) {
        self.release_fair((READER | UPGRADABLE).wrapping_neg(), true);
    }

    /// Becomes the writer, waiting until the other readers have left. No other writer enters in
    /// between. Acquire.
    ///
    /// # Safety
    ///
    /// The calling thread must be inside as the upgradable reader.
    #[inline]
    pub unsafe fn upgrade_to_exclusive(&self) {
        // SAFETY: the caller's promise.
        if !unsafe { self.try_upgrade_to_exclusive() } {
            self.wait(Mode::Upgrade, None);
        }
    }

    /// Becomes the writer if there are no other readers. Otherwise it stays the upgradable reader.
    /// A reader that is about to find that it must wait counts, so the call may fail although there
    /// is no other reader.
    ///
    /// # Safety
    ///
    /// The same as for [`upgrade_to_exclusive`](Self::upgrade_to_exclusive).
    #[inline]
    pub unsafe fn try_upgrade_to_exclusive(&self) -> bool {
        try_enter::<H>(&self.word, Mode::Upgrade).is_ok()
    }

    /// Becomes the writer, waiting until `until` at most. On a timeout it stays the upgradable
    /// reader.
    ///
    /// # Safety
    ///
    /// The same as for [`upgrade_to_exclusive`](Self::upgrade_to_exclusive).
    pub unsafe fn upgrade_to_exclusive_until(&self, until: Instant<H>) -> bool {
        // SAFETY: the caller's promise.
        let is_writer = unsafe { self.try_upgrade_to_exclusive() };
        is_writer || self.wait_until(Mode::Upgrade, until)
    }

    /// Becomes a plain reader.
    ///
    /// # Safety
    ///
    /// The calling thread must be inside as the upgradable reader.
    #[inline]
    pub unsafe fn downgrade_upgradable_to_shared(&self) {
        // The thread stays a reader. When it leaves, its release publishes everything.
        self.let_in(UPGRADABLE.wrapping_neg(), true);
    }

    /// Becomes the upgradable reader. No other writer enters in between.
    ///
    /// # Safety
    ///
    /// The calling thread must be inside as the writer.
    #[inline]
    pub unsafe fn downgrade_to_upgradable(&self) {
        self.release((READER | UPGRADABLE) - WRITER, true);
    }

    /// Returns true if a thread is inside. The result is a snapshot (relaxed), and may already be
    /// stale when the function returns. It also counts a reader that is about to find that it must
    /// wait.
    #[inline]
    pub fn is_held(&self) -> bool {
        let bits = self.word.load(Ordering::Relaxed);
        bits & WRITER != 0 || readers(bits) != 0
    }

    /// Returns true if the writer is inside. A snapshot, as [`is_held`](Self::is_held).
    #[inline]
    pub fn is_held_exclusive(&self) -> bool {
        self.word.load(Ordering::Relaxed) & WRITER != 0
    }
}

impl<H: HostWithSlots, P: Patience, const RECURSIVE: bool> Default for RawRwLock<H, P, RECURSIVE> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Host, P: Patience, const RECURSIVE: bool> fmt::Debug for RawRwLock<H, P, RECURSIVE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.word.load(Ordering::Relaxed);
        f.debug_struct("RawRwLock")
            .field("bits", &bits)
            .field("writer", &(bits & WRITER != 0))
            .field("readers", &readers(bits))
            .finish()
    }
}
