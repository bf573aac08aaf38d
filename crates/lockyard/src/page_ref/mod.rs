//! The page reference count: "take a reference unless there is none", in four bytes, four ways.
//!
//! An object that is found without a lock (a page in a cache, an entry of a table) may be on its way out
//! when it is found: a reference may only be taken while someone still has one. And its owner must now and
//! then be alone with it: [`PageRef::try_freeze`] takes all references away if they are the owner's own, and
//! [`PageRef::unfreeze`] gives some back; in between nobody gets one. How a reference is taken is the
//! [`Variant`]:
//!
//! | variant | takes a reference by | when many do at once |
//! | --- | --- | --- |
//! | [`Xadd`] | an addition; only for who knows that there is one | each pays one exclusive transfer |
//! | [`Cmpxchg`] | a load, and a compare-exchange until it succeeds | the load and the exchange are two transfers; failures repeat the second |
//! | [`OptimisticCmpxchg`] | a compare-exchange that guesses that there is one reference, and then knows better | no load, but the first exchange often fails |
//! | [`LockedBit`] | an addition, which a bit in the old value makes void | each pays one exclusive transfer, as with [`Xadd`] |
//!
//! With [`LockedBit`] the count must lie in memory that is not given back while a [`PageRef::put`] may be under way: in an
//! array of pages, in a slab of objects of one type. A put that finds no reference left looks a second time, and by then
//! another thread may have taken a reference, dropped it, and been told that it was the last. With the other variants a
//! put that is not the last one touches nothing after its subtraction, so whoever is told of the last may free the count
//! with the object.
//!
//! Source: the variants, and the published table `page-ref`, are from the discussion of P. Falcato, *mm: improve
//! folio refcount scalability*, linux-mm mailing list, 2026-02 and 2026-03. Written from the description, not from an
//! implementation.

mod variant;

pub use variant::{
    Cmpxchg, CmpxchgOf, Conditional, Loaded, LockedBit, One, OptimisticCmpxchg, Variant, Xadd,
};

use crate::invariance::Invariant;
use crate::platform::{Host, Native, NativeAtomics, NativeU32, Ordering, U32, Word};
use core::fmt;
use core::marker::PhantomData;

/// The most references that are counted. Beyond it the count saturates and stays there: the object is
/// leaked, and [`Event::Saturated`](crate::platform::Event::Saturated) is counted.
///
/// It takes 2^29 threads in the middle of an operation at the same time to leave the band in which a count
/// is saturated.
pub const MAX_REFERENCES: u32 = 1 << 30;

/// What a count says. A snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum References {
    /// So many references. (0 only with [`LockedBit`], for the moment in which the last one is being
    /// dropped and can still be followed by another.)
    Live(u32),
    /// There is none, and none can be taken: the last one was dropped, or the owner has frozen the count.
    Frozen,
    /// More than were counted; the object is never freed.
    Saturated,
}

/// A reference count of four bytes that is never revived. See the [module documentation](self).
///
/// ```
/// use lockyard::PageRef;
///
/// static PAGE: PageRef = PageRef::new(1);
/// assert!(PAGE.get_not_zero());
/// assert!(!PAGE.put(), "one reference is left");
/// // The owner has the only one: it can be alone with the page for a while.
/// assert!(PAGE.try_freeze(1));
/// assert!(!PAGE.get_not_zero());
/// PAGE.unfreeze(1);
/// assert!(PAGE.put(), "the last one");
/// assert!(!PAGE.get_not_zero());
/// ```
///
/// Cost of every operation, uncontended: one locked instruction (before it, with [`Cmpxchg`], a load;
/// [`unfreeze`](Self::unfreeze) of all variants but [`LockedBit`] is a plain store), so one exclusive transfer of the line if another CPU had it last.
/// Nothing here allocates, blocks in the host, or waits.
#[repr(transparent)]
pub struct PageRef<V: Variant = Cmpxchg, H: Host = Native> {
    word: U32<H>,
    _variant: Invariant<V>,
}

impl<V: Variant, H: Host<Atomics = NativeAtomics>> PageRef<V, H> {
    /// `references` references; for statics, and for every host over native memory.
    ///
    /// # Panics
    ///
    /// If `references` is 0 or exceeds [`MAX_REFERENCES`].
    #[inline]
    pub const fn new(references: u32) -> Self {
        assert_number(references);
        PageRef { word: NativeU32::new(references), _variant: PhantomData }
    }
}

#[track_caller]
const fn assert_number(references: u32) {
    assert!(references >= 1 && references <= MAX_REFERENCES, "a page has 1 to 2^30 references");
}

impl<V: Variant, H: Host> PageRef<V, H> {
    /// `references` references; on any platform.
    ///
    /// # Panics
    ///
    /// If `references` is 0 or exceeds [`MAX_REFERENCES`].
    #[inline]
    pub fn from_references(references: u32) -> Self {
        assert_number(references);
        PageRef { word: Word::new(references), _variant: PhantomData }
    }

    /// Takes a reference. The caller has one already, or knows that another is kept meanwhile: relaxed. One
    /// locked addition, of all variants.
    ///
    /// # Panics
    ///
    /// In debug builds, if there is no reference. In release builds nothing prevents that use of a freed
    /// object.
    #[inline]
    pub fn get(&self) {
        variant::get::<V, H>(&self.word);
    }

    /// Takes a reference unless there is none; says whether it did. Acquire on success. One locked instruction
    /// ([`LockedBit`]), or as many as it takes ([`Cmpxchg`], [`OptimisticCmpxchg`]: each failure means that another
    /// operation succeeded).
    #[inline]
    #[must_use = "without a reference the object may go away"]
    pub fn get_not_zero(&self) -> bool
    where
        V: Conditional,
    {
        V::get_not_zero::<H>(&self.word)
    }

    /// Drops a reference, and says whether it was the last: then the caller is alone with the object, no
    /// reference can be taken any more, and it may free the object (with the count, but see [`LockedBit`]). Release; acquire too for the last one.
    ///
    /// # Panics
    ///
    /// In debug builds, if there is no reference. In release builds the count is then frozen for good.
    #[inline]
    #[must_use = "who drops the last reference frees the object"]
    pub fn put(&self) -> bool {
        V::put::<H>(&self.word)
    }

    /// Takes all references away if there are exactly `expected`, which the caller has; says whether it did. Until
    /// [`unfreeze`](Self::unfreeze) no reference can be taken, and the caller is alone with the object. Acquire on
    /// success. One compare-exchange.
    ///
    /// # Panics
    ///
    /// If `expected` is 0 or exceeds [`MAX_REFERENCES`].
    #[inline]
    #[must_use = "`false` means that someone else has a reference"]
    pub fn try_freeze(&self, expected: u32) -> bool {
        assert_number(expected);
        // Acquire: pairs with the release of every put, after which the caller is alone.
        self.word
            .compare_exchange(expected, V::FROZEN, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Ends a freeze of the caller's, with `references` references. Release. A plain store; with [`LockedBit`] an
    /// exchange.
    ///
    /// # Panics
    ///
    /// If `references` is 0 or exceeds [`MAX_REFERENCES`]; in debug builds, if the count is not frozen.
    #[inline]
    pub fn unfreeze(&self, references: u32) {
        assert_number(references);
        V::unfreeze::<H>(&self.word, references);
    }

    /// The count. A snapshot (relaxed): it may be stale before it is returned.
    #[inline]
    pub fn references(&self) -> References {
        variant::references::<V>(self.word.load(Ordering::Relaxed))
    }
}

impl<V: Variant, H: Host> fmt::Debug for PageRef<V, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PageRef").field(&self.references()).finish()
    }
}

const _: () = assert!(size_of::<PageRef>() == 4 && align_of::<PageRef>() == 4);
