//! Expiry: removes entries past their deadline from the table, a few buckets at a time.

use super::bucket::Buckets;
use super::entry::NEVER;
use super::held::Held;
use super::look_up::{LookUp, Readers};
use super::table::Connections;
use lockyard::Context;
use lockyard::platform::{Host, Ordering, Word};

impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, P: LookUp<H>, H: Host, C: Context>
    Connections<K, V, S, P, H, C>
{
    /// Removes entries whose deadline is `now` or before, shows each to `gone`, and returns
    /// their number. It examines `buckets` buckets, each at most once. It begins where the last
    /// call of any thread ended. `usize::MAX` means all buckets.
    ///
    /// A renewal takes effect if it comes before this call examines the entry. If it comes
    /// after the removal, [`Held::renew`] returns `false`. `gone` runs outside all locks, and
    /// may use the table.
    pub fn expire(
        &self,
        now: u64,
        buckets: usize,
        mut gone: impl FnMut(Held<'_, K, V, S, P, H, C>),
    ) -> usize {
        let Some(all) = self.buckets() else { return 0 };
        // SAFETY: published buckets live as long as the table.
        let number = unsafe { all.as_ref() }.bits().buckets();
        let now = now.min(NEVER - 1);
        let looks = buckets.min(number);
        // Relaxed: the start of a sweep orders nothing.
        let begin = self.swept.fetch_add(looks as u64, Ordering::Relaxed) as usize;
        let mut expired = 0;
        for look in 0..looks {
            // SAFETY: the index is below the number of buckets, which is a power of two; as above.
            let bucket = unsafe { Buckets::at(all, begin.wrapping_add(look) & (number - 1)) };
            if bucket.entries() > 0 {
                self.take_due(bucket, now, |entry| {
                    expired += 1;
                    gone(entry);
                });
            }
        }
        if expired > 0 {
            self.readers.collect();
        }
        expired
    }
}
