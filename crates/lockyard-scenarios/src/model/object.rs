//! Shared objects.

use super::foreign::ForeignLock;
use super::named_kinds::{LockKind, PageKind};
use super::table::Table;

/// Kind of a shared object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A lock in its own word.
    Lock {
        /// Kind of lock.
        lock: LockKind,
    },
    /// A lock from outside the library. No script names one;
    /// [`Variant::with_foreign_lock`](crate::Variant::with_foreign_lock) puts it in.
    Foreign {
        /// The lock.
        lock: ForeignLock,
    },
    /// A lock and a reference count.
    LockRef {
        /// Kind of the lock in it.
        lock: LockKind,
        /// True to pause after each failed compare-exchange.
        pause: bool,
        /// True to wait once for the lock to be released before taking it.
        trywait: bool,
        /// Initial number of references.
        count: u32,
    },
    /// A page reference count.
    Page {
        /// The operation that takes references.
        page: PageKind,
        /// Initial number of references.
        count: u32,
    },
    /// A 64-bit atomic word.
    Word,
    /// A 64-bit word that is not atomic. If a step writes it, all accesses hold one common lock.
    Data,
    /// A table with its entries.
    Table {
        /// Kind of table, and its settings.
        table: Table,
    },
}

/// A shared object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: ObjectKind,
    /// Index of its line. Objects with the same index lie one after another.
    pub line: usize,
}
