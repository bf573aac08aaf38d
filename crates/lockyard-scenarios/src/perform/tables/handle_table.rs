//! `handle-table`: objects found by handles with generations, such as the sessions of a server.
//!
//! A look-up finds an object and reads it. With `shared` access the read is in place, inside a
//! reader's guard, and an update is an atomic addition in the object. With `exclusive` access both
//! happen under the object's lock, a queued spinlock.

use super::objects::Objects;
use super::table_object::{Held, MakeTable, Of, TableObject};
use crate::model::{Table, TableOperation};
use lockyard::lock::Queued;
use lockyard::platform::{HostWithSlots, Ordering, U64, Word};
use lockyard_tables::handle_table::{Access, Exclusive, Handle, HandleTable, Shared};
use std::alloc::Layout;
use std::ptr::NonNull;

/// An object of the table. As in `id-table` no two share a line.
#[repr(align(64))]
pub(super) struct Object<H: HostWithSlots> {
    /// Number of the object's entry.
    owner: u64,
    /// Number of changes.
    changed: U64<H>,
}

/// Evaluates `$body` with `$access` as the type of the access that `$table` names.
macro_rules! shared_or_exclusive {
    ($table:expr, $access:ident => $body:expr) => {
        match $table.name("access") {
            "exclusive" => {
                type $access = Exclusive<Queued>;
                $body
            }
            _ => {
                type $access = Shared;
                $body
            }
        }
    };
}

pub(super) struct Handles;

impl MakeTable for Handles {
    fn layout<H: HostWithSlots>(table: &Table) -> Layout {
        shared_or_exclusive!(table, A => Layout::new::<HandleTable<Object<H>, A, H>>())
    }

    unsafe fn make<H: HostWithSlots>(
        table: &Table,
        memory: NonNull<u8>,
        drops: bool,
    ) -> Option<Box<dyn TableObject>> {
        // SAFETY: the caller upholds the contract of this function. `layout` is of the same access.
        shared_or_exclusive!(table, A => unsafe { made::<A, H>(table, memory, drops) })
    }
}

/// # Safety
///
/// Does the same as [`MakeTable::make`], for the access `A`.
unsafe fn made<A: Finds<H>, H: HostWithSlots>(
    table: &Table,
    memory: NonNull<u8>,
    drops: bool,
) -> Option<Box<dyn TableObject>> {
    // SAFETY: the caller upholds the contract of this function.
    let held = unsafe { Held::write(memory, HandleTable::<Object<H>, A, H>::default(), drops) };
    let entries = table.entries();
    for owner in 0..entries {
        // A single thread gets the slots in order.
        let inserted = held.insert(Object::new(owner)).ok()?;
        assert_eq!(inserted, first_of(owner), "handles follow from the entries' numbers");
    }
    Some(Box::new(Filled { table: held, objects: Objects::new(entries) }))
}

/// Returns the handle of the first object of a slot: its generation is 3.
fn first_of(number: u64) -> Handle {
    Handle::from_bits(3 << 32 | number).expect("the generation is odd")
}

impl<H: HostWithSlots> Object<H> {
    fn new(owner: u64) -> Self {
        Object { owner, changed: Word::new(0) }
    }
}

/// Operations of a table with either access.
trait Finds<H: HostWithSlots>: Access<H> + Sized {
    /// Finds an object and returns its owner. Changes it if `update` is true.
    fn find(table: &HandleTable<Object<H>, Self, H>, handle: Handle, update: bool) -> Option<u64>;
    /// Number of changes of an object.
    fn changes(table: &HandleTable<Object<H>, Self, H>, handle: Handle) -> Option<u64>;
    /// Removes an object; returns false if it was not there.
    fn remove(table: &HandleTable<Object<H>, Self, H>, handle: Handle) -> bool;
}

impl<H: HostWithSlots> Finds<H> for Shared {
    #[inline]
    fn find(table: &HandleTable<Object<H>, Self, H>, handle: Handle, update: bool) -> Option<u64> {
        let object = table.get(handle)?;
        if update {
            // Relaxed: a count.
            object.changed.fetch_add(1, Ordering::Relaxed);
        }
        Some(std::hint::black_box(object.owner))
    }

    fn changes(table: &HandleTable<Object<H>, Self, H>, handle: Handle) -> Option<u64> {
        Some(table.get(handle)?.changed.load(Ordering::Relaxed))
    }

    fn remove(table: &HandleTable<Object<H>, Self, H>, handle: Handle) -> bool {
        table.remove(handle)
    }
}

impl<H: HostWithSlots> Finds<H> for Exclusive<Queued> {
    #[inline]
    fn find(table: &HandleTable<Object<H>, Self, H>, handle: Handle, update: bool) -> Option<u64> {
        let object = table.lock(handle)?;
        if update {
            // Relaxed: under the lock.
            let changed = object.changed.load(Ordering::Relaxed);
            object.changed.store(changed + 1, Ordering::Relaxed);
        }
        Some(std::hint::black_box(object.owner))
    }

    fn changes(table: &HandleTable<Object<H>, Self, H>, handle: Handle) -> Option<u64> {
        Some(table.lock(handle)?.changed.load(Ordering::Relaxed))
    }

    fn remove(table: &HandleTable<Object<H>, Self, H>, handle: Handle) -> bool {
        table.remove(handle).is_some()
    }
}

struct Filled<A: Finds<H>, H: HostWithSlots> {
    table: Held<HandleTable<Object<H>, A, H>>,
    objects: Objects,
}

impl<A: Finds<H>, H: HostWithSlots> TableObject for Filled<A, H> {
    #[inline]
    fn perform(&self, operation: TableOperation, of: Of) {
        let (handle, owner) = match of {
            Of::Entry(number) => (Some(first_of(number)), Some(number)),
            Of::Inserted(bits) => (Handle::from_bits(bits), None),
        };
        let update = operation == TableOperation::Update;
        let found = handle.and_then(|handle| A::find(&self.table, handle, update));
        self.objects.found(found, owner);
    }

    fn insert(&self, number: u64) -> Option<u64> {
        self.objects.inserted(self.table.insert(Object::new(number)).ok()).map(Handle::to_bits)
    }

    fn remove(&self, inserted: u64) {
        let handle = Handle::from_bits(inserted);
        self.objects.removed(handle.is_some_and(|handle| A::remove(&self.table, handle)));
    }

    fn verify(&self, performed: &dyn Fn(TableOperation) -> u64) -> Result<(), String> {
        let changes = |number| A::changes(&self.table, first_of(number));
        self.objects.verify(self.table.len(), changes, performed)
    }

    fn address(&self) -> usize {
        self.table.address()
    }
}
