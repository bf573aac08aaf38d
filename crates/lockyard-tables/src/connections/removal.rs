//! Removal: connections leave a bucket in batches, each under one acquisition of its lock. The
//! table's references become handles. Expiry removes connections in the same way.

use super::bucket::{Bucket, Verdict};
use super::connection::Connection;
use super::entry::NEVER;
use super::look_up::LookUp;
use super::table::{ConnectionTable, EntryOf};
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::platform::Host;

/// Maximum number of connections removed under one acquisition of a bucket's lock.
pub(super) const BATCH: usize = 16;

/// Connections that were removed together. Dropping the batch drops those that are left in it.
pub(super) type Batch<'t, T, P, H, C> = [Option<Connection<'t, T, P, H, C>>; BATCH];

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> ConnectionTable<T, P, H, C> {
    /// Removes from `bucket` the connections that `judge` selects, at most a batch. Returns true if
    /// there may be more.
    pub(super) fn take_out<'t>(
        &'t self,
        bucket: &Bucket<P::Lock, H, C>,
        mut judge: impl FnMut(NonNull<EntryOf<T, P, H, C>>) -> Verdict,
        batch: &mut Batch<'t, T, P, H, C>,
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
            *place = entry.map(|entry| unsafe { Connection::new(self, entry) });
        }
        count == BATCH
    }
}

impl<T: Send + Sync, P: LookUp<H>, H: Host, C: Context> Connection<'_, T, P, H, C> {
    /// Removes the connection from the table. Returns true if this call removed it, and false if
    /// another removal or expiry was first. The handle stays valid.
    pub fn remove(&self) -> bool {
        let (Some(buckets), Some(_)) = (self.table.buckets(), self.deadline()) else {
            return false;
        };
        let bucket = self.table.bucket(buckets, &self.entry().key().key());
        let mut batch = [const { None }; BATCH];
        let mine = |entry: NonNull<EntryOf<T, P, H, C>>| {
            // SAFETY: the lock is held, and `take_out` removes the entry if this returns true.
            let leaves = entry == self.entry && unsafe { entry.as_ref().remove_if_due(NEVER) };
            if leaves { Verdict::Leaves } else { Verdict::Stays }
        };
        self.table.take_out(bucket, mine, &mut batch);
        batch[0].is_some()
    }
}
