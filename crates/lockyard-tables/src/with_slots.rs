//! Aliases at the crate's root. They use the native host, which has slots with the feature `std`.
//!
//! Without `std` these aliases do not exist. [`on`] has each of them for a host of your own.

use crate::{Counts, on};
use lockyard::{Native, NoContext};

/// Statistics of one object, with a record for each NUMA node that updates it: see
/// [`statistics`](crate::statistics).
///
/// For a host of your own, or with a context: [`on::Statistics`].
pub type Statistics<R = Counts> = on::Statistics<Native, NoContext, R>;
/// Statistics of one object, with words for each thread that updates it. Several times as fast, for
/// counters that need not belong together.
///
/// For a host of your own, or with a context: [`on::ThreadStatistics`].
pub type ThreadStatistics<R = Counts> = on::ThreadStatistics<Native, NoContext, R>;

/// Objects that are found by handles with generations, and read without a lock: see
/// [`handle_table`](crate::handle_table).
///
/// For a host of your own, or with a context: [`on::HandleTable`].
pub type HandleTable<T> = on::HandleTable<T, Native>;
/// A reader's reference to an object of a [`HandleTable`].
pub type HandleRef<'t, T> = on::HandleRef<'t, T, Native>;
/// Objects that are found by handles with generations, and that one thread has at a time: see
/// [`handle_table`](crate::handle_table).
///
/// For a host of your own, or with a context: [`on::LockedHandleTable`].
pub type LockedHandleTable<T> = on::LockedHandleTable<T, Native>;
/// An object of a [`LockedHandleTable`], locked.
pub type HandleEntry<'t, T> = on::HandleEntry<'t, T, Native>;

/// Identifiers for objects, looked up without a lock of the table: see
/// [`id_table`](crate::id_table).
///
/// For a host of your own, or with a context: [`on::IdTable`].
pub type IdTable<T> = on::IdTable<T, Native>;
/// An object of an [`IdTable`], locked.
pub type IdEntry<'t, T> = on::IdEntry<'t, T, Native>;

/// A table with any keys, looked up without a lock: see [`connections`](crate::connections).
///
/// For a host of your own, or with a context: [`on::Connections`].
pub type Connections<K, V, S = crate::connections::Seed> = on::Connections<K, V, Native, S>;
/// A reference to an entry of a [`Connections`].
pub type Held<'t, K, V, S = crate::connections::Seed> = on::Held<'t, K, V, Native, S>;

/// A table of connections, looked up without a lock: see [`connections`](crate::connections).
///
/// For a host of your own, or with a context: [`on::ConnectionTable`].
pub type ConnectionTable<T> = on::ConnectionTable<T, Native>;
/// A reference to a connection of a [`ConnectionTable`].
pub type Connection<'t, T> = on::Connection<'t, T, Native>;

/// A cache of buffers, looked up without a lock: see [`buffers`](crate::buffers).
///
/// For a hasher or a host of your own, or with a context: [`on::BufferCache`].
pub type BufferCache<K, T> = on::BufferCache<K, T, Native>;
/// A reference to a buffer of a [`BufferCache`].
pub type Buffer<'c, K, T> = on::Buffer<'c, K, T, Native>;
/// A cache of blocks of groups: see [`buffers`](crate::buffers).
///
/// For a host of your own, or with a context: [`on::BlockCache`].
pub type BlockCache<T> = on::BlockCache<T, Native>;
/// A reference to a buffer of a [`BlockCache`].
pub type Block<'c, T> = on::Block<'c, T, Native>;
