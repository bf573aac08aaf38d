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
const BATCH: usize = 16;

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context>
    Connections<K, V, S, P, H, C>
{
    /// Removes the entry of `bucket` that `is` accepts. Returns the table's reference to that
    /// entry; `None` if there is no entry. `is` may unwind, because it may compare keys.
    pub(super) fn take_one(
        &self,
        bucket: &BucketOf<P, H, C>,
        is: impl Fn(&EntryOf<K, V, P, H, C>) -> bool,
    ) -> Option<Held<'_, K, V, S, P, H, C>> {
        let mut taken = None;
        let judge = |found: NonNull<EntryOf<K, V, P, H, C>>| {
            // SAFETY: the lock is held, and the entry is in the chain.
            let entry = unsafe { found.as_ref() };
            // SAFETY: as above; `retain` removes the entry if this closure returns true.
            if is(entry) && unsafe { entry.remove_if_due(NEVER) } {
                taken = Some(found);
                Verdict::LeavesAtLast
            } else {
                Verdict::Stays
            }
        };
        // SAFETY: the lock is held.
        bucket.locked(|| unsafe { bucket.retain(judge) });
        // SAFETY: the handle takes over the table's reference, which `retain` has given up.
        taken.map(|taken| unsafe { Held::new(self, taken) })
    }

    /// Removes the entries of `bucket` whose deadline is at most `by`, in batches. Passes each to
    /// `gone`, outside the lock.
    pub(super) fn take_due<'t>(
        &'t self,
        bucket: &BucketOf<P, H, C>,
        by: u64,
        mut gone: impl FnMut(Held<'t, K, V, S, P, H, C>),
    ) {
        loop {
            let (mut taken, mut count) = ([const { None }; BATCH], 0);
            let judge = |entry: NonNull<EntryOf<K, V, P, H, C>>| {
                if count == BATCH {
                    return Verdict::End;
                }
                // SAFETY: the lock is held, and `retain` removes the entry if this closure returns
                // true.
                if !unsafe { entry.as_ref().remove_if_due(by) } {
                    return Verdict::Stays;
                }
                taken[count] = Some(entry);
                count += 1;
                Verdict::Leaves
            };
            // SAFETY: the lock is held.
            bucket.locked(|| unsafe { bucket.retain(judge) });
            // SAFETY: each handle takes over the table's reference, which `retain` has given up.
            let batch = taken.map(|entry| entry.map(|entry| unsafe { Held::new(self, entry) }));
            batch.into_iter().flatten().for_each(&mut gone);
            if count < BATCH {
                return;
            }
        }
    }
}
