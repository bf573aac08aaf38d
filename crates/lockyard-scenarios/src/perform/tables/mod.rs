//! Tables as objects of scenarios. The library's tables are made in place, and steps use them.
//!
//! Each kind has a file, and a line in the list at the end of this file. A row in
//! `model/table_kinds.rs` has the settings that scripts may change. Tables are laid out and filled
//! before tasks run. On a simulated machine, this takes no simulated time.

mod buffers;
mod connections;
mod handle_table;
mod id_table;
mod objects;
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
            /// Returns the layout of the part of the table that is in the object's line.
            pub(super) fn layout<H: HostWithSlots>(&self) -> Layout {
                match self.table_kind() {
                    $(TableKind::$kind => <$made>::layout::<H>(self),)*
                }
            }

            /// Makes the table in `memory` and fills it. Returns `None` if the host has no memory.
            /// With `drops`, dropping the object frees the table's memory.
            ///
            /// # Safety
            ///
            /// `memory` must be valid for the layout, must be used for nothing else, and must
            /// outlive the object.
            pub(super) unsafe fn make<H: HostWithSlots>(
                &self,
                memory: NonNull<u8>,
                drops: bool,
            ) -> Option<Box<dyn TableObject>> {
                match self.table_kind() {
                    $(TableKind::$kind => {
                        // SAFETY: the caller upholds the contract of this function. The layout is
                        // that of this kind.
                        unsafe { <$made>::make::<H>(self, memory, drops) }
                    })*
                }
            }
        }
    };
}

tables! {
    IdTable: id_table::Identifiers,
    HandleTable: handle_table::Handles,
    Statistics: statistics::Records,
    ConnectionTable: connections::Connections,
    BufferCache: buffers::Buffers,
}
