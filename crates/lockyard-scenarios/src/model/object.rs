//! Shared objects.

use super::foreign::ForeignLock;
use super::named_kinds::{LockKind, PageKind};
use super::table::Table;

/// Kind of a shared object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A lock with a word that only it uses.
    Lock {
        /// Kind of lock.
        lock: LockKind,
    },
    /// A lock from outside the library. Scripts cannot name one;
    /// [`Variant::with_foreign_lock`](crate::Variant::with_foreign_lock) inserts it.
    Foreign {
        /// The lock.
        lock: ForeignLock,
    },
    /// A lock and a reference count.
    LockRef {
        /// Kind of the lockref's lock.
        lock: LockKind,
        /// `true` to pause after each failed compare-exchange.
        pause: bool,
        /// `true` to wait once for the lock's release before taking it.
        trywait: bool,
        /// Initial number of references.
        count: u32,
    },
    /// A page reference count.
    Page {
        /// Operation that takes references.
        page: PageKind,
        /// Initial number of references.
        count: u32,
    },
    /// A 64-bit atomic word.
    Word {
        /// Initial value.
        initial: u64,
        /// Number by which each operation changes the value, if the script states it.
        gains: Option<i64>,
    },
    /// An array of 64-bit atomic words, each in a line of its own.
    Words {
        /// Number of words.
        count: u32,
        /// Initial value of each word.
        initial: u64,
    },
    /// A non-atomic 64-bit word. If any step writes it, all accesses hold one common lock.
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
    /// Name of the object.
    pub name: String,
    /// Kind of the object.
    pub kind: ObjectKind,
    /// Index of the object's line. Objects with the same index are adjacent.
    pub line: usize,
}
