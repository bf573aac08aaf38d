//! The holder's view of a lockref.
//!
//! This file and `mod.rs` form a cycle of files: a guard holds its lockref, and locking makes a
//! guard. Moving the lockref to a separate file would change its symbol names. The committed
//! listings of hot paths would then no longer be the code that was measured.

use super::LockRef;
use super::count::{Count, MAX_COUNT};
use super::policy::Policy;
use crate::context::{Context, NoContext};
use crate::lane::High;
use crate::lock::LaneLock;
use crate::platform::{Host, Native, Ordering, Word};
use core::fmt;
use core::mem::ManuallyDrop;
use lock_api::GuardNoSend;

/// The held lock of a [`LockRef`]. While the guard lives, no other thread changes the count.
/// Dropping it releases the lock (release), then leaves the context.
#[must_use = "if unused the lock is released at once"]
pub struct LockRefGuard<'a, K: LaneLock<H>, P: Policy, H: Host = Native, C: Context = NoContext> {
    lockref: &'a LockRef<K, P, H, C>,
    token: K::Token,
    context: ManuallyDrop<C::State>,
    _on_this_thread: GuardNoSend,
}

impl<'a, K: LaneLock<H>, P: Policy, H: Host, C: Context> LockRefGuard<'a, K, P, H, C> {
    /// Makes a guard. The caller must just have taken the lock of `lockref`, with the result
    /// `token`.
    #[inline(always)]
    pub(super) fn new(
        lockref: &'a LockRef<K, P, H, C>,
        token: K::Token,
        context: C::State,
    ) -> Self {
        LockRefGuard {
            lockref,
            token,
            context: ManuallyDrop::new(context),
            _on_this_thread: GuardNoSend::new(),
        }
    }

    #[inline(always)]
    #[track_caller]
    pub(super) fn bits(&self) -> u32 {
        // Relaxed: taking the lock had acquire ordering, and only the holder changes the count.
        self.lockref.word.load(Ordering::Relaxed) as u32
    }

    /// Sets the count by one addition or subtraction of the difference, because waiters may change
    /// the lock's half at the same time.
    #[inline(always)]
    #[track_caller]
    pub(super) fn set_bits(&mut self, new: u32) {
        let old = self.bits();
        // Relaxed: the release of the lock has release ordering. The lower half cannot carry or
        // borrow, because only the holder changes it.
        if new > old {
            self.lockref.word.fetch_add(u64::from(new - old), Ordering::Relaxed);
        } else if new < old {
            self.lockref.word.fetch_sub(u64::from(old - new), Ordering::Relaxed);
        }
    }

    /// Returns the count (one relaxed load). Until the guard is dropped, only the guard changes it.
    #[inline]
    pub fn count(&self) -> Count {
        Count::from_bits(self.bits())
    }

    /// Sets the count (one locked addition or subtraction of the difference). A saturated count
    /// stays saturated, because some references are no longer counted.
    ///
    /// # Panics
    ///
    /// If `count` exceeds [`MAX_COUNT`], or if the lockref is dead, because a dead lockref cannot
    /// be revived. Unwinding releases the lock.
    #[inline]
    pub fn set_count(&mut self, count: u32) {
        assert!(count <= MAX_COUNT, "a lockref counts to 2^30");
        match self.count() {
            Count::Live(_) => self.set_bits(count),
            Count::Saturated => {}
            Count::Dead => panic!("a dead lockref cannot be revived"),
        }
    }

    /// Marks the lockref dead. After that no reference can be taken or dropped.
    #[inline]
    pub fn mark_dead(&mut self) {
        self.set_bits(Count::Dead.to_bits());
    }
}

impl<K: LaneLock<H>, P: Policy, H: Host, C: Context> Drop for LockRefGuard<'_, K, P, H, C> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard was made by the acquisition that returned `token`, and is dropped once.
        unsafe { K::unlock(High(&self.lockref.word), self.token) };
        // SAFETY: the guard is being dropped, so nothing uses `context` later.
        C::leave(unsafe { ManuallyDrop::take(&mut self.context) });
    }
}

impl<K: LaneLock<H>, P: Policy, H: Host, C: Context> fmt::Debug for LockRefGuard<'_, K, P, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockRefGuard").field("count", &self.count()).finish_non_exhaustive()
    }
}
