//! What the variants have in common: an object's records, few or many.

use super::record::{Counts, Record};
use crate::memory::AllocationFailed;
use lockyard::Context;
use lockyard::lock::LaneLock;
use lockyard::platform::Host;

/// The records of one object. Sealed by its place: no other crate can name a [`Record`]'s
/// operations.
pub trait Records<K: LaneLock<H>, H: Host, C: Context>: Sized + Send + Sync {
    /// Makes the records of a new object.
    fn new() -> Result<Self, AllocationFailed>;
    /// Returns the caller's place, which [`add`](Self::add) takes.
    fn here() -> usize;
    /// Adds to the record of `place`.
    fn add(&self, place: usize, counts: &Counts);
    /// Calls `see` with every record that exists.
    fn visit(&self, see: impl FnMut(&Record<K, H, C>));
    /// Bytes of records that do not lie in the object.
    fn allocated(&self) -> usize;
}
