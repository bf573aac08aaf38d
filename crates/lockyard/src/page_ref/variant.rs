//! How a reference is taken and dropped: the four variants.
//!
//! With [`Xadd`], [`Cmpxchg`] and [`OptimisticCmpxchg`] the word is the number of references, and 0 is both
//! frozen and freed: nobody leaves 0 but the owner who unfreezes.
//!
//! With [`LockedBit`] a bit says so, because an adder that does not look before cannot be kept from adding:
//!
//! ```text
//!    31           30                       0
//!   +------------+--------------------------+
//!   | frozen     | references; while frozen |     put to 0: whoever then sets the bit has dropped the last
//!   |            | whatever adders left     |
//!   +------------+--------------------------+
//!
//!   (0, n) --get_not_zero--> (0, n+1)                       a reference, n = 0 too
//!   (1, x) --get_not_zero--> (1, x+1)                       none; the addition stays
//!   (1, x) --get_not_zero that finds x > 2^30--> (1, 0)     so that it never reaches bit 31
//!   (0, n) --put--> (0, n-1);   (0, 0) --the same put, compare-exchange--> (1, 0)   the last one
//!   (0, n) --try_freeze(n)--> (1, 0) --unfreeze(m), exchange--> (0, m)
//! ```
//!
//! *An adder that finds the bit does not undo its addition.* Between the addition and the undoing the owner
//! may unfreeze: add, unfreeze to 1, undo leaves 0, while the owner has a reference. (A model check of such a
//! count is kept, and fails.) Unfreezing is absolute and discards what adders have left.
//!
//! A put that brings the count to 0 does not yet free: a reference may be taken in this moment, and then the
//! compare-exchange that would set the bit fails, and whoever has that reference drops it later. That is as
//! if the reference had been taken before the put. Of several puts that find 0, one sets the bit. The others look at a
//! count that is freed by then: its memory must still be there. (A model check shows that too.)

use super::{MAX_REFERENCES, References};
use crate::invariance::Invariant;
use crate::platform::{Atomics, Event, Host, Ordering, U32, Word};

/// What a saturated count is set to: the middle of its band.
const SATURATED: u32 = 3 << 29;
/// The bit of [`LockedBit`].
const LOCKED: u32 = 1 << 31;

/// How references are counted. Sealed.
pub trait Variant: sealed::Sealed + 'static {
    #[doc(hidden)]
    const FROZEN: u32;
    #[doc(hidden)]
    fn put<H: Host>(word: &U32<H>) -> bool;
    #[doc(hidden)]
    fn unfreeze<H: Host>(word: &U32<H>, references: u32);
}

/// A [`Variant`] that can take a reference where there may be none. Sealed.
#[diagnostic::on_unimplemented(
    message = "a page reference of variant `{Self}` cannot be taken where there may be none",
    label = "`Xadd` is for when zero cannot happen",
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

/// A reference is taken by an addition, for when zero cannot happen. See the [module](crate::page_ref).
#[derive(Debug)]
pub struct Xadd;

/// A reference is taken by a compare-exchange, beginning from `G`: [`Cmpxchg`], [`OptimisticCmpxchg`].
#[derive(Debug)]
pub struct CmpxchgOf<G: Guess>(Invariant<G>);

/// A load, then a compare-exchange until it succeeds. The default.
pub type Cmpxchg = CmpxchgOf<Loaded>;

/// A compare-exchange that guesses that there is one reference, and corrects the guess from its failure.
pub type OptimisticCmpxchg = CmpxchgOf<One>;

/// A reference is taken by an addition, and a bit says that there is none.
///
/// For memory that is not given back while a put may be under way, such as an array of pages: a put that finds no
/// reference left looks at the count again, when another one may have been the last.
#[derive(Debug)]
pub struct LockedBit;

/// What a compare-exchange expects at first. Sealed.
pub trait Guess: sealed::Sealed + 'static {
    #[doc(hidden)]
    fn guess<H: Host>(word: &U32<H>) -> u32;
}

/// What the word holds.
#[derive(Debug)]
pub struct Loaded;
impl Guess for Loaded {
    #[inline(always)]
    fn guess<H: Host>(word: &U32<H>) -> u32 {
        // Relaxed: the compare-exchange decides.
        word.load(Ordering::Relaxed)
    }
}

/// One reference.
#[derive(Debug)]
pub struct One;
impl Guess for One {
    #[inline(always)]
    fn guess<H: Host>(_: &U32<H>) -> u32 {
        1
    }
}

/// What the word says.
pub(super) fn references<V: Variant>(word: u32) -> References {
    if word & LOCKED != 0 || word == V::FROZEN {
        References::Frozen
    } else if word > MAX_REFERENCES {
        References::Saturated
    } else {
        References::Live(word)
    }
}

/// Takes a reference where there is one.
#[inline]
pub(super) fn get<V: Variant, H: Host>(word: &U32<H>) {
    // Relaxed: whoever has a reference can see the object already.
    let before = word.fetch_add(1, Ordering::Relaxed);
    debug_assert!(
        references::<V>(before) != References::Frozen,
        "a reference was taken where there was none"
    );
    if before >= MAX_REFERENCES {
        beyond::<H>(word, before);
    }
}

/// An operation met a count that is full, saturated, or (after an addition) frozen.
#[cold]
fn beyond<H: Host>(word: &U32<H>, before: u32) {
    if before & LOCKED != 0 {
        return;
    }
    if before == MAX_REFERENCES {
        H::count(Event::Saturated);
    }
    // A store, though others count meanwhile: the caller has been counted and keeps its reference until it has
    // stored, so the count is neither frozen nor freed before. Relaxed: the object is never freed, so nothing is handed
    // over.
    word.store(SATURATED, Ordering::Relaxed);
}

/// Drops a reference; returns what the word held.
#[inline(always)]
fn drop_one<V: Variant, H: Host>(word: &U32<H>) -> u32 {
    // Release: pairs with the acquire of whoever finds the last reference gone, and of a freeze.
    let before = word.fetch_sub(1, Ordering::Release);
    if before > MAX_REFERENCES || before == 0 {
        dropped_beyond::<V, H>(word, before);
    }
    before
}

#[cold]
fn dropped_beyond<V: Variant, H: Host>(word: &U32<H>, before: u32) {
    let was_there = before != 0 && before & LOCKED == 0;
    // Relaxed: as in `beyond`; what was dropped once too often is frozen for good. Before the panic, which may be caught.
    word.store(if was_there { SATURATED } else { V::FROZEN }, Ordering::Relaxed);
    debug_assert!(was_there, "a reference was dropped that nobody had");
}

/// Drops a reference from a word in which 0 is freed.
#[inline(always)]
fn put_to_zero<V: Variant, H: Host>(word: &U32<H>) -> bool {
    if drop_one::<V, H>(word) != 1 {
        return false;
    }
    // Pairs with the release of all other puts.
    H::Atomics::acquire_after(word);
    true
}

/// Ends a freeze of a word in which 0 is frozen.
#[inline(always)]
fn unfreeze_zero<H: Host>(word: &U32<H>, references: u32) {
    // Relaxed: nobody but the owner leaves 0.
    debug_assert!(word.load(Ordering::Relaxed) == 0, "a count was unfrozen that is not frozen");
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

/// What a look-up makes of a count that is full or saturated; `None` of one below zero (a put too many has taken it
/// there), which is frozen.
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
            // A full count too is changed by the exchange, and by nothing else: it may be frozen, or be freed, after
            // it was read. Acquire: pairs with the release of `unfreeze`, after which the object is as its owner left it.
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
        // Acquire: pairs with the release of all other puts, which are in the word's release sequence: every
        // change of a count that can come to 0 is a read-modify-write.
        word.compare_exchange(0, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn unfreeze<H: Host>(word: &U32<H>, references: u32) {
        // Release: pairs with the acquire of the gets and freezes that follow.
        let before = word.swap(references, Ordering::Release);
        debug_assert!(before & LOCKED != 0, "a count was unfrozen that is not frozen");
    }
}

impl Conditional for LockedBit {
    #[inline]
    fn get_not_zero<H: Host>(word: &U32<H>) -> bool {
        // Acquire: pairs with the release of `unfreeze`, after which the object is as its owner left it.
        let before = word.fetch_add(1, Ordering::Acquire);
        if before >= MAX_REFERENCES {
            return added_beyond::<H>(word, before);
        }
        true
    }
}

/// An addition met a count that is frozen, full or saturated.
#[cold]
fn added_beyond<H: Host>(word: &U32<H>, before: u32) -> bool {
    if before & LOCKED == 0 {
        beyond::<H>(word, before);
        return true;
    }
    if before & !LOCKED > MAX_REFERENCES {
        // Relaxed, and whether it succeeds does not matter: the next adder tries again.
        let now = before.wrapping_add(1);
        let _ = word.compare_exchange(now, LOCKED, Ordering::Relaxed, Ordering::Relaxed);
    }
    false
}
