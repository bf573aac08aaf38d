//! An object of a table: its own lock, and its value until it is removed.

use lockyard::lock::Queued;
use lockyard::platform::{Cell, DataCell, HostWithSlots};
use lockyard::reclaim::Owned;
use lockyard::{Context, RawSpinLock};

/// The lock of a table, and of an object.
pub(super) type Lock<H, C> = RawSpinLock<Queued, H, C>;

/// The object that a table's word names: its lock, and the value until it is removed. It has one
/// identifier for all its life.
pub(super) struct Object<T: Send, H: HostWithSlots, C: Context> {
    pub(super) lock: Lock<H, C>,
    /// `None` after the removal. Used under the lock.
    pub(super) value: Cell<H, Option<T>>,
}

impl<T: Send, H: HostWithSlots, C: Context> Object<T, H, C> {
    pub(super) fn new(value: T) -> Self {
        Object { lock: Lock::<H, C>::new(), value: DataCell::new(Some(value)) }
    }

    /// Returns the value of an object that was not published.
    pub(super) fn into_value(self) -> T {
        self.value.into_inner().expect("it was not removed")
    }

    /// # Safety
    ///
    /// The bits are of an `Owned<Object>`, or 0, and it lives as long as the reference.
    #[inline(always)]
    pub(super) unsafe fn at<'a>(bits: u64) -> Option<&'a Self> {
        // SAFETY: the caller's promise.
        unsafe { Owned::<Self, H>::deref_bits(bits) }
    }

    /// # Safety
    ///
    /// The bits are of an `Owned<Object>` that is the caller's alone, and was not removed.
    pub(super) unsafe fn value_of_bits(bits: u64) -> T {
        // SAFETY: the caller's promise.
        let object = unsafe { Owned::<Self, H>::from_bits(bits) };
        object.expect("an object's bits are not 0").into_inner().into_value()
    }

    /// Drops an object.
    ///
    /// # Safety
    ///
    /// The bits are of an `Owned<Object>` that is the caller's alone.
    pub(super) unsafe fn free(bits: u64) {
        // SAFETY: the caller's promise.
        drop(unsafe { Owned::<Self, H>::from_bits(bits) });
    }
}
