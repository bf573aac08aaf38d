//! Reclaim: unused buffers are taken from the ends of the shards' lists.
//!
//! A buffer is taken if the cache's reference is the only one. That is decided under the lock of
//! its lockref, together with marking it dead. So an earlier look-up already has a reference, and a
//! later one finds that there is no such buffer. A buffer that is referenced goes to the front of
//! the list. So does one that has been found since it was last looked at: that is its second
//! chance.
//!
//! Source of the second chance: F. J. Corbató, *A paging experiment with the Multics system*, 1968.

use super::buffer::Dead;
use super::cache::{BufferCache, EntryOf, Part, ShardsOf};
use super::index::Index;
use super::switches::{Promote, Switches};
use super::wanted::Wanted;
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::lockref::Count;
use lockyard::platform::{HostWithSlots, Ordering, Word};

/// Buffers that are looked at under one acquisition of a shard's lock.
const BATCH: usize = 16;

impl<T: Send + Sync, S: Switches<H>, H: HostWithSlots, C: Context> BufferCache<T, S, H, C> {
    /// Frees up to `buffers` unused buffers, those first that have not been used for long; returns
    /// their number. Their values are dropped before it returns.
    ///
    /// It goes from shard to shard, and begins where the last call ended. It takes equally many
    /// from each, as far as they are there. It looks at each buffer at most three times, at 16
    /// under one acquisition of a lock. The last time it takes unused buffers though they were
    /// found since. It never waits for a reference to be dropped.
    ///
    /// # Panics
    ///
    /// If a value's destructor does. The buffers that were taken together with it (at most 15) are
    /// still freed.
    pub fn reclaim(&self, buffers: usize) -> usize {
        let freed = self.reclaim_some(buffers);
        if freed > 0 && !S::Index::LOCKS {
            self.domain.collect();
        }
        freed
    }

    #[cold]
    pub(super) fn reclaim_some(&self, buffers: usize) -> usize {
        let Some(shards) = self.shards() else { return 0 };
        // SAFETY: published shards are there as long as the cache.
        let number = unsafe { shards.as_ref() }.number();
        // The first pass takes evenly, the second what it can. A third one is needed because of
        // second chances. It spares only what is referenced: otherwise a buffer that is found again
        // and again between two looks would never be taken.
        let passes = if S::Promote::MOVES { 2 } else { 3 };
        // Relaxed: where a sweep begins orders nothing.
        let mut hand = self.hand.load(Ordering::Relaxed) as usize;
        let mut freed = 0;
        for pass in 0..passes {
            for _ in 0..number {
                if freed == buffers {
                    break;
                }
                let left = buffers - freed;
                let quota = if pass == 0 { left.min(buffers.div_ceil(number)) } else { left };
                hand = (hand + 1) % number;
                let last = pass + 1 == passes;
                freed += self.reclaim_from(shards, hand, quota, last);
            }
        }
        self.hand.store(hand as u64, Ordering::Relaxed);
        freed
    }

    /// Frees up to `quota` buffers of shard `index`, and looks at each at most once. In the last
    /// pass there is no second chance.
    fn reclaim_from(
        &self,
        shards: NonNull<ShardsOf<S, H, C>>,
        index: usize,
        quota: usize,
        last: bool,
    ) -> usize {
        // SAFETY: published shards are there as long as the cache; below their number.
        let (shard, all) = unsafe { (ShardsOf::<S, H, C>::at(shards, index), shards.as_ref()) };
        let mut looks = shard.buffers() as usize;
        let mut freed = 0;
        while looks > 0 && freed < quota {
            let mut dead = [const { None::<Dead<'_, T, S, H, C>> }; BATCH];
            let mut taken = 0;
            shard.locked(|| {
                for _ in 0..BATCH.min(looks) {
                    // SAFETY: under the lock; the shard's buffers are of this type.
                    let oldest = unsafe { shard.oldest() };
                    let Some(oldest) = oldest.filter(|_| freed + taken < quota) else {
                        looks = 0;
                        return;
                    };
                    looks -= 1;
                    // SAFETY: it is in the list.
                    if unsafe { self.take_if_unused(oldest, last) } {
                        // SAFETY: under the lock, and it is in the index and in the list.
                        unsafe {
                            let wanted = Wanted::new(oldest.as_ref().key());
                            Self::take_out(Part { shard, all }, &wanted, oldest);
                        }
                        // SAFETY: it was marked dead with the last reference, and was taken out.
                        dead[taken] = Some(unsafe { Dead::new(self, oldest) });
                        taken += 1;
                    } else {
                        // SAFETY: as above.
                        unsafe { shard.move_to_front(oldest) };
                    }
                }
            });
            freed += taken;
        }
        freed
    }

    /// Takes the last reference of a buffer that has had its second chance, or gets none.
    ///
    /// # Safety
    ///
    /// The caller holds the shard's lock, and the buffer is in its list.
    unsafe fn take_if_unused(&self, entry: NonNull<EntryOf<T, S, H, C>>, last: bool) -> bool {
        // SAFETY: what is in the list has the cache's reference.
        let entry = unsafe { entry.as_ref() };
        // SAFETY: as above.
        let spared = !S::Promote::MOVES && unsafe { entry.take_referenced() } && !last;
        !spared && entry.take_if_unused()
    }

    /// Number of buffers of the cache that are referenced, so that they cannot be reclaimed. A
    /// snapshot, for diagnosis: it holds each shard's lock while it looks at all of the shard's
    /// buffers.
    pub fn referenced(&self) -> usize {
        let Some(shards) = self.shards() else { return 0 };
        // SAFETY: published shards are there as long as the cache.
        let number = unsafe { shards.as_ref() }.number();
        (0..number)
            .map(|index| {
                // SAFETY: as above; below the number.
                let shard = unsafe { ShardsOf::<S, H, C>::at(shards, index) };
                shard.locked(|| {
                    // SAFETY: under the lock; the shard's buffers are of this type.
                    let mut at = unsafe { shard.oldest::<T>() };
                    let mut referenced = 0;
                    while let Some(entry) = at {
                        // SAFETY: it is in the list.
                        let count = unsafe { entry.as_ref() }.count();
                        referenced += usize::from(count != Count::Live(1));
                        // SAFETY: as above.
                        at = unsafe { shard.newer(entry) };
                    }
                    referenced
                })
            })
            .sum()
    }
}
