//! Grace periods: after a grace period, every earlier reader has left.
//!
//! # The algorithm
//!
//! A domain has an *epoch*, a number that grows by one. A reader notes the current epoch when it
//! enters. An epoch *e* may end, so that *e* + 1 starts, when no reader inside has noted an earlier
//! epoch. After a thread has taken an object out of reach, it loads the current epoch *g*, the
//! *stamp* of the object. The object may be freed when the epoch is *g* + 2.
//!
//! # Why no object is freed while a reader has it
//!
//! The proof names these steps:
//!
//! - *U* takes an object out of reach. *Fu* is the fence after it (`stamp`), and *g* the stamp.
//! - *A* is the thread that ended epoch *g* + 1. It loaded *g* + 1, passed its fence *Fa*, and read
//!   all records. Then it set the epoch to *g* + 2, by a compare-exchange with release. The thread
//!   that frees has loaded *g* + 2 or a later epoch with acquire.
//! - A reader stores its state *R*, passes its fence *Fr*, and then reads pointers.
//!
//! The three fences are sequentially consistent, so they have one order.
//!
//! 1. *Fu* is before *Fa*. Otherwise *Fa* would be first. *A* loaded *g* + 1 before *Fa*, so the
//!    load after *Fu* could not return the older value *g*, which it did.
//! 2. If *Fa* is before *Fr*, then *Fu* is before *Fr*. Every load of the reader then sees *U* or a
//!    newer value, so it does not find the object.
//! 3. If *Fr* is before *Fa*, then *A* reads the record after *R*, and sees *R* or a later store of
//!    that slot. (It also sees the record's segment, whose publication is also before *Fr*.)
//!    - A later store: leaving and entering again both store with release, and *A* reads with
//!      acquire. So everything that the reader did inside is before *A*'s compare-exchange, and
//!      before the freeing.
//!    - *R* itself with an epoch up to *g*: *A* does not end the epoch.
//!    - *R* itself with *g* + 1 (or later): the reader loaded that epoch before *Fr*, and the load
//!      of *g* after *Fu* did not see it. So *Fu* is before *Fr*, as in step 1, and the reader does
//!      not find the object.
//!
//! A reader without a record is counted under the parity of an epoch *x* that was still current
//! after its fence *Fr* (`enter_unrecorded`). The thread that ended *x* + 1 had loaded *x* + 1
//! before its fence. If that fence were before *Fr*, the reader would have seen *x* + 1. So *Fr* is
//! first, that thread saw the count, and epoch *x* + 2 did not start before the reader had left. If
//! *x* is at most *g*, the reader has left before *g* + 2. If *x* is *g* + 1 or later, *Fu* is
//! before *Fr*, as in step 1.
//!
//! One epoch would not be enough. The thread that ends epoch *g* ignores readers that noted *g*.
//! One of them may have entered before *U*, and have the object.
//!
//! # Why a grace period ends
//!
//! A reader that enters during epoch *e* notes *e*, and does not keep *e* from ending. So both
//! epochs of a grace period end when the readers that are now inside have left. Threads that end an
//! epoch do not wait for each other: one compare-exchange succeeds, and the others continue from
//! there.

use super::domain::Domain;
use super::record::State;
use crate::context::Context;
use crate::platform::{Atomics, HostWithSlots, Ordering, Slot, Word};
use core::fmt;

/// Number of epochs from the stamp of an object to its freeing.
pub(super) const GRACE: u64 = 2;

/// The error if a reader has not left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StillRead {
    /// The reader's slot, or `None` if it has no record.
    pub slot: Option<Slot>,
}

impl fmt::Display for StillRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.slot {
            Some(slot) => write!(f, "the reader in slot {} has not left", slot.0),
            None => f.write_str("a reader without a slot has not left"),
        }
    }
}

impl core::error::Error for StillRead {}

/// A grace period that began with [`Domain::grace_period`]. It belongs to that domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GracePeriod(u64);

impl GracePeriod {
    /// Returns the period as a number, for storage in a word.
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Restores a period from the result of [`to_bits`](Self::to_bits).
    pub const fn from_bits(bits: u64) -> Self {
        GracePeriod(bits)
    }
}

impl<H: HostWithSlots, C: Context> Domain<H, C> {
    /// Begins a grace period, for objects that the caller has taken out of reach and keeps until
    /// the period is over. The alternative is [`retire`](Self::retire), which needs a header in
    /// each object. One period serves for any number of objects that were taken out of reach before
    /// the call.
    ///
    /// Epochs end only in calls of [`retire`](Self::retire), [`try_advance`](Self::try_advance) and
    /// the functions that wait. A caller that does not retire must advance the domain itself.
    ///
    /// ```
    /// static DOMAIN: lockyard::Domain = lockyard::Domain::new();
    ///
    /// let reader = DOMAIN.enter();
    /// // Take objects out of reach here.
    /// let period = DOMAIN.grace_period();
    /// while DOMAIN.try_advance().is_ok() {}
    /// assert!(!DOMAIN.has_passed(period), "the reader may have them");
    /// drop(reader);
    /// assert!(DOMAIN.try_advance().is_ok() && DOMAIN.has_passed(period));
    /// // Free them here.
    /// ```
    ///
    /// Cost: a fence and a load.
    #[inline]
    pub fn grace_period(&self) -> GracePeriod {
        GracePeriod(self.stamp() + GRACE)
    }

    /// Returns true if `period` is over: every guard that existed when it began has been dropped,
    /// or has passed a quiescent state. Everything that these readers did happens before the
    /// return. Never waits.
    ///
    /// The result is meaningful only for a period of this domain. Cost: a load.
    #[inline]
    pub fn has_passed(&self, period: GracePeriod) -> bool {
        self.current() >= period.0
    }
}

impl<H: HostWithSlots, C: Context> Domain<H, C> {
    /// Returns the stamp of an object that was just taken out of reach: the current epoch.
    #[inline]
    pub(super) fn stamp(&self) -> u64 {
        // Sequentially consistent: pairs with the fences of `end_epoch` and of entering (see the
        // module).
        H::Atomics::fence(Ordering::SeqCst);
        self.epoch.load(Ordering::Relaxed)
    }

    /// Returns the epoch, for a thread that frees objects that are old enough.
    #[inline]
    pub(super) fn current(&self) -> u64 {
        // Acquire: pairs with the release in `end_epoch`, so that departed readers have finished.
        self.epoch.load(Ordering::Acquire)
    }

    /// Ends `epoch`, unless it has ended or a reader inside has noted an earlier one. With `wait`,
    /// waits for such a reader.
    fn end_epoch(&self, epoch: u64, wait: bool) -> Result<(), StillRead> {
        let left = |state| State(state).allows_end_of(epoch);
        // Sequentially consistent: pairs with the fences of entering and of `stamp` (see the
        // module).
        H::Atomics::fence(Ordering::SeqCst);
        for (slot, record) in self.records.iter() {
            let state = &record.state;
            if wait {
                // A reader may stay long, or may not be running, so this loop yields the CPU
                // between polls. Acquire: pairs with the release of readers that leave.
                H::wait_yielding(state, Ordering::Acquire, left);
            // Acquire: as above.
            } else if !left(state.load(Ordering::Acquire)) {
                return Err(StillRead { slot: Some(slot) });
            }
        }
        let before = &self.unrecorded.inside[(epoch as usize).wrapping_sub(1) % 2];
        // Acquire: pairs with the release of readers that leave.
        while before.load(Ordering::Acquire) != 0 {
            // Another thread may end the epoch, and readers of the next epoch use the same counter.
            if !wait || self.epoch.load(Ordering::Relaxed) != epoch {
                return Err(StillRead { slot: None });
            }
            H::yield_now();
        }
        // Release: pairs with the acquire in `current`. A failure means that another thread has
        // ended the epoch.
        let _ = self.epoch.compare_exchange(epoch, epoch + 1, Ordering::Release, Ordering::Relaxed);
        Ok(())
    }

    /// Ends the current epoch unless a reader from an earlier epoch is still inside. Threads that
    /// retire need not call it, because they do the same once in 64 retirements.
    ///
    /// Cost: a fence, and a load of every record.
    ///
    /// # Errors
    ///
    /// Returns the first reader that has been inside since an earlier epoch.
    pub fn try_advance(&self) -> Result<(), StillRead> {
        // Relaxed: the fence orders it.
        self.end_epoch(self.epoch.load(Ordering::Relaxed), false)
    }

    /// Waits for a grace period. When it returns, every guard that existed at the call has been
    /// dropped. The caller may then free the objects that were taken out of reach before the call.
    ///
    /// Cost: waits for the longest reader, twice, and scans all records twice. Meanwhile it holds
    /// no lock, so other threads can enter, retire and free.
    ///
    /// # Panics
    ///
    /// If the calling thread has a guard of the domain, because it would wait for itself. Two such
    /// cases are not detected, and wait for ever: a thread without a record, and a thread whose
    /// only guards were made inside 4,095 others.
    #[track_caller]
    pub fn synchronize(&self) {
        let own = H::slot().and_then(|slot| self.records.get(slot));
        let inside = own.is_some_and(|r| State(r.state.load(Ordering::Relaxed)).guards() > 0);
        assert!(!inside, "a thread waits for a grace period while it has a guard of the domain");
        let target = self.stamp() + GRACE;
        loop {
            let epoch = self.current();
            if epoch >= target {
                return;
            }
            let _ = self.end_epoch(epoch, true);
        }
    }

    /// The same as [`synchronize`](Self::synchronize), but gives up after `looks` scans that found
    /// a reader inside, with a yield after each. For callers that must not wait for a reader that
    /// never leaves. A thread that is inside a guard may call it, but then it gives up.
    ///
    /// # Errors
    ///
    /// Returns the reader that the last scan found.
    pub fn try_synchronize(&self, looks: u32) -> Result<(), StillRead> {
        let target = self.stamp() + GRACE;
        let mut left = looks;
        while self.current() < target {
            if let Err(still) = self.try_advance() {
                left = left.saturating_sub(1);
                if left == 0 {
                    return Err(still);
                }
                H::yield_now();
            }
        }
        Ok(())
    }
}
