//! The traits that each kind of table implements.

use crate::model::{Table, TableOperation};
use lockyard::platform::HostWithSlots;
use std::alloc::Layout;
use std::ptr::NonNull;

/// An entry, by the value with which a table finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Index of an entry that existed before tasks ran.
    Entry(u64),
    /// Value that [`TableObject::insert`] returned for an inserted entry.
    Inserted(u64),
}

/// Construction of a kind of table.
pub(super) trait MakeTable {
    /// Returns the layout of the part that is in the object's line. The rest is allocated.
    fn layout<H: HostWithSlots>(table: &Table) -> Layout;

    /// Makes the table in `memory` and fills it. Returns `None` if the host has no memory. With
    /// `drops`, dropping the object frees the table's memory.
    ///
    /// # Safety
    ///
    /// `memory` must be valid for the layout, must be used for nothing else, and must outlive the
    /// object.
    unsafe fn make<H: HostWithSlots>(
        table: &Table,
        memory: NonNull<u8>,
        drops: bool,
    ) -> Option<Box<dyn TableObject>>;
}

/// A table as the interpreter uses it, from many tasks at once. The interpreter calls only
/// operations that the table's kind has.
pub(crate) trait TableObject {
    /// Looks up, updates or reads an entry.
    fn perform(&self, operation: TableOperation, of: Of);

    /// Inserts a new entry with a unique number. Returns the value with which the table finds the
    /// entry, or `None` if the table refuses it.
    fn insert(&self, _number: u64) -> Option<u64> {
        unreachable!("no step inserts into this table")
    }

    /// Removes the entry for which [`insert`](Self::insert) returned this value.
    fn remove(&self, _inserted: u64) {
        unreachable!("no step removes from this table")
    }

    /// Checks that no entry was lost, and that tasks found only the entries that they asked for.
    /// Called after all tasks have finished. `performed` returns how often an operation was
    /// performed, without operations on inserted entries.
    fn verify(&self, performed: &dyn Fn(TableOperation) -> u64) -> Result<(), String>;

    /// Address of the table.
    fn address(&self) -> usize;
}

/// A value in the run's memory. Dropping this drops the value if `drops` is `true`.
pub(super) struct Held<T> {
    place: NonNull<T>,
    drops: bool,
}

impl<T> Held<T> {
    /// Writes `value` to `memory`.
    ///
    /// # Safety
    ///
    /// `memory` must be valid for a `T`, must be used for nothing else, and must outlive the
    /// returned value.
    pub(super) unsafe fn write(memory: NonNull<u8>, value: T, drops: bool) -> Self {
        let place = memory.cast::<T>();
        // SAFETY: the caller provides memory for the value.
        unsafe { place.write(value) };
        // Padding and a word may share a 64-bit unit of simulated memory, so the compiler must
        // assume nothing about the padding.
        Held { place: std::hint::black_box(place), drops }
    }

    /// Address of the value.
    pub(super) fn address(&self) -> usize {
        self.place.as_ptr() as usize
    }
}

impl<T> std::ops::Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `write` wrote the value. The memory outlives `self`, and only shared references
        // exist until `self` is dropped.
        unsafe { self.place.as_ref() }
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        if self.drops {
            // SAFETY: `write` wrote the value, it is dropped once, and all references are borrowed
            // from `self`.
            unsafe { self.place.drop_in_place() };
        }
    }
}
