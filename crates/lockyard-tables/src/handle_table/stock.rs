//! The stock of a table: its shards and its depot, allocated at the first insertion.
//!
//! Look-ups do not use it. A table without objects takes no memory for it.

use super::shard::{Depot, Shard};
use crate::memory::{allocate_with, free, from_word, to_word};
use core::marker::PhantomData;
use core::ptr::NonNull;
use lockyard::Context;
use lockyard::platform::{ConstAtomics, HostWithSlots, Ordering, U64, Word};

/// Number of shards. Threads whose slots have the same remainder share one.
const SHARDS: usize = 16;

/// The shards and the depot.
#[repr(C)]
pub(super) struct Stock<H: HostWithSlots, C: Context> {
    pub(super) depot: Depot<H, C>,
    shards: [Shard<H, C>; SHARDS],
}

impl<H: HostWithSlots, C: Context> Stock<H, C> {
    /// Number of shards in use: a host with few slots uses few.
    const USED: usize = if H::SLOTS == 0 {
        1
    } else if (H::SLOTS as usize) < SHARDS {
        H::SLOTS as usize
    } else {
        SHARDS
    };

    /// Returns the shard of the running thread. Any shard is correct.
    #[inline(always)]
    pub(super) fn shard(&self) -> &Shard<H, C> {
        &self.shards[H::slot().map_or(0, |slot| slot.0 as usize % Self::USED)]
    }

    /// Returns the shards in use.
    pub(super) fn shards(&self) -> &[Shard<H, C>] {
        &self.shards[..Self::USED]
    }
}

/// The place of a table's stock: its address, or 0.
pub(super) struct StockPlace<H: HostWithSlots, C: Context> {
    address: U64<H>,
    /// Marks the stock as owned.
    _stock: PhantomData<Stock<H, C>>,
}

#[allow(clippy::declare_interior_mutable_const)] // as in `ConstAtomics`
impl<H: HostWithSlots<Atomics: ConstAtomics>, C: Context> StockPlace<H, C> {
    pub(super) const EMPTY: Self =
        StockPlace { address: <H::Atomics as ConstAtomics>::U64_ZERO, _stock: PhantomData };
}

impl<H: HostWithSlots, C: Context> StockPlace<H, C> {
    pub(super) fn new() -> Self {
        StockPlace { address: Word::new(0), _stock: PhantomData }
    }

    /// Returns the stock, if there is one.
    #[inline(always)]
    pub(super) fn get(&self) -> Option<&Stock<H, C>> {
        // Acquire: pairs with the release in `make`; the stock is initialised.
        let stock = from_word::<Stock<H, C>>(self.address.load(Ordering::Acquire));
        // SAFETY: the word holds 0 or the address of a stock that lives as long as the table.
        unsafe { stock.as_ref() }
    }

    /// Returns the stock of a table that has had an object.
    #[inline(always)]
    pub(super) fn there(&self) -> &Stock<H, C> {
        self.get().expect("an object was inserted")
    }

    /// Allocates the stock unless there is one; returns `None` if there is no memory.
    #[cold]
    pub(super) fn make(&self) -> Option<&Stock<H, C>> {
        if let Some(stock) = self.get() {
            return Some(stock);
        }
        // SAFETY: every field is written.
        let stock = unsafe {
            allocate_with::<Stock<H, C>, H>(None, |stock| {
                (&raw mut (*stock).depot).write(Depot::new());
                let shards = (&raw mut (*stock).shards).cast::<Shard<H, C>>();
                for number in 0..SHARDS {
                    shards.add(number).write(Shard::new());
                }
            })
        };
        let Ok(new) = stock else {
            return self.get(); // Another thread may have had more luck.
        };
        // Release: pairs with the acquire in `get`.
        let published = self.address.compare_exchange(
            0,
            to_word(new.as_ptr()),
            Ordering::Release,
            Ordering::Relaxed,
        );
        if published.is_err() {
            // SAFETY: another thread was first; no other thread has this stock.
            unsafe { free::<_, H>(new) };
        }
        self.get()
    }

    /// Bytes of the stock.
    pub(super) fn bytes(&self) -> usize {
        self.get().map_or(0, size_of_val)
    }

    /// Frees the stock.
    pub(super) fn free(&mut self) {
        if let Some(stock) = NonNull::new(from_word::<Stock<H, C>>(self.address.get())) {
            // Relaxed: no other thread has the table.
            self.address.store(0, Ordering::Relaxed);
            // SAFETY: no other thread has the table.
            unsafe { free::<_, H>(stock) };
        }
    }
}

#[cfg(feature = "std")] // without it the native host has no slots
const _: () = {
    use lockyard::{Native, NoContext};
    assert!(size_of::<Shard<Native, NoContext>>() == 128);
    assert!(size_of::<Stock<Native, NoContext>>() == 64 + 128 * SHARDS);
};
