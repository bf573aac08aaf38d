//! Removal: entries leave a bucket in batches, each under one acquisition of its lock. The table's
//! references become handles. Expiry removes entries in the same way.

use super::bucket::Verdict;
use super::entry::NEVER;
use super::held::Held;
use super::look_up::LookUp;
use super::table::{BucketOf, Connections, EntryOf};
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::platform::Host;

/// Maximum number of entries removed under one acquisition of a bucket's lock.
pub(super) const BATCH: usize = 16;

/// Entries that were removed together. Dropping the batch drops those that are left in it.
pub(super) type Batch<'t, K, V, S, P, H, C> = [Option<Held<'t, K, V, S, P, H, C>>; BATCH];

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context>
    Connections<K, V, S, P, H, C>
{
    /// Removes from `bucket` the entries that `judge` selects, at most a batch. Returns true if
    /// there may be more. `judge` must not unwind.
    pub(super) fn take_out<'t>(
        &'t self,
        bucket: &BucketOf<P, H, C>,
        mut judge: impl FnMut(NonNull<EntryOf<K, V, P, H, C>>) -> Verdict,
        batch: &mut Batch<'t, K, V, S, P, H, C>,
    ) -> bool {
        let mut taken = [const { None }; BATCH];
        let mut count = 0;
        bucket.locked(|| {
            // SAFETY: the lock is held.
            unsafe {
                bucket.retain(|entry| {
                    if count == BATCH {
                        return Verdict::End;
                    }
                    let verdict = judge(entry);
                    if matches!(verdict, Verdict::Leaves | Verdict::LeavesAtLast) {
                        taken[count] = Some(entry);
                        count += 1;
                    }
                    verdict
                })
            }
        });
        for (place, entry) in batch.iter_mut().zip(taken) {
            // SAFETY: the handle takes over the table's reference, which `retain` has given up.
            *place = entry.map(|entry| unsafe { Held::new(self, entry) });
        }
        count == BATCH
    }

    /// Removes this entry of `bucket`. Returns the table's reference to it, or `None` if another
    /// removal or expiry was first. Does not use the entry unless it is in the chain.
    pub(super) fn remove_entry(
        &self,
        bucket: &BucketOf<P, H, C>,
        wanted: NonNull<EntryOf<K, V, P, H, C>>,
    ) -> Option<Held<'_, K, V, S, P, H, C>> {
        let mut batch = [const { None }; BATCH];
        let judge = |entry: NonNull<EntryOf<K, V, P, H, C>>| {
            // SAFETY: the lock is held, and `take_out` removes the entry if this returns true.
            let leaves = entry == wanted && unsafe { entry.as_ref().remove_if_due(NEVER) };
            if leaves { Verdict::Leaves } else { Verdict::Stays }
        };
        self.take_out(bucket, judge, &mut batch);
        batch[0].take()
    }
}
