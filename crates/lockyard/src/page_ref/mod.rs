//! The page reference count: "take a reference unless there is none", in four bytes, in four
//! variants.
//!
//! A thread may find an object without a lock (a page in a cache, an entry of a table) while
//! another thread removes it. So it may take a reference only while another reference exists. The
//! object's owner must sometimes have exclusive access. [`PageRef::try_freeze`] takes all
//! references away if they all belong to the owner, and [`PageRef::unfreeze`] sets a new number of
//! references. In between no thread gets a reference.
//!
//! The [`Variant`] decides how a reference is taken:
//!
//! | variant | takes a reference by | cost with many threads |
//! | --- | --- | --- |
//! | [`Xadd`] | an addition, if one surely exists | one exclusive transfer each |
//! | [`Cmpxchg`] | a load, then compare-exchanges | two transfers; failures repeat the second |
//! | [`OptimisticCmpxchg`] | compare-exchanges; the first expects 1 | the first often fails |
//! | [`LockedBit`] | an addition, void if a bit was set | one exclusive transfer each |
//!
//! With [`LockedBit`] the memory of the count must not be freed while a [`PageRef::put`] may be
//! running. An array of pages, or a slab of objects of one type, meets that condition. A put that
//! finds no reference left accesses the count a second time. By then another thread may have taken
//! a reference, dropped it, and learned that it was the last.
//!
//! With the other variants, a put that is not the last touches nothing after its subtraction. So
//! the thread that drops the last reference may free the count with the object.
//!
//! Source: the variants, and the published table `page-ref`, are from the discussion of P. Falcato,
//! *mm: improve folio refcount scalability*, linux-mm mailing list, 2026-02 and 2026-03. This code
//! was written from the description, not from an implementation.

mod references;
mod variant;

pub use references::{MAX_REFERENCES, References};
pub use variant::{
    Cmpxchg, CmpxchgOf, Conditional, Loaded, LockedBit, One, OptimisticCmpxchg, Variant, Xadd,
};

use crate::invariance::Invariant;
use crate::platform::{Host, Native, NativeAtomics, NativeU32, Ordering, U32, Word};
use core::fmt;
use core::marker::PhantomData;

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
/// Cost of every uncontended operation: one locked instruction. That is one exclusive transfer of
/// the line if another CPU had it last. With [`Cmpxchg`] a load precedes it.
/// [`unfreeze`](Self::unfreeze) is a plain store, except with [`LockedBit`]. No operation
/// allocates, blocks in the host, or waits.
#[repr(transparent)]
pub struct PageRef<V: Variant = Cmpxchg, H: Host = Native> {
    word: U32<H>,
    _variant: Invariant<V>,
}

impl<V: Variant, H: Host<Atomics = NativeAtomics>> PageRef<V, H> {
    /// Makes a count of `references`. For statics, and for every host on native memory.
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
    /// Makes a count of `references`, on any platform.
    ///
    /// # Panics
    ///
    /// If `references` is 0 or exceeds [`MAX_REFERENCES`].
    #[inline]
    pub fn from_references(references: u32) -> Self {
        assert_number(references);
        PageRef { word: Word::new(references), _variant: PhantomData }
    }

    /// Takes a reference (relaxed). The caller already has a reference, or knows that another
    /// thread keeps one during the call. One locked addition, in all variants.
    ///
    /// # Panics
    ///
    /// In debug builds, if there is no reference. In release builds nothing prevents the use of a
    /// freed object.
    #[inline]
    pub fn get(&self) {
        variant::get::<V, H>(&self.word);
    }

    /// Takes a reference unless there is none. Returns true if it did. Acquire on success.
    ///
    /// Cost: one locked instruction with [`LockedBit`]. With [`Cmpxchg`] and [`OptimisticCmpxchg`],
    /// one for each attempt; each failure means that another operation succeeded.
    #[inline]
    #[must_use = "without a reference the object may go away"]
    pub fn get_not_zero(&self) -> bool
    where
        V: Conditional,
    {
        V::get_not_zero::<H>(&self.word)
    }

    /// Drops a reference, and returns true if it was the last. Ordering: release, and also acquire
    /// for the last.
    ///
    /// After the last put the caller has exclusive access to the object, and no reference can be
    /// taken any more. The caller may free the object (and also the count, except with
    /// [`LockedBit`]).
    ///
    /// # Panics
    ///
    /// In debug builds, if there is no reference. In release builds the count is then frozen for
    /// good.
    #[inline]
    #[must_use = "the thread that drops the last reference frees the object"]
    pub fn put(&self) -> bool {
        V::put::<H>(&self.word)
    }

    /// Takes all references away if there are exactly `expected`, all of them the caller's. Returns
    /// true if it did. Acquire on success. Cost: one compare-exchange.
    ///
    /// Until [`unfreeze`](Self::unfreeze) no reference can be taken, and the caller has exclusive
    /// access to the object.
    ///
    /// # Panics
    ///
    /// If `expected` is 0 or exceeds [`MAX_REFERENCES`].
    #[inline]
    #[must_use = "`false` means that another thread has a reference"]
    pub fn try_freeze(&self, expected: u32) -> bool {
        assert_number(expected);
        // Acquire: pairs with the release of every put. After it the caller has exclusive access.
        self.word
            .compare_exchange(expected, V::FROZEN, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Ends the caller's freeze, and sets the count to `references`. Release. Cost: a plain store,
    /// or with [`LockedBit`] an exchange.
    ///
    /// # Panics
    ///
    /// If `references` is 0 or exceeds [`MAX_REFERENCES`]; in debug builds, if the count is not
    /// frozen.
    #[inline]
    pub fn unfreeze(&self, references: u32) {
        assert_number(references);
        V::unfreeze::<H>(&self.word, references);
    }

    /// Returns the state of the count. The result is a snapshot (relaxed), and may already be stale
    /// when the function returns.
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
