//! The header of an object that can be retired: a link, a stamp, and the function that frees the
//! object.

use crate::platform::{Cell, DataCell, Host, Native};
use core::fmt;
use core::ptr::NonNull;

/// A function that frees a retired object. Its argument is the object's header. The function may
/// retire other objects, and enter domains. It must not wait for a grace period. If it panics, the
/// object counts as freed, and the other waiting objects are not lost.
pub type Free<H> = unsafe fn(NonNull<Header<H>>);

/// The part of an object that is used to retire the object: 24 bytes, unused before the retirement.
/// Readers do not access it.
pub struct Header<H: Host = Native>(Cell<H, Links<H>>);

pub(super) struct Links<H: Host> {
    pub(super) next: u64,
    pub(super) stamp: u64,
    pub(super) free: Option<Free<H>>,
}

impl<H: Host> Clone for Links<H> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<H: Host> Copy for Links<H> {}

impl<H: Host> Header<H> {
    /// Makes the header of an object that is not retired.
    pub fn new() -> Self {
        Header(DataCell::new(Links { next: 0, stamp: 0, free: None }))
    }

    /// # Safety
    ///
    /// No other thread may use the header: the caller must be retiring the object, or must have
    /// taken it from a list.
    pub(super) unsafe fn read(&self) -> Links<H> {
        // SAFETY: the caller promises that no other thread writes.
        self.0.with(|links| unsafe { *links })
    }

    /// # Safety
    ///
    /// The same as for [`read`](Self::read).
    pub(super) unsafe fn write(&self, new: Links<H>) {
        // SAFETY: the caller promises that no other thread uses the header.
        self.0.with_mut(|links| unsafe { *links = new });
    }
}

impl<H: Host> Default for Header<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Host> fmt::Debug for Header<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Header").finish_non_exhaustive()
    }
}
