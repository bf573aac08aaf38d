//! Places within the limit of a cache. Each buffer that exists or is being created has one.
//!
//! A full cache passes the place of a buffer that it evicts on to the new buffer. The number of
//! places then stays the same, and so misses share no line that they write.

use super::cache::BufferCache;
use super::key::{CacheKey, Hashes};
use super::switches::Switches;
use lockyard::Context;
use lockyard::platform::{HostWithSlots, Ordering, Word};

/// A place within the limit. Dropping it gives the place up, unless it is kept.
pub(super) struct Place<
    'c,
    Q: CacheKey,
    T: Send + Sync,
    B: Hashes<Q>,
    S: Switches<H, Q>,
    H: HostWithSlots,
    C: Context,
>(pub(super) &'c BufferCache<Q, T, B, S, H, C>);

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    Drop for Place<'_, Q, T, B, S, H, C>
{
    fn drop(&mut self) {
        // Relaxed: only a number; it orders nothing.
        self.0.living.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    BufferCache<Q, T, B, S, H, C>
{
    /// Takes a place within the limit, if one is free.
    pub(super) fn reserve(&self) -> Option<Place<'_, Q, T, B, S, H, C>> {
        // All relaxed: only a number.
        let mut living = self.living.load(Ordering::Relaxed);
        while living < self.limit.load(Ordering::Relaxed) {
            match self.living.compare_exchange_weak(
                living,
                living + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(Place(self)),
                Err(actual) => living = actual,
            }
        }
        None
    }
}
