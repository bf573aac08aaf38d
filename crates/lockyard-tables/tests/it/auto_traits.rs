//! Tables and handles that may be sent to another thread, and those that may be shared with one.
//!
//! The compiler makes all these checks. The tests execute nothing.

use lockyard::Native;
use lockyard::lock::Queued;
use lockyard_tables::buffers::{Buffer, BufferCache, Standard as Switches};
use lockyard_tables::connections::{self, Connection, ConnectionTable};
use lockyard_tables::id_table::{self, IdTable};
use lockyard_tables::statistics::{PerCpu, PerNode, Shared, Statistics};
use std::cell::Cell as NotShared;

#[test]
fn tables_and_references_are_sent_and_shared() {
    has!(Send, Sync;
        Statistics<PerNode, Queued, Native>, Statistics<PerCpu, Queued, Native>,
        Statistics<Shared, Queued, Native>,
        IdTable<NotShared<u32>, id_table::Rcu, Native>,
        IdTable<NotShared<u32>, id_table::Locked, Native>,
        ConnectionTable<u32, connections::Rcu, Native>,
        Connection<'static, u32, connections::Rcu, Native>,
        BufferCache<u32, Switches, Native>, Buffer<'static, u32, Switches, Native>,
    );
}

#[test]
fn an_entry_stays_on_its_thread() {
    lacks!(Send; id_table::Entry<'static, u32, id_table::Rcu, Native>);
    // A shared entry gives access to `&T`.
    lacks!(Sync; id_table::Entry<'static, NotShared<u32>, id_table::Locked, Native>);
}
