//! A variant's objects in memory.

use super::inside::Inside;
use super::pages::PageObject;
use super::stage::Stage;
use super::tables::TableObject;
use crate::model::{LockObject, LockRefObject, LockRefSettings, ObjectKind};
use lockyard::platform::{Cell, DataCell, HostWithSlots, U32, U64, Word};
use std::alloc::Layout;
use std::ptr::NonNull;

/// An object, as the interpreter uses it.
pub(super) enum Shared<H: HostWithSlots> {
    Lock(Box<dyn LockObject>),
    LockRef(Box<dyn LockRefObject>),
    Page(Box<dyn PageObject>),
    Word(NonNull<U64<H>>),
    Words(Words<H>),
    Data(NonNull<Cell<H, u64>>),
    Table { table: Box<dyn TableObject>, entries: u64 },
}

/// An array of words, one in each line.
pub(super) struct Words<H: HostWithSlots> {
    first: NonNull<U64<H>>,
    pub(super) count: u32,
    /// Distance between two words in bytes.
    stride: usize,
}

impl<H: HostWithSlots> Words<H> {
    /// Returns a word of the array.
    pub(super) fn get(&self, index: u64) -> Option<&U64<H>> {
        if index >= u64::from(self.count) {
            return None;
        }
        // SAFETY: `Shared::make` wrote this many words at this distance, and they live as long as
        // `self` (`Prepared` frees the memory after its objects).
        Some(unsafe { self.first.byte_add(self.stride * index as usize).as_ref() })
    }
}

/// Returns the layout of the objects of one line, the offset of each, and the distance of an
/// array's words. Arrays of words have an element of each in each line. If these do not fit into
/// `line_bytes`, the distance is several lines.
pub(super) fn line_layout<H: HostWithSlots>(
    kinds: impl Iterator<Item = ObjectKind>,
    line_bytes: usize,
) -> Option<(Layout, Vec<usize>, usize)> {
    let mut line = Layout::from_size_align(0, line_bytes).ok()?;
    let mut offsets = Vec::new();
    let mut lines = 1;
    for kind in kinds {
        if let ObjectKind::Words { count, .. } = kind {
            lines = count as usize;
        }
        let (extended, offset) = line.extend(Shared::<H>::layout_of(kind)).ok()?;
        line = extended;
        offsets.push(offset);
    }
    let line = line.pad_to_align();
    // The parser lets arrays share a line only if they have the same number of words.
    let all = Layout::from_size_align(line.size().checked_mul(lines)?, line.align()).ok()?;
    Some((all, offsets, line.size()))
}

/// An object in memory.
pub(super) struct Placed<H: HostWithSlots> {
    pub(super) name: String,
    pub(super) kind: ObjectKind,
    pub(super) shared: Shared<H>,
    /// Tasks inside, if the object is a reader-writer lock.
    pub(super) inside: Inside,
}

impl<H: HostWithSlots> Shared<H> {
    /// Makes an object in `memory`. Returns `None` if another resource that the object needs is not
    /// available.
    ///
    /// # Safety
    ///
    /// `memory` must be large enough for the object, must be used for nothing else, and must
    /// outlive the object. For an array of words, the same must be true of the memory at each
    /// multiple of `stride` bytes after it.
    pub(super) unsafe fn make<S: Stage<Host = H>>(
        kind: ObjectKind,
        memory: NonNull<u8>,
        stride: usize,
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
            ObjectKind::Word { initial, .. } => {
                let word = memory.cast::<U64<H>>();
                // SAFETY: the caller upholds the contract of this function.
                unsafe { word.write(Word::new(initial)) };
                Shared::Word(word)
            }
            ObjectKind::Words { count, initial } => {
                let first = memory.cast::<U64<H>>();
                for index in 0..count as usize {
                    // SAFETY: the caller provides memory for a word at each multiple of the stride.
                    unsafe { first.byte_add(stride * index).write(Word::new(initial)) };
                }
                Shared::Words(Words { first, count, stride })
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

    /// Returns the size and alignment of an object, or of one element of an array.
    pub(super) fn layout_of(kind: ObjectKind) -> Layout {
        match kind {
            ObjectKind::Lock { lock } => lock.layout::<H>(),
            ObjectKind::Foreign { lock } => lock.layout(),
            ObjectKind::LockRef { .. } | ObjectKind::Word { .. } | ObjectKind::Words { .. } => {
                Layout::new::<U64<H>>()
            }
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
            Shared::Words(words) => words.first.as_ptr() as usize,
            Shared::Data(cell) => cell.as_ptr() as usize,
            Shared::Table { table, .. } => table.address(),
        }
    }

    /// Returns the number of bytes from the object's first to its last.
    pub(super) fn bytes(&self, kind: ObjectKind) -> usize {
        let each = Self::layout_of(kind).size();
        match self {
            Shared::Words(words) => words.stride * (words.count as usize - 1) + each,
            _ => each,
        }
    }
}
