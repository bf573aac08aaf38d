//! Reclaim: takes unused buffers from the ends of the shards' lists.
//!
//! A buffer is taken if only the cache has a reference. The check is made under the lock of the
//! buffer's lockref, in one step with marking the buffer dead. An earlier look-up therefore already
//! has a reference, and a later one does not find the buffer. A referenced buffer goes to the front
//! of the list. So does a buffer that a look-up has found since the last pass: its second chance.
//!
//! Source of the second chance: F. J. Corbató, *A paging experiment with the Multics system*, 1968.

use super::buffer::Dead;
use super::cache::{BufferCache, EntryOf, Part, ShardsOf};
use super::index::Index;
use super::key::{CacheKey, Hashes};
use super::place::Place;
use super::switches::{Promote, Switches};
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::lockref::Count;
use lockyard::platform::{HostWithSlots, Ordering, Word};

/// Number of buffers examined under one acquisition of a shard's lock.
const BATCH: usize = 16;

impl<Q: CacheKey, T: Send + Sync, B: Hashes<Q>, S: Switches<H, Q>, H: HostWithSlots, C: Context>
    BufferCache<Q, T, B, S, H, C>
{
    /// Frees up to `buffers` unused buffers and returns the number freed. The buffers that have
    /// been unused longest go first. Their values are dropped before the call returns.
    ///
    /// Reclaim goes from shard to shard, and begins where the last call ended. It takes equally
    /// many buffers from each shard, if they are available. It examines each buffer at most three
    /// times, 16 per acquisition of a lock. In the last pass it also takes unused buffers that were
    /// found recently. It never waits for a reference to be dropped.
    ///
    /// # Panics
    ///
    /// Panics if a value's destructor panics. The buffers taken in the same batch (at most 15) are
    /// still freed.
    pub fn reclaim(&self, buffers: usize) -> usize {
        // Relaxed: the start of a sweep orders nothing.
        let mut hand = self.hand.load(Ordering::Relaxed) as usize;
        let freed = self.reclaim_some(buffers, &mut hand, None);
        self.hand.store(hand as u64, Ordering::Relaxed);
        if freed > 0 && !S::Index::LOCKS {
            self.domain.collect();
        }
        freed
    }

    /// Does the same, beginning after shard number `hand`. Stores the place of the first freed
    /// buffer in `place`, if that is given.
    #[cold]
    pub(super) fn reclaim_some<'c>(
        &'c self,
        buffers: usize,
        hand: &mut usize,
        mut place: Option<&mut Option<Place<'c, Q, T, B, S, H, C>>>,
    ) -> usize {
        let Some(shards) = self.shards() else { return 0 };
        // SAFETY: published shards live as long as the cache.
        let number = unsafe { shards.as_ref() }.number();
        // The first pass takes evenly from all shards, and the second takes all that it can get.
        // The third also takes buffers with a second chance, and spares only referenced buffers.
        // Without the third pass, a buffer that is found between any two passes would never be
        // taken.
        let passes = if S::Promote::MOVES { 2 } else { 3 };
        let mut freed = 0;
        for pass in 0..passes {
            for _ in 0..number {
                if freed == buffers {
                    break;
                }
                let left = buffers - freed;
                let quota = if pass == 0 { left.min(buffers.div_ceil(number)) } else { left };
                *hand = (*hand + 1) % number;
                let last = pass + 1 == passes;
                freed += self.reclaim_from(shards, *hand, quota, last, place.as_deref_mut());
            }
        }
        freed
    }

    /// Frees up to `quota` buffers of shard `index`, and examines each at most once. In the last
    /// pass there is no second chance.
    fn reclaim_from<'c>(
        &'c self,
        shards: NonNull<ShardsOf<Q, S, H, C>>,
        index: usize,
        quota: usize,
        last: bool,
        mut place: Option<&mut Option<Place<'c, Q, T, B, S, H, C>>>,
    ) -> usize {
        // SAFETY: published shards live as long as the cache; `index` is below their number.
        let (shard, all) = unsafe { (ShardsOf::<Q, S, H, C>::at(shards, index), shards.as_ref()) };
        let mut looks = shard.buffers() as usize;
        let mut freed = 0;
        while looks > 0 && freed < quota {
            let mut dead = [const { None::<Dead<'_, Q, T, B, S, H, C>> }; BATCH];
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
                    // SAFETY: the buffer is in the list.
                    if unsafe { self.take_if_unused(oldest, last) } {
                        // SAFETY: the lock is held, and the buffer is in the index and in the list.
                        unsafe {
                            let wanted = self.wanted_of(oldest.as_ref());
                            Self::take_out(Part { shard, all }, &wanted, oldest);
                        }
                        // SAFETY: the buffer was marked dead with its last reference, and was
                        // removed.
                        let mut new = unsafe { Dead::new(self, oldest) };
                        if let Some(place @ None) = place.as_deref_mut() {
                            *place = new.take_place();
                        }
                        dead[taken] = Some(new);
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

    /// Takes the last reference of a buffer that has used its second chance, or gets none.
    ///
    /// # Safety
    ///
    /// The caller must hold the shard's lock, and the buffer must be in its list.
    unsafe fn take_if_unused(&self, entry: NonNull<EntryOf<Q, T, S, H, C>>, last: bool) -> bool {
        // SAFETY: the cache has a reference to every buffer in the list.
        let entry = unsafe { entry.as_ref() };
        // SAFETY: as above.
        let spared = !S::Promote::MOVES && unsafe { entry.take_referenced() } && !last;
        !spared && entry.take_if_unused()
    }

    /// Number of buffers in the cache that are referenced and so cannot be reclaimed. A snapshot
    /// for diagnosis: it holds each shard's lock while it reads all of the shard's buffers.
    pub fn referenced(&self) -> usize {
        let Some(shards) = self.shards() else { return 0 };
        // SAFETY: published shards live as long as the cache.
        let number = unsafe { shards.as_ref() }.number();
        (0..number)
            .map(|index| {
                // SAFETY: as above; below the number.
                let shard = unsafe { ShardsOf::<Q, S, H, C>::at(shards, index) };
                shard.locked(|| {
                    // SAFETY: under the lock; the shard's buffers are of this type.
                    let mut at = unsafe { shard.oldest::<Q, T>() };
                    let mut referenced = 0;
                    while let Some(entry) = at {
                        // SAFETY: the buffer is in the list.
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
