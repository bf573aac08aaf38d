//! `id-table`: objects found by small integers, such as a kernel's timers. An object has an owner
//! and a few words.
//!
//! A look-up finds an object and reads it under the object's lock. An update changes the object
//! under that lock.

use super::objects::Objects;
use super::table_object::{Held, MakeTable, Of, TableObject};
use super::variant::locked_or_rcu;
use crate::model::{Table, TableOperation};
use lockyard::platform::HostWithSlots;
use lockyard_tables::id_table::{IdTable, Locked, Rcu, Variant};
use std::alloc::Layout;
use std::ptr::NonNull;

/// An object of the table, for example a timer. Kernel timers have some hundred bytes, so here too
/// no two objects share a line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Object {
    /// Number of the object's entry.
    owner: u64,
    /// Number of changes.
    changed: u64,
    /// For example, the expiry time and the interval.
    setting: [u64; 3],
}

pub(super) struct Identifiers;

impl MakeTable for Identifiers {
    fn layout<H: HostWithSlots>(table: &Table) -> Layout {
        locked_or_rcu!(table, V => Layout::new::<IdTable<Object, V, H>>())
    }

    unsafe fn make<H: HostWithSlots>(
        table: &Table,
        memory: NonNull<u8>,
        drops: bool,
    ) -> Option<Box<dyn TableObject>> {
        // SAFETY: the caller upholds the contract of this function. `layout` is of the same
        // variant.
        locked_or_rcu!(table, V => unsafe { made::<V, H>(table, memory, drops) })
    }
}

/// # Safety
///
/// Does the same as [`MakeTable::make`], for the variant `V`.
unsafe fn made<V: Variant, H: HostWithSlots>(
    table: &Table,
    memory: NonNull<u8>,
    drops: bool,
) -> Option<Box<dyn TableObject>> {
    // SAFETY: the caller upholds the contract of this function.
    let held = unsafe { Held::write(memory, IdTable::<Object, V, H>::default(), drops) };
    let entries = table.entries();
    for owner in 0..entries {
        // The table assigns the lowest free identifier, so an entry's identifier equals its number.
        held.insert(Object::new(owner)).ok()?;
    }
    Some(Box::new(Filled { table: held, objects: Objects::new(entries) }))
}

impl Object {
    fn new(owner: u64) -> Self {
        Object { owner, changed: 0, setting: [1, owner, 0] }
    }
}

struct Filled<V: Variant, H: HostWithSlots> {
    table: Held<IdTable<Object, V, H>>,
    objects: Objects,
}

impl<V: Variant, H: HostWithSlots> TableObject for Filled<V, H> {
    #[inline]
    fn perform(&self, operation: TableOperation, of: Of) {
        let (id, owner) = match of {
            Of::Entry(number) => (number as u32, Some(number)),
            Of::Inserted(id) => (id as u32, None),
        };
        let found = self.table.lock(id).map(|mut object| {
            if operation == TableOperation::Update {
                object.changed += 1;
                object.setting[0] ^= object.changed;
            }
            std::hint::black_box(*object).owner
        });
        self.objects.found(found, owner);
    }

    fn insert(&self, number: u64) -> Option<u64> {
        self.objects.inserted(self.table.insert(Object::new(number)).ok()).map(u64::from)
    }

    fn remove(&self, inserted: u64) {
        self.objects.removed(self.table.remove(inserted as u32).is_some());
    }

    fn verify(&self, performed: &dyn Fn(TableOperation) -> u64) -> Result<(), String> {
        let changes = |id| Some(self.table.lock(id as u32)?.changed);
        self.objects.verify(self.table.len(), changes, performed)
    }

    fn address(&self) -> usize {
        self.table.address()
    }
}
