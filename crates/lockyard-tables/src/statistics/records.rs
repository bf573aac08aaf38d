//! The interface of all variants: the records of an object, few or many.

use super::record::{LockedRecord, Record};
use crate::memory::AllocationFailed;
use lockyard::Context;
use lockyard::lock::LaneLock;
use lockyard::platform::Host;

/// The records of one object. The trait is sealed by its location: no other crate can name it.
pub trait Records<R: Record>: Sized + Send + Sync {
    /// Makes the records of a new object.
    fn new() -> Result<Self, AllocationFailed>;
    /// Adds to the record of the place where the caller runs.
    fn add_here(&self, counts: &R);
    /// Adds to the record of `place`.
    fn add(&self, place: usize, counts: &R);
    /// Returns the sum.
    fn read(&self) -> R;
    /// Returns the sum, and clears it.
    fn take(&self) -> R;
    /// Number of records.
    fn number(&self) -> usize;
    /// Bytes of records that are allocated outside the object.
    fn allocated(&self) -> usize;
}

/// Records behind locks.
pub(super) trait LockedRecords<R: Record, K: LaneLock<H>, H: Host, C: Context>:
    Sized
{
    /// Returns the caller's place, for [`add`](Records::add).
    fn here() -> usize;
    /// Calls `see` with every record that exists.
    fn visit(&self, see: impl FnMut(&LockedRecord<R, K, H, C>));
    /// Returns the sum of `of` over all records.
    fn sum(&self, of: fn(&LockedRecord<R, K, H, C>) -> R) -> R {
        let mut sum = R::default();
        self.visit(|record| sum.merge(&of(record)));
        sum
    }
}

/// Writes the functions of [`Records`] that are the same for all [`LockedRecords`].
macro_rules! sums {
    ($record:ty) => {
        #[inline(always)]
        fn add_here(&self, counts: &R) {
            self.add(<Self as LockedRecords<R, K, H, C>>::here(), counts);
        }
        fn read(&self) -> R {
            self.sum(<$record>::read)
        }
        fn take(&self) -> R {
            self.sum(<$record>::take)
        }
        fn number(&self) -> usize {
            let mut records = 0;
            self.visit(|_: &$record| records += 1);
            records
        }
    };
}
pub(super) use sums;
