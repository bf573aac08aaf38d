//! Shards and the depot, which keep the slots without an object.
//!
//! Each thread inserts and removes through the shard of its
//! [slot](lockyard::platform::Host::slot). So threads that come and go with their own objects share
//! no line.
//!
//! ```text
//!             pop                     remove (shared)            64 removed
//!   object <--------- free, fresh   object -----------> open ------------------> waiting
//!                        ^                                                          |
//!                        |   readers have left: the values are dropped              |
//!                        +----------------------------------------------------------+
//!                        |   remove (exclusive): at once
//!
//!   free <--- 64 when a shard has none, 64 when it has 128 ---> depot
//! ```
//!
//! Free slots pass between a shard and the depot under both locks, the depot's outside. So a thread
//! that has the depot's lock finds every free slot, and can be certain if there is none.

use super::access::Access;
use super::chain::Chain;
use super::slots::{Slots, WORN_OUT, page_end, page_of};
use lockyard::lock::Queued;
use lockyard::platform::{Cell, DataCell, HostWithSlots, Ordering, U32, U64, Word};
use lockyard::reclaim::{Domain, GracePeriod};
use lockyard::{Context, RawSpinLock};

/// Number of slots that move together.
pub(super) const BATCH: u32 = 64;
/// Number of free slots with which a shard gives a batch to the depot.
const FULL: u32 = 2 * BATCH;
/// Maximum number of slots without history that a shard takes at once.
const FRESH: u32 = 32;
/// Number of closed chains of a shard. Two are enough while readers leave within an epoch.
const WAITING: usize = 2;

/// Data behind a lock.
struct Locked<V: Send, H: HostWithSlots, C: Context> {
    lock: RawSpinLock<Queued, H, C>,
    data: Cell<H, V>,
}

impl<V: Send + Default, H: HostWithSlots, C: Context> Locked<V, H, C> {
    fn new() -> Self {
        Locked { lock: RawSpinLock::new(), data: DataCell::new(V::default()) }
    }

    /// Runs `body` under the lock. `body` does not unwind.
    #[inline(always)]
    fn with<R>(&self, body: impl FnOnce(&mut V) -> R) -> R {
        let held = self.lock.acquire();
        // SAFETY: the lock is held, and the data are accessed only here.
        let result = self.data.with_mut(|data| body(unsafe { &mut *data }));
        // SAFETY: acquired above.
        unsafe { self.lock.release(held) };
        result
    }
}

/// Slots that were removed together, and wait for readers.
#[derive(Clone, Copy, Default)]
struct Waiting {
    chain: Chain,
    /// The bits of the grace period.
    period: u64,
}

/// Contents of a shard.
#[derive(Default)]
struct Contents {
    free: Chain,
    /// Slots that had no object yet: from the first number to below the second.
    fresh: (u32, u32),
    /// Number of insertions less the number of removals, in this shard. Wraps: the sum is right.
    len: u64,
    /// Removed slots that no grace period covers yet.
    open: Chain,
    /// Closed chains, the oldest first, and their number.
    closed: [Waiting; WAITING],
    number: usize,
    /// Number of removed slots: in the open chain, in closed chains, and with values that are being
    /// dropped.
    removed: u32,
    worn_out: u32,
}

impl Contents {
    /// Takes a free slot for an object.
    #[inline(always)]
    fn pop<T: Send, A: Access<H>, H: HostWithSlots, C: Context>(
        &mut self,
        slots: &Slots<T, A, H, C>,
    ) -> Option<u32> {
        while let Some(index) = self.free.pop(slots) {
            // Relaxed: a free slot belongs to its shard.
            if slots.at(index).generation.load(Ordering::Relaxed) != WORN_OUT {
                self.len = self.len.wrapping_add(1);
                return Some(index);
            }
            self.worn_out += 1;
        }
        let (fresh, end) = self.fresh;
        (fresh != end).then(|| {
            self.fresh.0 += 1;
            self.len = self.len.wrapping_add(1);
            fresh
        })
    }

    /// Takes the oldest closed chain if its readers have left. It still counts as removed.
    fn take_passed<H: HostWithSlots, C: Context>(
        &mut self,
        domain: &Domain<H, C>,
    ) -> Option<Chain> {
        let Waiting { chain, period } = self.closed[0];
        if self.number == 0 || !domain.has_passed(GracePeriod::from_bits(period)) {
            return None;
        }
        self.closed.copy_within(1.., 0);
        self.number -= 1;
        Some(chain)
    }

    /// Makes the slots of removed objects free; returns true if the depot should get some of the
    /// free slots.
    fn reuse<T: Send, A: Access<H>, H: HostWithSlots, C: Context>(
        &mut self,
        slots: &Slots<T, A, H, C>,
        chain: Chain,
    ) -> bool {
        self.removed -= chain.count;
        self.free.prepend(slots, chain);
        self.free.count >= FULL
    }
}

/// One shard. The words repeat numbers of the contents, for readers without the lock. Accesses are
/// relaxed: snapshots.
#[repr(C, align(64))]
pub(super) struct Shard<H: HostWithSlots, C: Context> {
    contents: Locked<Contents, H, C>,
    len: U64<H>,
    removed: U32<H>,
    worn_out: U32<H>,
}

impl<H: HostWithSlots, C: Context> Shard<H, C> {
    pub(super) fn new() -> Self {
        Shard {
            contents: Locked::new(),
            len: Word::new(0),
            removed: Word::new(0),
            worn_out: Word::new(0),
        }
    }

    /// Runs `body` under the lock, and stores the words that it has changed.
    #[inline(always)]
    fn with<R>(&self, body: impl FnOnce(&mut Contents) -> R) -> R {
        self.contents.with(|contents| {
            let before = (contents.len, contents.removed, contents.worn_out);
            let result = body(contents);
            if contents.len != before.0 {
                self.len.store(contents.len, Ordering::Relaxed);
            }
            if contents.removed != before.1 {
                self.removed.store(contents.removed, Ordering::Relaxed);
            }
            if contents.worn_out != before.2 {
                self.worn_out.store(contents.worn_out, Ordering::Relaxed);
            }
            result
        })
    }

    /// Takes a free slot for an object, if the shard has one.
    #[inline(always)]
    pub(super) fn pop<T: Send, A: Access<H>>(&self, slots: &Slots<T, A, H, C>) -> Option<u32> {
        self.with(|contents| contents.pop(slots))
    }

    /// Takes a free slot from any of `shards`. If it returns `None`, then at one moment no shard
    /// had one: every lock is held until all shards have been looked at. The caller holds the
    /// depot's lock.
    fn pop_any<T: Send, A: Access<H>>(shards: &[Self], slots: &Slots<T, A, H, C>) -> Option<u32> {
        let (first, rest) = shards.split_first()?;
        first.with(|contents| contents.pop(slots).or_else(|| Self::pop_any(rest, slots)))
    }

    /// Adds slots, and takes one of them. The caller holds the depot's lock.
    fn supply<T: Send, A: Access<H>>(
        &self,
        slots: &Slots<T, A, H, C>,
        chain: Chain,
        fresh: (u32, u32),
    ) -> Option<u32> {
        self.with(|contents| {
            contents.free.prepend(slots, chain);
            if contents.fresh.0 == contents.fresh.1 {
                contents.fresh = fresh;
            } else {
                // Another thread of the shard was faster.
                (fresh.0..fresh.1).rev().for_each(|index| contents.free.push(slots, index));
            }
            contents.pop(slots)
        })
    }

    /// Adds a removed slot to the open chain; returns the chain's length.
    #[inline(always)]
    pub(super) fn retire<T: Send, A: Access<H>>(
        &self,
        slots: &Slots<T, A, H, C>,
        index: u32,
    ) -> u32 {
        self.with(|contents| {
            contents.len = contents.len.wrapping_sub(1);
            contents.removed += 1;
            contents.open.push(slots, index);
            contents.open.count
        })
    }

    /// Begins a grace period for the open chain, unless it is empty or too many chains wait.
    pub(super) fn close(&self, domain: &Domain<H, C>) {
        if self.waiting() == 0 {
            return;
        }
        self.with(|contents| {
            if contents.open.count == 0 || contents.number == WAITING {
                return; // Another thread closed it, or the readers stay.
            }
            // The slots were taken out of reach before they were added, under this lock.
            let period = domain.grace_period().to_bits();
            let chain = core::mem::take(&mut contents.open);
            contents.closed[contents.number] = Waiting { chain, period };
            contents.number += 1;
        });
    }

    /// Takes the oldest waiting chain if its readers have left. It counts as waiting until
    /// [`reuse`](Self::reuse). See also [`free_passed`](Self::free_passed).
    pub(super) fn take_passed(&self, domain: &Domain<H, C>) -> Option<Chain> {
        if self.waiting() == 0 {
            return None;
        }
        self.with(|contents| contents.take_passed(domain))
    }

    /// Makes the slots of the oldest waiting chain free if its readers have left; returns false if
    /// there is none. For objects without a destructor: each slot stays in some chain all the time.
    pub(super) fn free_passed<T: Send, A: Access<H>>(
        &self,
        slots: &Slots<T, A, H, C>,
        domain: &Domain<H, C>,
        depot: &Depot<H, C>,
    ) -> bool {
        if self.waiting() == 0 {
            return false;
        }
        let freed = self.with(|contents| {
            let chain = contents.take_passed(domain)?;
            Some(contents.reuse(slots, chain))
        });
        if freed == Some(true) {
            depot.relieve(slots, self);
        }
        freed.is_some()
    }

    /// Adds the slot of an object that was in the table until now.
    #[inline(always)]
    pub(super) fn give<T: Send, A: Access<H>>(
        &self,
        slots: &Slots<T, A, H, C>,
        depot: &Depot<H, C>,
        index: u32,
    ) {
        let full = self.with(|contents| {
            contents.len = contents.len.wrapping_sub(1);
            contents.free.push(slots, index);
            contents.free.count >= FULL
        });
        if full {
            depot.relieve(slots, self);
        }
    }

    /// Adds the slots of removed objects, whose values are dropped.
    pub(super) fn reuse<T: Send, A: Access<H>>(
        &self,
        slots: &Slots<T, A, H, C>,
        depot: &Depot<H, C>,
        chain: Chain,
    ) {
        if self.with(|contents| contents.reuse(slots, chain)) {
            depot.relieve(slots, self);
        }
    }

    /// Takes one chain of removed objects, whether readers have left or not. It counts as waiting
    /// until [`reuse`](Self::reuse). For the owner of the table.
    pub(super) fn drain(&self) -> Chain {
        self.with(|contents| match contents.number.checked_sub(1) {
            Some(last) => {
                contents.number = last;
                contents.closed[last].chain
            }
            None => core::mem::take(&mut contents.open),
        })
    }

    /// Insertions less removals in this shard. A snapshot.
    pub(super) fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    /// Number of removed objects that are not dropped yet. A snapshot.
    pub(super) fn waiting(&self) -> usize {
        self.removed.load(Ordering::Relaxed) as usize
    }

    /// Number of slots whose generations are used up. A snapshot.
    pub(super) fn worn_out(&self) -> usize {
        self.worn_out.load(Ordering::Relaxed) as usize
    }
}

/// Reason why there is no free slot.
pub(super) enum Lack {
    /// The page of this number does not exist.
    Page(usize),
    /// All slots below the limit are used.
    Slots,
}

/// Slots that belong to no shard.
#[repr(C, align(64))]
pub(super) struct Depot<H: HostWithSlots, C: Context> {
    /// Free slots, and the index of the first slot that no shard ever had.
    contents: Locked<(Chain, u32), H, C>,
    /// The same index, for readers without the lock.
    next: U32<H>,
}

impl<H: HostWithSlots, C: Context> Depot<H, C> {
    pub(super) fn new() -> Self {
        Depot { contents: Locked::new(), next: Word::new(0) }
    }

    /// Moves slots below `limit` to the shard `own`, and takes one of these slots. If there are
    /// none, takes a slot of any of `shards`. If the page of the next slots does not exist, leaves
    /// the caller to add it.
    pub(super) fn take<T: Send, A: Access<H>>(
        &self,
        slots: &Slots<T, A, H, C>,
        limit: u32,
        own: &Shard<H, C>,
        shards: &[Shard<H, C>],
    ) -> Result<u32, Lack> {
        self.contents.with(|(free, next)| {
            while free.count > 0 {
                // Each of these slots may be used up.
                if let Some(index) = own.supply(slots, free.split(slots, BATCH), (0, 0)) {
                    return Ok(index);
                }
            }
            let first = *next;
            if first >= limit {
                return Shard::pop_any(shards, slots).ok_or(Lack::Slots);
            }
            if slots.get(first).is_none() {
                return Err(Lack::Page(page_of(first)));
            }
            *next = limit.min(page_end(first)).min(first + FRESH);
            self.next.store(*next, Ordering::Relaxed);
            own.supply(slots, Chain::default(), (first, *next)).ok_or(Lack::Slots)
        })
    }

    /// Moves batches from a full shard.
    #[cold]
    fn relieve<T: Send, A: Access<H>>(&self, slots: &Slots<T, A, H, C>, shard: &Shard<H, C>) {
        self.contents.with(|(free, _)| {
            shard.with(|contents| {
                while contents.free.count >= FULL {
                    free.prepend(slots, contents.free.split(slots, BATCH));
                }
            });
        });
    }

    /// Number of slots that were ever in a shard. Relaxed: a thread that knows a handle sees a
    /// number above the handle's index.
    pub(super) fn used(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }
}
