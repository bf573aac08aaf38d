//! An object of a table: a lock, and a value until it is removed.

use lockyard::lock::Queued;
use lockyard::platform::{Cell, DataCell, HostWithSlots};
use lockyard::reclaim::Owned;
use lockyard::{Context, RawSpinLock};

/// The type of a table's lock and of an object's lock.
pub(super) type Lock<H, C> = RawSpinLock<Queued, H, C>;

/// An object with its lock, to which a word of the table points. It keeps one identifier for its
/// whole life.
pub(super) struct Object<T: Send, H: HostWithSlots, C: Context> {
    pub(super) lock: Lock<H, C>,
    /// `None` after the removal. Accessed under the lock.
    pub(super) value: Cell<H, Option<T>>,
}

impl<T: Send, H: HostWithSlots, C: Context> Object<T, H, C> {
    pub(super) fn new(value: T) -> Self {
        Object { lock: Lock::<H, C>::new(), value: DataCell::new(Some(value)) }
    }

    /// Returns the value of an object that was never published.
    pub(super) fn into_value(self) -> T {
        self.value.into_inner().expect("it was not removed")
    }

    /// # Safety
    ///
    /// The bits must be 0, or must come from an `Owned<Object>` that lives as long as the returned
    /// reference.
    #[inline(always)]
    pub(super) unsafe fn at<'a>(bits: u64) -> Option<&'a Self> {
        // SAFETY: the caller's promise.
        unsafe { Owned::<Self, H>::deref_bits(bits) }
    }

    /// # Safety
    ///
    /// The bits must come from an `Owned<Object>` that only the caller has, and that was not
    /// removed.
    pub(super) unsafe fn value_of_bits(bits: u64) -> T {
        // SAFETY: the caller's promise.
        let object = unsafe { Owned::<Self, H>::from_bits(bits) };
        object.expect("an object's bits are not 0").into_inner().into_value()
    }

    /// Drops an object.
    ///
    /// # Safety
    ///
    /// The bits must come from an `Owned<Object>` that only the caller has.
    pub(super) unsafe fn free(bits: u64) {
        // SAFETY: the caller's promise.
        drop(unsafe { Owned::<Self, H>::from_bits(bits) });
    }
}
