//! Entries: the handles that hold an object's lock.

use super::object::{Lock, Object};
use super::table::IdTable;
use super::variant::Variant;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use lockyard::platform::{DataCell, HostWithSlots};
use lockyard::reclaim::{Guard, Owned};
use lockyard::{Context, Held, NoContext};

/// An object of an [`IdTable`], locked. Dropping it releases the lock (release).
///
/// If a panic unwinds through an entry, the lock is still released, and the object stays in the
/// table.
#[must_use = "if unused the object's lock is released at once"]
pub struct Entry<'t, T: Send, V: Variant, H: HostWithSlots, C: Context = NoContext> {
    table: &'t IdTable<T, V, H, C>,
    object: &'t Object<T, H, C>,
    id: u32,
    /// `None` once the lock is released.
    held: Option<Held<Lock<H, C>>>,
    /// Keeps the object's memory. The guard is dropped after the lock is released.
    _guard: Option<Guard<'t, H, C>>,
    /// Sharing an entry with another thread shares the object.
    _value: PhantomData<&'t mut T>,
}

impl<'t, T: Send, V: Variant, H: HostWithSlots, C: Context> Entry<'t, T, V, H, C> {
    /// Takes the object's lock.
    #[inline(always)]
    pub(super) fn acquire(
        table: &'t IdTable<T, V, H, C>,
        object: &'t Object<T, H, C>,
        id: u32,
        guard: Option<Guard<'t, H, C>>,
    ) -> Self {
        let held = Some(object.lock.acquire());
        Entry { table, object, id, held, _guard: guard, _value: PhantomData }
    }

    /// Ties the entry to a guard.
    #[inline(always)]
    pub(super) fn inside(mut self, guard: Guard<'t, H, C>) -> Self {
        self._guard = Some(guard);
        self
    }

    /// Returns false if the object was removed before its lock was taken.
    #[inline(always)]
    pub(super) fn is_in_table(&self) -> bool {
        // SAFETY: the object's lock is held.
        self.object.value.with(|value| unsafe { (*value).is_some() })
    }

    /// Returns the object's identifier.
    pub fn id(&self) -> u32 {
        self.id
    }

    #[inline(always)]
    fn unlock(&mut self) {
        if let Some(held) = self.held.take() {
            // SAFETY: `acquire` took this object's lock.
            unsafe { self.object.lock.release(held) };
        }
    }

    /// Removes the object from the table. Its identifier is free afterwards.
    pub fn remove(mut self) -> T {
        // SAFETY: the object's lock is held.
        let value = self.object.value.with_mut(|value| unsafe { (*value).take() });
        // A thread that takes the lock from here on finds no object.
        self.unlock();
        let bits = self.table.forget(self.id);
        if V::LOCKS {
            // SAFETY: no other word named the object. A thread that waits for its lock holds the
            // table's lock, under which it found the object. `forget` took the table's lock after
            // all such threads.
            unsafe { Object::<T, H, C>::free(bits) };
        } else {
            // SAFETY: only this thread cleared the only word that named the object; readers are
            // inside guards of the domain. The value is gone, so no borrow is left.
            unsafe {
                let object = Owned::<Object<T, H, C>, H>::from_bits(bits);
                self.table.domain.retire_owned(object);
            }
        }
        value.expect("an entry's object is in the table")
    }
}

impl<T: Send, V: Variant, H: HostWithSlots, C: Context> Deref for Entry<'_, T, V, H, C> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the object's lock is held, and the reference ends before the lock is released.
        let value = self.object.value.with(|value| unsafe { (*value).as_ref() });
        value.expect("an entry's object is in the table")
    }
}

impl<T: Send, V: Variant, H: HostWithSlots, C: Context> DerefMut for Entry<'_, T, V, H, C> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the object's lock is held, and the entry is borrowed mutably.
        let value = self.object.value.with_mut(|value| unsafe { (*value).as_mut() });
        value.expect("an entry's object is in the table")
    }
}

impl<T: Send, V: Variant, H: HostWithSlots, C: Context> Drop for Entry<'_, T, V, H, C> {
    #[inline(always)]
    fn drop(&mut self) {
        self.unlock();
    }
}

impl<T: Send + fmt::Debug, V: Variant, H: HostWithSlots, C: Context> fmt::Debug
    for Entry<'_, T, V, H, C>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("id", &self.id).field("object", &**self).finish()
    }
}
