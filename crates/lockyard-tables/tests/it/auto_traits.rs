//! Tables and handles that may be sent to another thread, and those that may be shared with one.
//!
//! The compiler makes all these checks. The tests execute nothing.

use lockyard::Context;
use lockyard::Native;
use lockyard::lock::Queued;
use lockyard_tables::buffers::{Block, BlockCache, GetError, Standard as Switches};
use lockyard_tables::connections::{self, Connection, ConnectionTable, Refused, Why};
use lockyard_tables::handle_table::{self, Exclusive, HandleTable};
use lockyard_tables::id_table::{self, IdTable, InsertError};
use lockyard_tables::statistics::{PerCpu, PerNode, PerThread, Shared, Statistics};
use lockyard_tables::{BufferCache, Connections, Held};
use lockyard_testing::{has, lacks};
use std::cell::Cell as NotShared;
use std::rc::Rc;

/// Values that may be only shared, or neither shared nor sent.
type SharedOnly = std::sync::MutexGuard<'static, u32>;
type Neither = Rc<u32>;

/// A context whose state can be neither sent nor shared.
struct Sticky;
impl Context for Sticky {
    type State = Rc<u32>;
    fn enter() -> Rc<u32> {
        Rc::new(0)
    }
    fn leave(_: Rc<u32>) {}
}

#[test]
fn tables_and_references_are_sent_and_shared() {
    has!(Send, Sync;
        Statistics<PerNode, Queued, Native>, Statistics<PerCpu, Queued, Native>,
        Statistics<Shared, Queued, Native>, Statistics<PerThread, Queued, Native>,
        HandleTable<NotShared<u32>, handle_table::Shared, Native>,
        HandleTable<NotShared<u32>, Exclusive<Queued>, Native>,
        IdTable<NotShared<u32>, id_table::Rcu, Native>,
        IdTable<NotShared<u32>, id_table::Locked, Native>,
        ConnectionTable<u32, connections::Rcu, Native>,
        Connection<'static, u32, connections::Rcu, Native>,
        Connections<String, u32>, Held<'static, String, u32>, BufferCache<String, u32>,
        BlockCache<u32, Switches, Native>, Block<'static, u32, Switches, Native>,
    );
}

/// Values that may not be sent cannot be named as values of a table: its bounds refuse them.
#[test]
fn each_variant_and_context_is_sent_and_shared() {
    has!(Send, Sync;
        IdTable<u32, id_table::Rcu, Native, Sticky>,
        IdTable<NotShared<u32>, id_table::Locked, Native, Sticky>,
        ConnectionTable<u32, connections::Locked, Native>,
        ConnectionTable<u32, connections::Rcu, Native, Sticky>,
        Connection<'static, u32, connections::Locked, Native>,
        Connection<'static, u32, connections::Rcu, Native, Sticky>,
        Refused<'static, u32, connections::Rcu, Native>,
        Why<'static, u32, connections::Rcu, Native>,
        BlockCache<u32, Switches, Native, Sticky>,
        Block<'static, u32, Switches, Native, Sticky>,
        Statistics<PerNode, Queued, Native, Sticky>, Statistics<Shared, Queued, Native, Sticky>,
    );
}

#[test]
fn an_error_is_as_what_it_returns() {
    has!(Send, Sync; InsertError<u32>, GetError<u32>);
    has!(Send, ; InsertError<NotShared<u32>>, GetError<NotShared<u32>>);
    has!(Sync, ; InsertError<SharedOnly>, GetError<SharedOnly>);
    lacks!(Send;
        InsertError<SharedOnly>, GetError<SharedOnly>, InsertError<Neither>, GetError<Neither>,
    );
    lacks!(Sync;
        InsertError<NotShared<u32>>, GetError<NotShared<u32>>, InsertError<Neither>,
        GetError<Neither>,
    );
}

#[test]
fn a_reader_stays_on_its_thread() {
    lacks!(Send; connections::Reader<'static, u32, u32, connections::Seed, Queued, Native>);
}

#[test]
fn an_entry_stays_on_its_thread() {
    lacks!(Send;
        id_table::Entry<'static, u32, id_table::Rcu, Native>,
        id_table::Entry<'static, NotShared<u32>, id_table::Rcu, Native>,
        id_table::Entry<'static, u32, id_table::Locked, Native>,
        id_table::Entry<'static, NotShared<u32>, id_table::Locked, Native>,
    );
    has!(Sync, ;
        id_table::Entry<'static, u32, id_table::Rcu, Native>,
        id_table::Entry<'static, u32, id_table::Locked, Native>,
    );
    lacks!(Send; handle_table::Ref<'static, u32, Native>);
    lacks!(Send; handle_table::Entry<'static, u32, Queued, Native>);
    lacks!(Sync; handle_table::Entry<'static, NotShared<u32>, Queued, Native>);
    // A shared entry gives access to `&T`.
    lacks!(Sync;
        id_table::Entry<'static, NotShared<u32>, id_table::Rcu, Native>,
        id_table::Entry<'static, NotShared<u32>, id_table::Locked, Native>,
    );
    // A shared guard would share the state of its context.
    lacks!(Sync; id_table::Entry<'static, u32, id_table::Rcu, Native, Sticky>);
}
