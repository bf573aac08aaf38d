//! The four variants of a page reference count: how each takes and drops a reference.
//!
//! With [`Xadd`], [`Cmpxchg`] and [`OptimisticCmpxchg`] the word is the number of references, and 0
//! means frozen or freed. Only an owner that unfreezes changes the word from 0.
//!
//! With [`LockedBit`] a bit means frozen or freed. The bit is needed because a thread adds without
//! looking first, even to a frozen count:
//!
//! ```text
//!    31           30                       0
//!   +------------+--------------------------+
//!   | frozen     | references; while frozen |     after a put to 0, the put that sets the bit
//!   |            | whatever adders left     |     has dropped the last reference
//!   +------------+--------------------------+
//!
//!   (0, n) --get_not_zero--> (0, n+1)                       a reference, n = 0 too
//!   (1, x) --get_not_zero--> (1, x+1)                       none; the addition stays
//!   (1, x) --get_not_zero that finds x > 2^30--> (1, 0)     so that it never reaches bit 31
//!   (0, n) --put--> (0, n-1)
//!   (0, 0) --the same put, compare-exchange--> (1, 0)       it has dropped the last one
//!   (0, n) --try_freeze(n)--> (1, 0) --unfreeze(m), exchange--> (0, m)
//! ```
//!
//! *An adder that finds the bit does not undo its addition.* Between the addition and the undoing
//! the owner may unfreeze. After an addition, an unfreeze to 1, and the undoing, the word would be
//! 0, although the owner has a reference. (A model check of such a count is kept, and fails.)
//! Unfreezing stores an absolute number, and so discards earlier additions to the frozen count.
//!
//! A put that brings the count to 0 does not yet free. Another thread may take a reference at that
//! moment. Then the compare-exchange that would set the bit fails, and the other thread drops the
//! reference later. The result is the same as if the other thread had taken the reference before
//! the put.
//!
//! If several puts find 0, one of them sets the bit. The others read a count that may already be
//! freed, so its memory must still exist. (A model check also shows that.)

use super::references::{MAX_REFERENCES, References};
use crate::invariance::Invariant;
use crate::platform::{Atomics, Event, Host, Ordering, U32, Word};

/// The value of a saturated count: the middle of its band.
const SATURATED: u32 = 3 << 29;
/// The bit of [`LockedBit`].
const LOCKED: u32 = 1 << 31;

/// The way to count references. Sealed.
pub trait Variant: sealed::Sealed + 'static {
    #[doc(hidden)]
    const FROZEN: u32;
    #[doc(hidden)]
    fn put<H: Host>(word: &U32<H>) -> bool;
    #[doc(hidden)]
    fn unfreeze<H: Host>(word: &U32<H>, references: u32);
}

/// A [`Variant`] that can take a reference when there may be none. Sealed.
#[diagnostic::on_unimplemented(
    message = "variant `{Self}` cannot take a page reference when the count may be zero",
    label = "`Xadd` is for counts that cannot be zero",
    note = "use `PageRef::get`, or one of `LockedBit`, `OptimisticCmpxchg`, `Cmpxchg`"
)]
pub trait Conditional: Variant {
    #[doc(hidden)]
    fn get_not_zero<H: Host>(word: &U32<H>) -> bool;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Xadd {}
    impl<G: super::Guess> Sealed for super::CmpxchgOf<G> {}
    impl Sealed for super::LockedBit {}
    impl Sealed for super::Loaded {}
    impl Sealed for super::One {}
}

/// Takes a reference by an addition, for counts that cannot be zero. See the
/// [module](crate::page_ref).
#[derive(Debug)]
pub struct Xadd;

/// Takes a reference by a compare-exchange that first expects `G`: [`Cmpxchg`],
/// [`OptimisticCmpxchg`].
#[derive(Debug)]
pub struct CmpxchgOf<G: Guess>(Invariant<G>);

/// Loads, then tries a compare-exchange until it succeeds. The default.
pub type Cmpxchg = CmpxchgOf<Loaded>;

/// Tries a compare-exchange that first expects one reference. If it fails, retries with the value
/// that it found.
pub type OptimisticCmpxchg = CmpxchgOf<One>;

/// Takes a reference by an addition. A bit means that there is no reference.
///
/// For memory that is not freed while a put may be running, such as an array of pages. A put that
/// finds no reference left accesses the count again, although another put may have been the last.
#[derive(Debug)]
pub struct LockedBit;

/// The first expected value of a compare-exchange. Sealed.
pub trait Guess: sealed::Sealed + 'static {
    #[doc(hidden)]
    fn guess<H: Host>(word: &U32<H>) -> u32;
}

/// Expects the loaded value of the word.
#[derive(Debug)]
pub struct Loaded;
impl Guess for Loaded {
    #[inline(always)]
    fn guess<H: Host>(word: &U32<H>) -> u32 {
        // Relaxed: the compare-exchange decides.
        word.load(Ordering::Relaxed)
    }
}

/// Expects one reference.
#[derive(Debug)]
pub struct One;
impl Guess for One {
    #[inline(always)]
    fn guess<H: Host>(_: &U32<H>) -> u32 {
        1
    }
}

/// Returns the state of a count whose word is `word`.
pub(super) fn references<V: Variant>(word: u32) -> References {
    if word & LOCKED != 0 || word == V::FROZEN {
        References::Frozen
    } else if word > MAX_REFERENCES {
        References::Saturated
    } else {
        References::Live(word)
    }
}

/// Takes a reference. The caller ensures that one exists.
#[inline]
pub(super) fn get<V: Variant, H: Host>(word: &U32<H>) {
    // Relaxed: a thread that has a reference can already see the object.
    let before = word.fetch_add(1, Ordering::Relaxed);
    debug_assert!(
        references::<V>(before) != References::Frozen,
        "a reference was taken when there was none"
    );
    if before >= MAX_REFERENCES {
        beyond::<H>(word, before);
    }
}

/// Handles a count that was full, saturated, or (after an addition) frozen.
#[cold]
fn beyond<H: Host>(word: &U32<H>, before: u32) {
    if before & LOCKED != 0 {
        return;
    }
    if before == MAX_REFERENCES {
        H::count(Event::Saturated);
    }
    // A plain store is safe although other threads change the count. The caller has been counted,
    // and keeps its reference until after the store. So the count cannot be frozen or freed before
    // the store. Relaxed: the object is never freed, so there is nothing to publish.
    word.store(SATURATED, Ordering::Relaxed);
}

/// Drops a reference, and returns the word's previous value.
#[inline(always)]
fn drop_one<V: Variant, H: Host>(word: &U32<H>) -> u32 {
    // Release: pairs with the acquire of the thread that finds the last reference gone, and of a
    // freeze.
    let before = word.fetch_sub(1, Ordering::Release);
    if before > MAX_REFERENCES || before == 0 {
        dropped_beyond::<V, H>(word, before);
    }
    before
}

#[cold]
fn dropped_beyond<V: Variant, H: Host>(word: &U32<H>, before: u32) {
    let was_there = before != 0 && before & LOCKED == 0;
    // Relaxed: as in `beyond`. A count that was dropped once too often is frozen for good. The
    // store comes before the panic, because a caller may catch the panic.
    word.store(if was_there { SATURATED } else { V::FROZEN }, Ordering::Relaxed);
    debug_assert!(was_there, "a reference was dropped when there was none");
}

/// Drops a reference from a word where 0 means freed.
#[inline(always)]
fn put_to_zero<V: Variant, H: Host>(word: &U32<H>) -> bool {
    if drop_one::<V, H>(word) != 1 {
        return false;
    }
    // Pairs with the release of all other puts.
    H::Atomics::acquire_after(word);
    true
}

/// Ends a freeze of a word where 0 means frozen.
#[inline(always)]
fn unfreeze_zero<H: Host>(word: &U32<H>, references: u32) {
    // Relaxed: only the owner changes 0.
    debug_assert!(word.load(Ordering::Relaxed) == 0, "a count that is not frozen was unfrozen");
    // Release: pairs with the acquire of the gets and freezes that follow.
    word.store(references, Ordering::Release);
}

impl Variant for Xadd {
    const FROZEN: u32 = 0;

    #[inline]
    fn put<H: Host>(word: &U32<H>) -> bool {
        put_to_zero::<Self, H>(word)
    }
    #[inline]
    fn unfreeze<H: Host>(word: &U32<H>, references: u32) {
        unfreeze_zero::<H>(word, references);
    }
}

impl<G: Guess> Variant for CmpxchgOf<G> {
    const FROZEN: u32 = 0;

    #[inline]
    fn put<H: Host>(word: &U32<H>) -> bool {
        put_to_zero::<Self, H>(word)
    }
    #[inline]
    fn unfreeze<H: Host>(word: &U32<H>, references: u32) {
        unfreeze_zero::<H>(word, references);
    }
}

/// Returns the new value for a look-up in a full or saturated count. Returns `None` for a count
/// below zero (after one put too many), which is frozen.
#[cold]
fn beyond_full(seen: u32) -> Option<u32> {
    (seen & LOCKED == 0).then_some(SATURATED)
}

impl<G: Guess> Conditional for CmpxchgOf<G> {
    #[inline]
    fn get_not_zero<H: Host>(word: &U32<H>) -> bool {
        let mut seen = G::guess::<H>(word);
        loop {
            if seen == 0 {
                return false;
            }
            let mut wanted = seen.wrapping_add(1);
            if seen >= MAX_REFERENCES {
                match beyond_full(seen) {
                    Some(saturated) => wanted = saturated,
                    None => return false,
                }
            }
            // Only this exchange may change a full count. A plain store may not: after the read,
            // the count may have been frozen or freed. Acquire: pairs with the release of
            // `unfreeze`, so that this thread sees the owner's changes to the object.
            match word.compare_exchange(seen, wanted, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    if seen == MAX_REFERENCES {
                        H::count(Event::Saturated);
                    }
                    return true;
                }
                Err(actual) => seen = actual,
            }
        }
    }
}

impl Variant for LockedBit {
    const FROZEN: u32 = LOCKED;

    #[inline]
    fn put<H: Host>(word: &U32<H>) -> bool {
        if drop_one::<Self, H>(word) != 1 {
            return false;
        }
        // Acquire: pairs with the release of all other puts. They are in the word's release
        // sequence, because every change of a count that can reach 0 is a read-modify-write.
        word.compare_exchange(0, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn unfreeze<H: Host>(word: &U32<H>, references: u32) {
        // Release: pairs with the acquire of the gets and freezes that follow.
        let before = word.swap(references, Ordering::Release);
        debug_assert!(before & LOCKED != 0, "a count that is not frozen was unfrozen");
    }
}

impl Conditional for LockedBit {
    #[inline]
    fn get_not_zero<H: Host>(word: &U32<H>) -> bool {
        // Acquire: pairs with the release of `unfreeze`, so that this thread sees the owner's
        // changes to the object.
        let before = word.fetch_add(1, Ordering::Acquire);
        if before >= MAX_REFERENCES {
            return added_beyond::<H>(word, before);
        }
        true
    }
}

/// Handles an addition to a count that was frozen, full or saturated.
#[cold]
fn added_beyond<H: Host>(word: &U32<H>, before: u32) -> bool {
    if before & LOCKED == 0 {
        beyond::<H>(word, before);
        return true;
    }
    if before & !LOCKED > MAX_REFERENCES {
        // Relaxed, and it may fail: the next adder tries again.
        let now = before.wrapping_add(1);
        let _ = word.compare_exchange(now, LOCKED, Ordering::Relaxed, Ordering::Relaxed);
    }
    false
}
