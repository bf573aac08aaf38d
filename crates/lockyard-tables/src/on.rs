//! The crate's types for a host of your own.
//!
//! The aliases at the crate's root use the host [`Native`](lockyard::Native), so only the value
//! type is left to choose. The aliases here also take a [host](lockyard::platform::Host) and a
//! [`Context`](lockyard::Context). A kernel can define its own aliases, each in one line:
//!
//! ```
//! use lockyard_tables::on;
//! # use lockyard::Native as Kernel;
//! # use lockyard::NoContext as InterruptsOff;
//! use lockyard_tables::connections::Bits;
//!
//! type IdTable<T> = on::IdTable<T, Kernel>;
//! type ConnectionTable<T> = on::ConnectionTable<T, Kernel, InterruptsOff>;
//!
//! static SESSIONS: IdTable<u32> = IdTable::new();
//! static FLOWS: ConnectionTable<u64> = ConnectionTable::new(Bits::DEFAULT);
//!
//! assert_eq!(SESSIONS.insert(7), Ok(0));
//! assert!(FLOWS.is_empty());
//! ```
//!
//! These aliases need a [host with slots](lockyard::platform::HostWithSlots). With the ticket lock,
//! connection tables and statistics need none. The types behind the aliases have a parameter for
//! every choice: [`connections::ConnectionTable`], [`statistics::Statistics`], and so on.

use crate::{Counts, buffers, connections, handle_table, id_table, statistics};
use lockyard::NoContext;
use lockyard::lock::{Adaptive, Queued};

/// [Statistics](statistics::Statistics) of records `R`, with a record for each node that updates,
/// on host `H`.
pub type Statistics<H, C = NoContext, R = Counts> =
    statistics::Statistics<statistics::PerNode, Queued, H, C, R>;
/// [Statistics](statistics::Statistics) of counters `R`, with words for each thread that updates,
/// on host `H`.
pub type ThreadStatistics<H, C = NoContext, R = Counts> =
    statistics::Statistics<statistics::PerThread, Queued, H, C, R>;

/// A [handle table](handle_table::HandleTable) whose objects many threads read at the same time
/// without a lock, on host `H`.
pub type HandleTable<T, H, C = NoContext> =
    handle_table::HandleTable<T, handle_table::Shared, H, C>;
/// A reader's reference to an object of a [`HandleTable`].
pub type HandleRef<'t, T, H, C = NoContext> = handle_table::Ref<'t, T, H, C>;
/// A [handle table](handle_table::HandleTable) whose objects one thread has at a time, behind a
/// lock that sleeps, on host `H`.
pub type LockedHandleTable<T, H, C = NoContext> =
    handle_table::HandleTable<T, handle_table::Exclusive, H, C>;
/// An object of a [`LockedHandleTable`], locked.
pub type HandleEntry<'t, T, H, C = NoContext> = handle_table::Entry<'t, T, Adaptive, H, C>;

/// An [identifier table](id_table::IdTable) whose look-ups take no lock of the table, on host `H`.
pub type IdTable<T, H, C = NoContext> = id_table::IdTable<T, id_table::Rcu, H, C>;
/// An object of an [`IdTable`], locked.
pub type IdEntry<'t, T, H, C = NoContext> = id_table::Entry<'t, T, id_table::Rcu, H, C>;

/// A [table](connections::Connections) with any keys, whose look-ups take no lock and read in
/// place, on host `H`. The default hasher is a random [`Seed`](connections::Seed).
pub type Connections<K, V, H, S = connections::Seed, C = NoContext> =
    connections::Connections<K, V, S, connections::InPlace, H, C>;
/// A reference to an entry of a [`Connections`].
pub type Held<'t, K, V, H, S = connections::Seed, C = NoContext> =
    connections::Held<'t, K, V, S, connections::InPlace, H, C>;

/// A [connection table](connections::ConnectionTable) whose look-ups take no lock, on host `H`.
pub type ConnectionTable<T, H, C = NoContext> =
    connections::ConnectionTable<T, connections::Rcu, H, C>;
/// A reference to a connection of a [`ConnectionTable`].
pub type Connection<'t, T, H, C = NoContext> =
    connections::Connection<'t, T, connections::Rcu, H, C>;

/// A [buffer cache](buffers::BufferCache) with the standard switches, on host `H`.
pub type BufferCache<K, T, H, B = crate::seed::Seed, C = NoContext> =
    buffers::BufferCache<K, T, B, buffers::Standard, H, C>;
/// A reference to a buffer of a [`BufferCache`].
pub type Buffer<'c, K, T, H, B = crate::seed::Seed, C = NoContext> =
    buffers::Buffer<'c, K, T, B, buffers::Standard, H, C>;
/// A [cache of blocks](buffers::BlockCache) with the standard switches, on host `H`.
pub type BlockCache<T, H, C = NoContext> = buffers::BlockCache<T, buffers::Standard, H, C>;
/// A reference to a buffer of a [`BlockCache`].
pub type Block<'c, T, H, C = NoContext> = buffers::Block<'c, T, buffers::Standard, H, C>;
