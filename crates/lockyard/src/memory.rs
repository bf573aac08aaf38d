//! Memory from a host, for objects that are allocated.
//!
//! Nothing here blocks or panics. Reclamation allocates through these functions, and so do the
//! tables of the crate `lockyard-tables`. A listing by [region](crate::platform::Region) therefore
//! gives every allocation the same name.

use crate::platform::{Host, Region, during};
use core::alloc::Layout;
use core::fmt;
use core::ptr::NonNull;

/// The host had no memory to give ([`Host::allocate`] returned `None`). The operation that needed
/// the memory was not done, and nothing else has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationFailed;

impl fmt::Display for AllocationFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no memory could be allocated")
    }
}

impl core::error::Error for AllocationFailed {}

/// Calls [`Host::allocate`], in the region [`Allocate`](Region::Allocate).
#[inline(always)]
pub fn from_host<H: Host>(layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
    during::<H, _>(Region::Allocate, || H::allocate(layout, node))
}

/// Calls [`Host::deallocate`], in the region [`Free`](Region::Free).
///
/// # Safety
///
/// The same as for [`Host::deallocate`].
#[inline(always)]
pub unsafe fn to_host<H: Host>(memory: NonNull<u8>, layout: Layout) {
    // SAFETY: the caller makes the same promise.
    during::<H, _>(Region::Free, || unsafe { H::deallocate(memory, layout) });
}
