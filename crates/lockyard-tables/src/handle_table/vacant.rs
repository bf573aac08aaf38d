//! Vacant entries: a handle that is known before its object.

use super::access::Access;
use super::handle::Handle;
use super::table::HandleTable;
use core::fmt;
use core::mem::forget;
use lockyard::platform::{HostWithSlots, Ordering, Word};
use lockyard::{Context, NoContext};

/// A place for an object. The object's handle is known, so the object may contain it. Nothing is
/// found by the handle until [`insert`](Self::insert).
///
/// Dropping it gives the place back, and its handle never names an object.
#[must_use = "if unused the place is given back at once"]
pub struct VacantEntry<'t, T: Send, A: Access<H>, H: HostWithSlots, C: Context = NoContext> {
    table: &'t HandleTable<T, A, H, C>,
    handle: Handle,
}

impl<'t, T: Send, A: Access<H>, H: HostWithSlots, C: Context> VacantEntry<'t, T, A, H, C> {
    /// `handle` is the next handle of a slot that belongs to the caller.
    pub(super) fn new(table: &'t HandleTable<T, A, H, C>, handle: Handle) -> Self {
        VacantEntry { table, handle }
    }

    /// Returns the handle that the object will have.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Puts the object into the table.
    pub fn insert(self, value: T) -> Handle {
        let handle = self.handle;
        let generation = self.table.slots.at(handle.index()).fill(value);
        debug_assert_eq!(generation, handle.generation());
        forget(self);
        handle
    }
}

impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> Drop for VacantEntry<'_, T, A, H, C> {
    fn drop(&mut self) {
        let index = self.handle.index();
        // `None`: a model check failed, and all words read 0.
        let Some(slot) = self.table.slots.get(index) else { return };
        // As if the object had been removed: a later object gets another handle. Relaxed: the slot
        // belongs to the caller.
        slot.generation.store(self.handle.generation() + 1, Ordering::Relaxed);
        self.table.give_slot(index);
    }
}

impl<T: Send, A: Access<H>, H: HostWithSlots, C: Context> fmt::Debug
    for VacantEntry<'_, T, A, H, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VacantEntry").field("handle", &self.handle).finish_non_exhaustive()
    }
}
