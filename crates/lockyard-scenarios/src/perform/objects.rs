//! A variant's objects in memory.

use super::pages::PageObject;
use super::stage::Stage;
use super::tables::TableObject;
use crate::model::{LockObject, LockRefObject, LockRefSettings, ObjectKind};
use lockyard::platform::{Cell, DataCell, HostWithSlots, U32, U64, Word};
use std::alloc::Layout;
use std::ptr::NonNull;

/// An object, as the interpreter sees it.
pub(super) enum Shared<H: HostWithSlots> {
    Lock(Box<dyn LockObject>),
    LockRef(Box<dyn LockRefObject>),
    Page(Box<dyn PageObject>),
    Word(NonNull<U64<H>>),
    Data(NonNull<Cell<H, u64>>),
    Table { table: Box<dyn TableObject>, entries: u64 },
}

/// An object in memory.
pub(super) struct Placed<H: HostWithSlots> {
    pub(super) name: String,
    pub(super) kind: ObjectKind,
    pub(super) shared: Shared<H>,
}

impl<H: HostWithSlots> Shared<H> {
    /// Makes an object in `memory`. Returns `None` if another resource that the object needs is not
    /// available.
    ///
    /// # Safety
    ///
    /// `memory` is large enough for the object, is used for nothing else, and outlives the object.
    pub(super) unsafe fn make<S: Stage<Host = H>>(
        kind: ObjectKind,
        memory: NonNull<u8>,
    ) -> Option<Self> {
        Some(match kind {
            // SAFETY: the caller upholds the contract of this function.
            ObjectKind::Lock { lock } => Shared::Lock(unsafe { lock.make_lock::<H>(memory) }),
            ObjectKind::Foreign { lock } => {
                assert!(S::FOREIGN_LOCKS, "`{}` cannot run on this stage", lock.name());
                // SAFETY: the caller upholds the contract of this function.
                Shared::Lock(unsafe { lock.make(memory) }?)
            }
            ObjectKind::LockRef { lock, pause, trywait, count } => {
                let settings = LockRefSettings { pause, trywait, count };
                // SAFETY: the caller upholds the contract of this function, and a lockref has the
                // size of its word.
                Shared::LockRef(unsafe { lock.make_lockref::<H>(settings, memory) })
            }
            ObjectKind::Page { page, count } => {
                // SAFETY: the caller upholds the contract of this function, and a count has the
                // size of its word.
                Shared::Page(unsafe { page.make::<H>(count, memory) })
            }
            ObjectKind::Word => {
                let word = memory.cast::<U64<H>>();
                // SAFETY: the caller upholds the contract of this function.
                unsafe { word.write(Word::new(0)) };
                Shared::Word(word)
            }
            ObjectKind::Data => {
                let cell = memory.cast::<Cell<H, u64>>();
                // SAFETY: the caller upholds the contract of this function.
                unsafe { cell.write(DataCell::new(0)) };
                Shared::Data(cell)
            }
            ObjectKind::Table { table } => {
                // SAFETY: the caller upholds the contract of this function.
                let made = unsafe { table.make::<H>(memory, S::GIVES_BACK) }?;
                Shared::Table { table: made, entries: table.entries() }
            }
        })
    }

    /// Returns the size and alignment of an object.
    pub(super) fn layout_of(kind: ObjectKind) -> Layout {
        match kind {
            ObjectKind::Lock { lock } => lock.layout::<H>(),
            ObjectKind::Foreign { lock } => lock.layout(),
            ObjectKind::LockRef { .. } | ObjectKind::Word => Layout::new::<U64<H>>(),
            ObjectKind::Page { .. } => Layout::new::<U32<H>>(),
            ObjectKind::Data => Layout::new::<Cell<H, u64>>(),
            ObjectKind::Table { table } => table.layout::<H>(),
        }
    }

    /// Address of the object.
    pub(super) fn address(&self) -> usize {
        match self {
            Shared::Lock(lock) => lock.address(),
            Shared::LockRef(lockref) => lockref.address(),
            Shared::Page(page) => page.address(),
            Shared::Word(word) => word.as_ptr() as usize,
            Shared::Data(cell) => cell.as_ptr() as usize,
            Shared::Table { table, .. } => table.address(),
        }
    }
}
