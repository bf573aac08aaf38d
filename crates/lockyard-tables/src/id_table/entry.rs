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
/// If a panic unwinds through it, the lock is still released, and the object stays as it is.
#[must_use = "if unused the object's lock is released at once"]
pub struct Entry<'t, T: Send, V: Variant, H: HostWithSlots, C: Context = NoContext> {
    table: &'t IdTable<T, V, H, C>,
    object: &'t Object<T, H, C>,
    id: u32,
    /// `None` after the lock was released.
    held: Option<Held<Lock<H, C>>>,
    /// Keeps the object's memory. It is left after the lock was released.
    _guard: Option<Guard<'t, H, C>>,
    /// An entry shared with another thread shares the object.
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

    /// Moves the entry inside a guard.
    #[inline(always)]
    pub(super) fn inside(mut self, guard: Guard<'t, H, C>) -> Self {
        self._guard = Some(guard);
        self
    }

    /// Returns true if the object was not removed before its lock was taken.
    #[inline(always)]
    pub(super) fn is_in_table(&self) -> bool {
        // SAFETY: under the object's lock.
        self.object.value.with(|value| unsafe { (*value).is_some() })
    }

    /// The object's identifier.
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

    /// Takes the object out of the table. Its identifier is free from then on.
    pub fn remove(mut self) -> T {
        // SAFETY: under the object's lock.
        let value = self.object.value.with_mut(|value| unsafe { (*value).take() });
        // A thread that gets the lock from here on finds that there is no object.
        self.unlock();
        let bits = self.table.forget(self.id);
        if V::LOCKS {
            // SAFETY: nothing else named it. A thread that waits for its lock holds the table's,
            // under which it was found, and `forget` took that after all of them.
            unsafe { Object::<T, H, C>::free(bits) };
        } else {
            // SAFETY: the only word that named it was cleared, for this thread alone; readers are
            // inside guards of the domain. The object in it is gone, so nothing is left that
            // borrows.
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
        // SAFETY: under the object's lock, and the reference ends before it is released.
        let value = self.object.value.with(|value| unsafe { (*value).as_ref() });
        value.expect("an entry's object is in the table")
    }
}

impl<T: Send, V: Variant, H: HostWithSlots, C: Context> DerefMut for Entry<'_, T, V, H, C> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: under the object's lock, and the entry is borrowed mutably.
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
