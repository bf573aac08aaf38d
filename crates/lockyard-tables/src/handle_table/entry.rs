//! Entries: the handles that hold an exclusive object's lock.

use super::access::Exclusive;
use super::handle::Handle;
use super::slots::Slot;
use super::table::HandleTable;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use lockyard::lock::LaneLock;
use lockyard::platform::{DataCell, HostWithSlots, Ordering, Word};
use lockyard::{Context, Held, NoContext, RawSpinLock};

/// An object of a [`HandleTable`], locked. Dropping it releases the lock (release).
///
/// If a panic unwinds through an entry, the lock is still released, and the object stays in the
/// table.
#[must_use = "if unused the object's lock is released at once"]
pub struct Entry<'t, T: Send, K: LaneLock<H>, H: HostWithSlots, C: Context = NoContext> {
    table: &'t HandleTable<T, Exclusive<K>, H, C>,
    slot: &'t Slot<T, Exclusive<K>, H, C>,
    handle: Handle,
    /// `None` once the lock is released.
    held: Option<Held<RawSpinLock<K, H, C>>>,
    /// Sharing an entry with another thread shares the object.
    _value: PhantomData<&'t mut T>,
}

impl<'t, T: Send, K: LaneLock<H>, H: HostWithSlots, C: Context> Entry<'t, T, K, H, C> {
    /// Makes the entry for an object whose lock was just taken; `None` if the object was removed
    /// before.
    #[inline(always)]
    pub(super) fn of(
        table: &'t HandleTable<T, Exclusive<K>, H, C>,
        slot: &'t Slot<T, Exclusive<K>, H, C>,
        handle: Handle,
        held: Held<RawSpinLock<K, H, C>>,
    ) -> Option<Self> {
        let entry = Entry { table, slot, handle, held: Some(held), _value: PhantomData };
        // Relaxed: an object is removed under its lock. The caller has seen the insertion.
        (slot.generation.load(Ordering::Relaxed) == handle.generation()).then_some(entry)
    }

    /// Returns the object's handle.
    pub fn handle(&self) -> Handle {
        self.handle
    }

    #[inline(always)]
    fn unlock(&mut self) {
        if let Some(held) = self.held.take() {
            // SAFETY: the caller of `of` took this slot's lock.
            unsafe { self.slot.lock.release(held) };
        }
    }

    /// Removes the object from the table, and returns it. Its slot is free afterwards.
    pub fn remove(mut self) -> T {
        // SAFETY: the lock is held, and the new generation says that the object is gone.
        let value = unsafe { self.slot.take() };
        // Relaxed: read under the lock, or as a hint, or in the shard that gets the slot below.
        self.slot.generation.store(self.handle.generation() + 1, Ordering::Relaxed);
        self.unlock();
        self.table.give_slot(self.handle.index());
        value
    }
}

impl<T: Send, K: LaneLock<H>, H: HostWithSlots, C: Context> Deref for Entry<'_, T, K, H, C> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the object's lock is held, and the reference ends before the lock is released.
        unsafe { self.slot.value() }
    }
}

impl<T: Send, K: LaneLock<H>, H: HostWithSlots, C: Context> DerefMut for Entry<'_, T, K, H, C> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the object's lock is held, and the entry is borrowed mutably.
        self.slot.value.with_mut(|place| unsafe { (*place).assume_init_mut() })
    }
}

impl<T: Send, K: LaneLock<H>, H: HostWithSlots, C: Context> Drop for Entry<'_, T, K, H, C> {
    #[inline(always)]
    fn drop(&mut self) {
        self.unlock();
    }
}

impl<T: Send + fmt::Debug, K: LaneLock<H>, H: HostWithSlots, C: Context> fmt::Debug
    for Entry<'_, T, K, H, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("handle", &self.handle).field("object", &**self).finish()
    }
}
