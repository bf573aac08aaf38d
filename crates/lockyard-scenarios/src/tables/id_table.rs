//! `id-table`: objects found by small integers, as a kernel's timers. An object is some words, and whose it is.
//!
//! A look-up finds the object and reads it under its own lock; an update changes it there.

use super::tally::Tally;
use super::{Allowed, Held, Of, Operation, Row, Setting, Table, TableKind, TableObject};
use lockyard::platform::HostWithSlots;
use lockyard_tables::id_table::{IdTable, Locked, Rcu, Variant};
use std::alloc::Layout;
use std::ptr::NonNull;

/// Bytes that an object takes, with what is allocated beside it, rounded up.
const BYTES: usize = 256;

/// An object, as a reader sees it: a timer, say. No two share a line: a timer is some hundred bytes large.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Object {
    /// Whose it is: the number of its entry.
    owner: u64,
    /// How often it was changed.
    changed: u64,
    /// When it expires, and how often, say.
    setting: [u64; 3],
}

pub(super) struct Identifiers;

impl TableKind for Identifiers {
    const ROW: &'static Row = &Row {
        kind: "id-table",
        settings: &[
            Setting { name: "variant", allowed: Allowed::Names(&["rcu", "locked"]), default: 0 },
            Setting { name: "entries", allowed: Allowed::Numbers(1, 1 << 20), default: 1024 },
        ],
        operations: &[Operation::LookUp, Operation::Update, Operation::Insert, Operation::Remove],
        entries: |table| table.number("entries"),
        bytes: |table| table.number("entries") as usize * BYTES,
    };

    fn layout<H: HostWithSlots>(table: &Table) -> Layout {
        locked_or_rcu!(table, V => Layout::new::<IdTable<Object, V, H>>())
    }

    unsafe fn make<H: HostWithSlots>(
        table: &Table,
        memory: NonNull<u8>,
        drops: bool,
    ) -> Option<Box<dyn TableObject>> {
        // SAFETY: the caller's promise; `layout` is of the same variant.
        locked_or_rcu!(table, V => unsafe { made::<V, H>(table, memory, drops) })
    }
}

/// # Safety
///
/// As [`TableKind::make`], of the variant `V`.
unsafe fn made<V: Variant, H: HostWithSlots>(
    table: &Table,
    memory: NonNull<u8>,
    drops: bool,
) -> Option<Box<dyn TableObject>> {
    // SAFETY: the caller's promise.
    let held = unsafe { Held::write(memory, IdTable::<Object, V, H>::default(), drops) };
    let entries = table.entries();
    for owner in 0..entries {
        // Identifiers are given from the lowest: an entry's is its number.
        held.insert(Object::new(owner)).ok()?;
    }
    Some(Box::new(Objects {
        table: held,
        entries,
        missed: Tally::default(),
        refused: Tally::default(),
    }))
}

impl Object {
    fn new(owner: u64) -> Self {
        Object { owner, changed: 0, setting: [1, owner, 0] }
    }
}

struct Objects<V: Variant, H: HostWithSlots> {
    table: Held<IdTable<Object, V, H>>,
    entries: u64,
    /// Look-ups that found nothing, or another's object. (Written only then.)
    missed: Tally,
    /// Insertions that were refused.
    refused: Tally,
}

impl<V: Variant, H: HostWithSlots> TableObject for Objects<V, H> {
    #[inline]
    fn perform(&self, operation: Operation, of: Of) {
        let (id, owner) = match of {
            Of::Entry(number) => (number as u32, Some(number)),
            Of::Inserted(id) => (id as u32, None),
        };
        let found = self.table.lock(id).map(|mut object| {
            if operation == Operation::Update {
                object.changed += 1;
                object.setting[0] ^= object.changed;
            }
            std::hint::black_box(*object).owner
        });
        if found.is_none() || owner.is_some() && found != owner {
            self.missed.note();
        }
    }

    fn insert(&self, number: u64) -> Option<u64> {
        let id = self.table.insert(Object::new(number)).ok();
        if id.is_none() {
            self.refused.note();
        }
        id.map(u64::from)
    }

    fn remove(&self, inserted: u64) {
        if self.table.remove(inserted as u32).is_none() {
            self.missed.note();
        }
    }

    fn verify(&self, performed: &dyn Fn(Operation) -> u64) -> Result<(), String> {
        self.missed
            .never(|missed| format!("found nothing, or another's object, {missed} times"))?;
        self.refused.no_refusal()?;
        if self.table.len() as u64 != self.entries {
            let (len, entries) = (self.table.len(), self.entries);
            return Err(format!("has {len} entries at the end, not {entries}"));
        }
        let ids = 0..self.entries as u32;
        let changed: u64 = ids.filter_map(|id| self.table.lock(id)).map(|o| o.changed).sum();
        let expected = performed(Operation::Update);
        if changed != expected {
            return Err(format!("was updated {changed} times, not {expected} times"));
        }
        Ok(())
    }

    fn address(&self) -> usize {
        self.table.address()
    }
}
