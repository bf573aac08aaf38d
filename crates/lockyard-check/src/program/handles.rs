//! The program for the handle table: threads look up, remove and insert objects, and a slot is used
//! again.

use super::parts::{Outcome, Program, Seen, linger};
use crate::finding::{COUNT, FREED};
use crate::{hooks, quarantine};
use lockyard::lock::LaneLock;
use lockyard::platform::{HostWithSlots, Ordering, U32, Word};
use lockyard_tables::handle_table::{Access, Exclusive, Handle, HandleTable, MAX_HANDLES, Shared};
use std::sync::atomic::{AtomicI64, Ordering as Plain};

/// Operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleOp {
    /// Looks the first object up and reads it. An exclusive object is also changed.
    LookUp,
    /// Removes the first object, and drops removed objects.
    Remove,
    /// Inserts an object.
    Insert,
    /// Inserts an object, and looks it up.
    InsertAndLookUp,
    /// Removes the first object, drops it, and inserts another, which may get the same slot.
    Replace,
    /// Removes the first object, and does no more.
    Discard,
    /// Drops removed objects.
    Collect,
}

/// An object: a number, and a copy of it. Dropping it changes the copy.
pub struct Object {
    born: i64,
    copy: AtomicI64,
}

impl Object {
    fn new(born: i64) -> Self {
        Object { born, copy: AtomicI64::new(born) }
    }

    /// Asserts that the object was not dropped.
    fn check(&self, born: i64) {
        let copy = self.copy.load(Plain::Relaxed);
        assert!(copy == born, "{FREED}object {born} was dropped: {copy}");
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.copy.store(-1, Plain::Relaxed);
    }
}

/// A table of either access.
pub trait Handles<H: HostWithSlots>: Access<H> {
    /// Looks an object up, and returns its number.
    fn look_up(table: &HandleTable<Object, Self, H>, handle: Handle) -> Option<i64>
    where
        Self: Sized;
    /// Removes an object; returns true if it was there.
    fn remove(table: &HandleTable<Object, Self, H>, handle: Handle) -> bool
    where
        Self: Sized;
}

impl<H: HostWithSlots> Handles<H> for Shared {
    fn look_up(table: &HandleTable<Object, Self, H>, handle: Handle) -> Option<i64> {
        table.get(handle).map(|object| {
            // Two accesses: in a model, an access that is not ordered before the drop is a race.
            let born = object.born;
            linger::<H>();
            object.check(born);
            born
        })
    }
    fn remove(table: &HandleTable<Object, Self, H>, handle: Handle) -> bool {
        table.remove(handle)
    }
}

impl<K: LaneLock<H>, H: HostWithSlots> Handles<H> for Exclusive<K> {
    fn look_up(table: &HandleTable<Object, Self, H>, handle: Handle) -> Option<i64> {
        table.lock(handle).map(|mut object| {
            // In a model, accesses that are not exclusive are races.
            let born = std::mem::replace(&mut object.born, -1);
            linger::<H>();
            object.check(born);
            object.born = born;
            born
        })
    }
    fn remove(table: &HandleTable<Object, Self, H>, handle: Handle) -> bool {
        table.remove(handle).map(|object| object.check(object.born)).is_some()
    }
}

/// The program. If it is `EMPTY`, the table has no object and no memory at first, and the threads
/// know the handle that its first object will have. Otherwise the table has one object. It has
/// places for `LIMIT` objects: an insertion that finds none fails the check.
pub struct HandleProgram<
    A: Handles<H>,
    H: HostWithSlots,
    const EMPTY: bool = false,
    const LIMIT: u32 = MAX_HANDLES,
> {
    table: HandleTable<Object, A, H>,
    ops: Vec<HandleOp>,
    seen: Seen,
    /// Number of removals that found the first object; orders nothing.
    removed: U32<H>,
    /// Expected number of objects, kept outside the platform.
    objects: AtomicI64,
    born: AtomicI64,
}

/// Handle of a table's first object: generation 3 of slot 0.
fn first() -> Handle {
    Handle::from_bits(3 << 32).expect("the generation is odd")
}

impl<A: Handles<H>, H: HostWithSlots, const EMPTY: bool, const LIMIT: u32>
    HandleProgram<A, H, EMPTY, LIMIT>
{
    /// Inserts an object, and looks it up if `look` is true.
    fn insert(&self, thread: usize, look: bool) {
        let born = self.born.fetch_add(1, Plain::Relaxed);
        let handle = self.table.insert(Object::new(born)).expect("places and memory are left");
        assert!(EMPTY || handle != first(), "{COUNT}a handle names two objects");
        self.objects.fetch_add(1, Plain::Relaxed);
        self.seen.note(thread, i64::from(handle.index()));
        if look {
            let found = self.look_up(thread, handle);
            let gone = EMPTY && handle == first() && found.is_none();
            assert!(gone || found == Some(born), "{COUNT}{born} is inserted, {found:?} is found");
        }
    }

    fn look_up(&self, thread: usize, handle: Handle) -> Option<i64> {
        let found = A::look_up(&self.table, handle);
        self.seen.note(thread, found.map_or(0, |born| 1 + born));
        found
    }

    fn look_up_first(&self, thread: usize) {
        let found = self.look_up(thread, first());
        assert!(EMPTY || found.is_none_or(|born| born == 0), "{FREED}{found:?} is found");
    }

    /// Removes the first object; returns true if it was there.
    fn discard_first(&self, thread: usize) -> bool {
        let removed = A::remove(&self.table, first());
        self.seen.note(thread, i64::from(removed));
        if removed {
            let before = self.removed.fetch_add(1, Ordering::Relaxed);
            assert!(before == 0, "{COUNT}an object is removed twice");
            self.objects.fetch_sub(1, Plain::Relaxed);
        }
        removed
    }

    fn remove_first(&self, thread: usize) {
        if self.discard_first(thread) || !EMPTY {
            let there = self.table.contains(first());
            assert!(!there, "{COUNT}a removed object is in the table");
        }
        self.table.collect();
    }
}

impl<A: Handles<H>, H: HostWithSlots, const EMPTY: bool, const LIMIT: u32> Program
    for HandleProgram<A, H, EMPTY, LIMIT>
{
    type Op = HandleOp;

    fn new(ops: &[HandleOp], _rounds: u32) -> Self {
        quarantine::begin();
        HandleProgram {
            table: HandleTable::default().limited(LIMIT),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
            removed: Word::new(0),
            objects: AtomicI64::new(i64::from(!EMPTY)),
            born: AtomicI64::new(1),
        }
    }

    fn begin(&self) {
        let domain = self.table.domain();
        domain.reserve(self.ops.len() as u32).expect("there is memory");
        if !EMPTY {
            let inserted = self.table.insert(Object::new(0));
            assert!(inserted.is_ok_and(|handle| handle == first()));
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        match self.ops[thread] {
            HandleOp::LookUp => self.look_up_first(thread),
            HandleOp::Remove => self.remove_first(thread),
            HandleOp::Insert => self.insert(thread, false),
            HandleOp::InsertAndLookUp => self.insert(thread, true),
            HandleOp::Replace => {
                self.remove_first(thread);
                self.insert(thread, false);
            }
            HandleOp::Discard => {
                self.discard_first(thread);
            }
            HandleOp::Collect => {
                self.table.collect();
            }
        }
    }

    fn finish(&self) {
        hooks::free_nothing();
        assert!(self.table.collect() == 0, "{COUNT}objects wait, and no thread reads");
        let objects = self.objects.load(Plain::Relaxed);
        let len = self.table.len() as i64;
        assert!(len == objects, "{COUNT}{objects} objects are left and the table says {len}");
        let handles: Vec<Handle> = self.table.handles().collect();
        let found = handles.len() as i64;
        assert!(found == objects, "{COUNT}{objects} objects are left and {found} are found");
        for handle in handles {
            assert!(A::look_up(&self.table, handle).is_some(), "{COUNT}an object is not found");
            assert!(A::remove(&self.table, handle), "{COUNT}an object is not removed");
        }
        assert!(self.table.is_empty(), "{COUNT}the table is not empty");
    }

    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
