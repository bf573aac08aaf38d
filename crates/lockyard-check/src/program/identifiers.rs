//! The program for the identifier table: threads look up, remove and insert a few identifiers.

use super::parts::{Outcome, Program, Seen, linger};
use crate::finding::{COUNT, FREED};
use crate::hooks;
use crate::quarantine;
use lockyard::platform::HostWithSlots;
use lockyard_tables::id_table::{IdTable, Variant};
use std::sync::atomic::{AtomicI64, Ordering as Plain};

/// Operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdOp {
    /// Looks identifier 0 up and changes the object.
    LookUp,
    /// Removes identifier 0 and frees retired objects.
    Remove,
    /// Inserts an object.
    Insert,
    /// Inserts an object and looks it up.
    InsertAndLookUp,
    /// Removes identifier 0 and inserts an object, which may get the same identifier.
    Replace,
}

/// An object that counts its changes twice.
struct Object {
    born: i64,
    visits: [i64; 2],
}

/// The program. If it is `EMPTY`, the table has no object and no memory at first. Otherwise the
/// table has one object, with identifier 0.
pub struct IdProgram<V: Variant, H: HostWithSlots, const EMPTY: bool = false> {
    table: IdTable<Object, V, H>,
    ops: Vec<IdOp>,
    seen: Seen,
    /// Expected numbers of objects and visits, kept outside the platform.
    objects: AtomicI64,
    visits: AtomicI64,
    born: AtomicI64,
}

impl<V: Variant, H: HostWithSlots, const EMPTY: bool> IdProgram<V, H, EMPTY> {
    fn insert(&self, thread: usize) -> u32 {
        let born = self.born.fetch_add(1, Plain::Relaxed);
        let inserted = self.table.insert(Object { born, visits: [0; 2] });
        self.objects.fetch_add(1, Plain::Relaxed);
        let id = inserted.expect("identifiers and memory are left");
        self.seen.note(thread, i64::from(id));
        id
    }

    fn look_up(&self, thread: usize, id: u32) {
        let Some(mut entry) = self.table.lock(id) else { return self.seen.note(thread, 0) };
        self.seen.note(thread, 1 + entry.born);
        entry.visits[0] += 1;
        linger::<H>();
        entry.visits[1] += 1;
        assert!(entry.visits[0] == entry.visits[1], "{FREED}an object changes under its lock");
        self.visits.fetch_add(1, Plain::Relaxed);
    }

    fn remove(&self, thread: usize, id: u32) {
        let Some(object) = self.table.remove(id) else { return self.seen.note(thread, 0) };
        self.seen.note(thread, 1 + object.born);
        self.objects.fetch_sub(1, Plain::Relaxed);
        self.visits.fetch_sub(object.visits[0], Plain::Relaxed);
    }
}

impl<V: Variant, H: HostWithSlots, const EMPTY: bool> Program for IdProgram<V, H, EMPTY> {
    type Op = IdOp;

    fn new(ops: &[IdOp], _rounds: u32) -> Self {
        quarantine::begin();
        IdProgram {
            table: IdTable::default(),
            ops: ops.to_vec(),
            seen: Seen::new(ops.len()),
            objects: AtomicI64::new(i64::from(!EMPTY)),
            visits: AtomicI64::new(0),
            born: AtomicI64::new(1),
        }
    }

    fn begin(&self) {
        let domain = self.table.domain();
        domain.reserve(self.ops.len() as u32).expect("there is memory");
        if !EMPTY {
            let first = self.table.insert(Object { born: 0, visits: [0; 2] });
            assert!(first.is_ok_and(|id| id == 0));
        }
    }

    fn step(&self, thread: usize, _round: u32) {
        match self.ops[thread] {
            IdOp::LookUp => self.look_up(thread, 0),
            IdOp::Remove => {
                self.remove(thread, 0);
                self.table.domain().collect();
                self.table.domain().collect();
            }
            IdOp::Insert => {
                self.insert(thread);
            }
            IdOp::InsertAndLookUp => {
                let id = self.insert(thread);
                self.look_up(thread, id);
            }
            IdOp::Replace => {
                self.remove(thread, 0);
                self.insert(thread);
            }
        }
    }

    fn finish(&self) {
        hooks::free_nothing();
        let objects = self.objects.load(Plain::Relaxed);
        let len = self.table.len() as i64;
        assert!(len == objects, "{COUNT}{objects} objects are left and the table says {len}");
        // Only identifier 0 is ever removed, and an insertion gets the lowest free one. Every
        // identifier is therefore at most the number of objects.
        let mut found = 0;
        for id in 0..=objects as u32 {
            if let Some(object) = self.table.remove(id) {
                found += 1;
                self.visits.fetch_sub(object.visits[0], Plain::Relaxed);
            }
        }
        assert!(found == objects, "{COUNT}{objects} objects are left and {found} are found");
        let visits = self.visits.load(Plain::Relaxed);
        assert!(visits == 0, "{COUNT}{visits} visits are lost");
        self.table.domain().barrier();
        assert!(self.table.domain().pending() == 0, "{COUNT}memory waits after a barrier");
    }

    fn outcome(&self) -> Outcome {
        self.seen.all()
    }
}
