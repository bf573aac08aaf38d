//! The interface of all variants: the records of an object, few or many.

use super::record::{Counts, Record};
use crate::memory::AllocationFailed;
use lockyard::Context;
use lockyard::lock::LaneLock;
use lockyard::platform::Host;

/// The records of one object. The trait is sealed by its location: no other crate can name the
/// operations of a [`Record`].
pub trait Records<K: LaneLock<H>, H: Host, C: Context>: Sized + Send + Sync {
    /// Makes the records of a new object.
    fn new() -> Result<Self, AllocationFailed>;
    /// Returns the caller's place, for [`add`](Self::add).
    fn here() -> usize;
    /// Adds to the record of `place`.
    fn add(&self, place: usize, counts: &Counts);
    /// Calls `see` with every record that exists.
    fn visit(&self, see: impl FnMut(&Record<K, H, C>));
    /// Bytes of records that are allocated outside the object.
    fn allocated(&self) -> usize;
}
