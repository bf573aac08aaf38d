//! Tables as objects of scripts: what a new kind of table has to say, and which kinds there are.
//!
//! A kind is one file: a [`Row`] (what scripts may set, which steps there are, how many entries) and a [`TableObject`] (what the
//! interpreter calls); and one name in the list at the end of this file. The tables are the library's; they are laid out and filled before
//! tasks run, on a simulated machine outside simulated time.

/// `$body` with the variant that `$table` names, `locked` or `rcu`, as the type `$variant`: that of the same name where it is used.
macro_rules! locked_or_rcu {
    ($table:expr, $variant:ident => $body:expr) => {
        match $table.name("variant") {
            "locked" => {
                type $variant = Locked;
                $body
            }
            _ => {
                type $variant = Rcu;
                $body
            }
        }
    };
}

mod buffers;
mod connections;
mod id_table;
mod settings;
mod statistics;
mod tally;

pub use settings::Table;
pub(crate) use settings::{Allowed, Setting, TableEntry};

use lockyard::platform::HostWithSlots;
use std::alloc::Layout;
use std::ptr::NonNull;

/// What a step does with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Finds an entry, reads it, and lets it go.
    LookUp,
    /// Changes an entry.
    Update,
    /// Reads an entry, all of it.
    Read,
    /// Makes an entry, which the task keeps until it removes it.
    Insert,
    /// Removes the entry that the task inserted last.
    Remove,
}

impl Operation {
    /// All, by the names that steps use.
    pub const ALL: [(&'static str, Operation); 5] = [
        ("look-up", Operation::LookUp),
        ("update", Operation::Update),
        ("read", Operation::Read),
        ("insert", Operation::Insert),
        ("remove", Operation::Remove),
    ];

    /// The name that steps use.
    pub fn name(self) -> &'static str {
        let row = Self::ALL.iter().find(|(_, operation)| *operation == self);
        row.map_or("", |(name, _)| name)
    }

    /// Whether it is of one entry that is there already.
    pub(crate) fn has_key(self) -> bool {
        matches!(self, Operation::LookUp | Operation::Update | Operation::Read)
    }
}

/// Which entry a step is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Key {
    /// The task's own: tasks have different ones, if there are as many entries.
    #[default]
    Own,
    /// A random one, drawn anew each time.
    Random,
    /// What the task inserted last in the same operation.
    Inserted,
}

impl Key {
    /// All, by the names that steps use.
    pub const ALL: [(&'static str, Key); 3] =
        [("own", Key::Own), ("random", Key::Random), ("inserted", Key::Inserted)];
}

/// An entry, as a table finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// One of those that were there before tasks ran, by number.
    Entry(u64),
    /// One that was inserted, by what [`TableObject::insert`] returned.
    Inserted(u64),
}

/// What scripts may say of a kind of table.
pub(crate) struct Row {
    /// Its name: `kind` of an object.
    pub(crate) kind: &'static str,
    /// What may be set, at most [`settings::MAX_SETTINGS`].
    pub(crate) settings: &'static [Setting],
    /// The steps that there are.
    pub(crate) operations: &'static [Operation],
    /// How many entries there are before tasks run.
    pub(crate) entries: fn(&Table) -> u64,
    /// At most so many bytes are in use before tasks run, and while each holds a few more entries.
    pub(crate) bytes: fn(&Table) -> usize,
}

/// A kind of table: how it is made.
pub(crate) trait TableKind {
    /// What scripts may say of it.
    const ROW: &'static Row;

    /// The layout of what lies in the object's line; the rest is allocated.
    fn layout<H: HostWithSlots>(table: &Table) -> Layout;

    /// Makes the table in `memory`, and fills it; `None` if the host has no memory. If `drops`, what it allocated is given back when
    /// the object is dropped.
    ///
    /// # Safety
    ///
    /// `memory` is valid for the layout, is used for nothing else, and outlives the object.
    unsafe fn make<H: HostWithSlots>(
        table: &Table,
        memory: NonNull<u8>,
        drops: bool,
    ) -> Option<Box<dyn TableObject>>;
}

/// A table as the interpreter uses it, from many tasks at once. Operations that the kind's [`Row`] does not list are not asked for.
pub(crate) trait TableObject {
    /// A look-up, an update or a reading of an entry.
    fn perform(&self, operation: Operation, of: Of);

    /// Inserts a new entry, whose number no other one has; returns what it is found by, or `None` if it was refused.
    fn insert(&self, _number: u64) -> Option<u64> {
        unreachable!("no step inserts into this table")
    }

    /// Removes what [`insert`](Self::insert) returned.
    fn remove(&self, _inserted: u64) {
        unreachable!("no step removes from this table")
    }

    /// Checks, after all tasks have finished, that nothing was lost, and nothing found that was not asked for. `performed` says how often
    /// entries other than inserted ones had an operation.
    fn verify(&self, performed: &dyn Fn(Operation) -> u64) -> Result<(), String>;

    /// Where it lies.
    fn address(&self) -> usize;
}

/// Something that was written to the run's memory, and is dropped with this if that is wanted.
pub(crate) struct Held<T> {
    place: NonNull<T>,
    drops: bool,
}

impl<T> Held<T> {
    /// Writes `value` to `memory`.
    ///
    /// # Safety
    ///
    /// `memory` is valid for a `T`, is used for nothing else, and outlives what is returned.
    pub(crate) unsafe fn write(memory: NonNull<u8>, value: T, drops: bool) -> Self {
        let place = memory.cast::<T>();
        // SAFETY: the caller says that there is room.
        unsafe { place.write(value) };
        // Padding may lie beside a word in one 64-bit unit of a simulated memory: the compiler is to know nothing about it.
        Held { place: std::hint::black_box(place), drops }
    }

    /// Where it lies.
    pub(crate) fn address(&self) -> usize {
        self.place.as_ptr() as usize
    }
}

impl<T> std::ops::Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: written by `write`; the memory outlives `self`, and there are only shared references until `self` is dropped.
        unsafe { self.place.as_ref() }
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        if self.drops {
            // SAFETY: written by `write`, dropped once, and all references are borrowed from `self`.
            unsafe { self.place.drop_in_place() };
        }
    }
}

macro_rules! tables {
    ($($kind:ty),* $(,)?) => {
        /// The kinds of tables.
        pub(crate) const ROWS: &[&Row] = &[$(<$kind as TableKind>::ROW),*];

        impl Table {
            /// The layout of what lies in the object's line.
            pub(crate) fn layout<H: HostWithSlots>(&self) -> Layout {
                $(if self.is_of(<$kind>::ROW) {
                    return <$kind>::layout::<H>(self);
                })*
                unreachable!("every table is of a kind of the list")
            }

            /// Makes the table in `memory`, and fills it; `None` if the host has no memory.
            ///
            /// # Safety
            ///
            /// `memory` is valid for the layout, is used for nothing else, and outlives the object.
            pub(crate) unsafe fn make<H: HostWithSlots>(
                &self,
                memory: NonNull<u8>,
                drops: bool,
            ) -> Option<Box<dyn TableObject>> {
                $(if self.is_of(<$kind>::ROW) {
                    // SAFETY: the caller's promise; the layout is this kind's.
                    return unsafe { <$kind>::make::<H>(self, memory, drops) };
                })*
                unreachable!("every table is of a kind of the list")
            }
        }
    };
}

tables! {
    id_table::Identifiers,
    statistics::Records,
    connections::Connections,
    buffers::Buffers,
}
