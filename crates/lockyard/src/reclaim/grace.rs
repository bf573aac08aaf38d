//! Grace periods: when every reader of an earlier time has left.
//!
//! # The algorithm
//!
//! A domain has an *epoch*, a number that grows by one. A reader notes the epoch that it finds when it enters. An epoch *e* may end, so
//! that *e* + 1 begins, when no reader is inside who noted an earlier one. An object is stamped, after it was taken out of
//! reach, with the epoch *g* that is found then; it may be freed when the epoch is *g* + 2.
//!
//! # Why nothing is freed under a reader
//!
//! Let *U* take an object out of reach, *Fu* be the fence after it (`stamp`), *g* the stamp. Whoever ended epoch *g* + 1 (call it *A*)
//! loaded *g* + 1, passed its fence *Fa*, and looked at all records; then it made the epoch *g* + 2, by a compare-exchange with
//! release. The one who frees has loaded *g* + 2 or later with acquire. Let a reader store its state *R*, pass its fence *Fr*, and
//! then read pointers. The three fences are sequentially consistent, so they stand in one order.
//!
//! 1. *Fu* before *Fa*: the load of *g* after *Fu* did not see *g* + 1, which was loaded before *Fa*. Were *Fa* first, the
//!    later load could not return an older value.
//! 2. If *Fa* is before *Fr*, then *Fu* is before *Fr*, and every load of the reader sees *U* or something newer: it does not find the object.
//! 3. If *Fr* is before *Fa*, then *A* looks at the record after *R* and sees *R* or a later store of that slot (and the segment
//!    in which the record lies: its publication is before *Fr* too).
//!    - A later store: both leaving and entering again store with release, *A* looks with acquire. So what the reader did
//!      inside is before *A*'s compare-exchange, and before the freeing.
//!    - *R* itself with an epoch up to *g*: *A* does not end the epoch.
//!    - *R* with *g* + 1 (or later): the reader loaded it before *Fr*, and the load of *g* after *Fu* did not see it: *Fu* is before
//!      *Fr*, as in 1, and the reader does not find the object.
//!
//! A reader without a record is counted under the parity of an epoch *x* that was still current after its fence *Fr* (`enter_unrecorded`). Whoever
//! ended *x* + 1 had loaded *x* + 1 before its fence; were that fence before *Fr*, the reader would have seen
//! *x* + 1. So *Fr* is first, the count was seen, and epoch *x* + 2 did not begin before the reader had left. If *x* is at most
//! *g*, it has left before *g* + 2. If *x* is *g* + 1 or later, *Fu* is before *Fr* as above.
//!
//! One epoch would not do: whoever ends epoch *g* itself lets readers be who noted *g*, and one of those may have entered before *U*
//! and have the object.
//!
//! # Why a grace period ends
//!
//! A reader who enters while epoch *e* is current notes *e* and does not keep *e* from ending. So if those leave who are inside,
//! both epochs end. Who ends an epoch waits for no other who tries the same: one compare-exchange succeeds, and the others
//! go on from there.

use super::Domain;
use super::record::State;
use crate::context::Context;
use crate::platform::{Atomics, HostWithSlots, Ordering, Slot, Word};
use core::fmt;

/// Epochs from the stamp of an object to its end.
pub(super) const GRACE: u64 = 2;

/// A reader has not left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StillRead {
    /// Whose reader it is; `None` if it is one without a record.
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

impl<H: HostWithSlots, C: Context> Domain<H, C> {
    /// The epoch for what has just been taken out of reach.
    #[inline]
    pub(super) fn stamp(&self) -> u64 {
        // Sequentially consistent: pairs with the fences of `end_epoch` and of entering; see the module.
        H::Atomics::fence(Ordering::SeqCst);
        self.epoch.load(Ordering::Relaxed)
    }

    /// The epoch, for whoever frees what is old enough.
    #[inline]
    pub(super) fn current(&self) -> u64 {
        // Acquire: pairs with the release in `end_epoch`; what readers did who have left is done.
        self.epoch.load(Ordering::Acquire)
    }

    /// Ends `epoch` if nobody is inside who noted an earlier one; or it has ended. With `wait` it waits for who is.
    fn end_epoch(&self, epoch: u64, wait: bool) -> Result<(), StillRead> {
        let left = |state| State(state).allows_end_of(epoch);
        // Sequentially consistent: pairs with the fences of entering and of `stamp`; see the module.
        H::Atomics::fence(Ordering::SeqCst);
        for (slot, record) in self.records.iter() {
            let state = &record.state;
            if wait {
                // Readers may be long, or not be running: the CPU is for others between two looks.
                // Acquire: pairs with the release of those who leave.
                H::wait_yielding(state, Ordering::Acquire, left);
            // Acquire: as above.
            } else if !left(state.load(Ordering::Acquire)) {
                return Err(StillRead { slot: Some(slot) });
            }
        }
        let before = &self.unrecorded.inside[(epoch as usize).wrapping_sub(1) % 2];
        // Acquire: pairs with the release of those who leave.
        while before.load(Ordering::Acquire) != 0 {
            // Another may end the epoch, and readers of the next one come to the same counter.
            if !wait || self.epoch.load(Ordering::Relaxed) != epoch {
                return Err(StillRead { slot: None });
            }
            H::yield_now();
        }
        // Release: pairs with the acquire in `current`. Failure: another has ended it.
        let _ = self.epoch.compare_exchange(epoch, epoch + 1, Ordering::Release, Ordering::Relaxed);
        Ok(())
    }

    /// Ends the current epoch if that can be done without waiting. Not needed by those that retire, which do this once in 64 retirements.
    ///
    /// Cost: a fence, and a load of every record.
    ///
    /// # Errors
    ///
    /// The first reader that was found inside since an earlier epoch.
    pub fn try_advance(&self) -> Result<(), StillRead> {
        // Relaxed: the fence orders it.
        self.end_epoch(self.epoch.load(Ordering::Relaxed), false)
    }

    /// Waits for a grace period: when it returns, every guard has been dropped that was there when it was called, and what was
    /// taken out of reach before may be freed by the caller itself.
    ///
    /// Cost: waits for the longest reader, twice; two looks at every record. It holds nothing meanwhile: others enter, retire and
    /// free.
    ///
    /// # Panics
    ///
    /// If the calling thread has a guard of the domain: it would wait for itself. (Of a thread without a record this is not
    /// noticed, and it waits for ever. Nor is it of a thread that has kept only guards made inside 4,095 others.)
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

    /// As [`synchronize`](Self::synchronize), but gives up after `looks` looks that found a reader inside, with a yield after
    /// each. For callers that must not wait for a reader that never leaves. It may be called inside a guard, and gives up then.
    ///
    /// # Errors
    ///
    /// The reader that the last look found.
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
