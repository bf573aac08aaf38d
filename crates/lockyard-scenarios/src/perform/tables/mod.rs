//! Tables as objects of scenarios: the library's tables, made in place and used by steps.
//!
//! A kind is one file, and a line in the list at the end of this one. What scripts may set of it is
//! a row in `model/table_kinds.rs`. Tables are laid out and filled before tasks run, on a simulated
//! machine outside simulated time.

mod buffers;
mod connections;
mod id_table;
mod statistics;
mod table_object;
mod tally;
mod variant;

pub(super) use table_object::{Of, TableObject};

use crate::model::{Table, TableKind};
use lockyard::platform::HostWithSlots;
use std::alloc::Layout;
use std::ptr::NonNull;
use table_object::MakeTable;

macro_rules! tables {
    ($($kind:ident: $made:ty),* $(,)?) => {
        impl Table {
            /// The layout of what lies in the object's line.
            pub(super) fn layout<H: HostWithSlots>(&self) -> Layout {
                match self.table_kind() {
                    $(TableKind::$kind => <$made>::layout::<H>(self),)*
                }
            }

            /// Makes the table in `memory`, and fills it; `None` if the host has no memory. With
            /// `drops` its memory is given back when the object is dropped.
            ///
            /// # Safety
            ///
            /// `memory` is valid for the layout, is used for nothing else, and outlives the object.
            pub(super) unsafe fn make<H: HostWithSlots>(
                &self,
                memory: NonNull<u8>,
                drops: bool,
            ) -> Option<Box<dyn TableObject>> {
                match self.table_kind() {
                    $(TableKind::$kind => {
                        // SAFETY: the caller's promise; the layout is this kind's.
                        unsafe { <$made>::make::<H>(self, memory, drops) }
                    })*
                }
            }
        }
    };
}

tables! {
    IdTable: id_table::Identifiers,
    Statistics: statistics::Records,
    ConnectionTable: connections::Connections,
    BufferCache: buffers::Buffers,
}
