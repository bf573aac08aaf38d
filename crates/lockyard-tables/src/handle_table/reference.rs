//! References of readers to shared objects.

use super::access::Shared;
use super::handle::Handle;
use super::slots::Slot;
use super::table::HandleTable;
use core::fmt;
use core::ops::Deref;
use lockyard::platform::HostWithSlots;
use lockyard::reclaim::Guard;
use lockyard::{Context, NoContext};

/// A reader's reference to an object of a [`HandleTable`]. While the reference exists, so does the
/// object, even after its removal from the table.
///
/// It contains a [guard](Guard) of the table's domain: it stays on its thread, and should be
/// dropped soon, because no removed object of the table is dropped meanwhile.
#[must_use = "if unused the object is left at once"]
pub struct Ref<'t, T: Send + Sync, H: HostWithSlots, C: Context = NoContext> {
    pub(super) table: &'t HandleTable<T, Shared, H, C>,
    pub(super) slot: &'t Slot<T, Shared, H, C>,
    pub(super) handle: Handle,
    pub(super) _guard: Guard<'t, H, C>,
}

impl<T: Send + Sync, H: HostWithSlots, C: Context> Ref<'_, T, H, C> {
    /// Returns the object's handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Returns true if the object is still in the table. A snapshot.
    pub fn is_in_table(&self) -> bool {
        self.slot.has(self.handle.generation())
    }

    /// Removes the object from the table; returns false if another thread has done so. The
    /// reference stays valid.
    pub fn remove(&self) -> bool {
        self.table.remove_from(self.slot, self.handle)
    }
}

impl<T: Send + Sync, H: HostWithSlots, C: Context> Deref for Ref<'_, T, H, C> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: `get` found the object inside the guard, which lives as long as `self`.
        unsafe { self.slot.value() }
    }
}

impl<T: Send + Sync + fmt::Debug, H: HostWithSlots, C: Context> fmt::Debug for Ref<'_, T, H, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ref").field("handle", &self.handle).field("object", &**self).finish()
    }
}
