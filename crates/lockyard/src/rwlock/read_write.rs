//! The trait of reader-writer locks on a host, for code that takes any of them: model checks,
//! scenarios, comparisons.

use super::raw::RawRwLock;
use crate::lock::adaptive::Patience;
use crate::platform::HostWithSlots;

/// A reader-writer lock on host `H`.
///
/// # Safety
///
/// The following must be true for any number of threads.
///
/// - **Exclusion.** A thread is inside from the return of an acquisition until it calls the release
///   of the same access. A thread that is inside with exclusive access is alone.
/// - **Ordering.** Acquisitions have acquire ordering, and releases have release ordering. A writer
///   synchronises with all releases before it, and a reader with the releases of writers.
pub unsafe trait ReadWrite<H: HostWithSlots>: Sized + Send + Sync + 'static {
    /// The state of a reader that is inside.
    type Entry;

    /// Makes a free lock.
    fn free() -> Self;

    /// Enters as a reader, waiting until it may.
    fn lock_shared(&self) -> Self::Entry;

    /// Leaves as a reader.
    ///
    /// # Safety
    ///
    /// The calling thread must be inside as a reader, by the call that returned `entry`.
    unsafe fn unlock_shared(&self, entry: Self::Entry);

    /// Enters as the writer, waiting until no thread is inside.
    fn lock_exclusive(&self);

    /// Leaves as the writer.
    ///
    /// # Safety
    ///
    /// The calling thread must be inside as the writer.
    unsafe fn unlock_exclusive(&self);

    /// Returns true if a thread is inside. A snapshot.
    fn is_inside(&self) -> bool;
}

// SAFETY: the module's documentation shows the exclusion, and a comment at each operation justifies
// its ordering.
unsafe impl<H: HostWithSlots, P: Patience, const RECURSIVE: bool> ReadWrite<H>
    for RawRwLock<H, P, RECURSIVE>
{
    type Entry = ();

    fn free() -> Self {
        RawRwLock::new()
    }
    #[inline(always)]
    fn lock_shared(&self) {
        self.acquire_shared();
    }
    #[inline(always)]
    unsafe fn unlock_shared(&self, (): ()) {
        // SAFETY: the caller makes the same promise.
        unsafe { self.release_shared() };
    }
    #[inline(always)]
    fn lock_exclusive(&self) {
        self.acquire_exclusive();
    }
    #[inline(always)]
    unsafe fn unlock_exclusive(&self) {
        // SAFETY: the caller makes the same promise.
        unsafe { self.release_exclusive() };
    }
    fn is_inside(&self) -> bool {
        self.is_held()
    }
}
