//! The kinds of tables: the settings, the operations and the size of each.
//!
//! A new kind needs a row here, and a file in `perform/tables/` that makes and uses the table.

use super::table::{Allowed, Row, Setting, Table, TableKind, TableOperation};
use lockyard_tables::buffers::Groups;
use lockyard_tables::connections::Bits;

/// Maximum number of records of a flow. Each record is one line.
pub(crate) const MOST_RECORDS: usize = 256;

/// The kinds of tables.
const ROWS: [&Row; 5] = [&ID_TABLE, &HANDLE_TABLE, &STATISTICS, &CONNECTION_TABLE, &BUFFER_CACHE];

impl Table {
    /// The names of the kinds of tables.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        ROWS.iter().map(|row| row.name)
    }

    /// Returns a table of the kind with this name, with default settings. Returns `None` if there
    /// is no such kind.
    pub(crate) fn of_kind(name: &str) -> Option<Table> {
        ROWS.iter().find(|row| row.name == name).map(|row| Table::with_defaults(row))
    }
}

/// Number of objects in a table that finds objects by numbers.
const OBJECTS: Setting =
    Setting { name: "entries", allowed: Allowed::Numbers(1, 1 << 20), default: 1024 };
/// The operations of such a table.
const ON_OBJECTS: [TableOperation; 4] = [
    TableOperation::LookUp,
    TableOperation::Update,
    TableOperation::Insert,
    TableOperation::Remove,
];

/// Bytes of an object of an `id-table` plus its further allocations, rounded up.
const ID_BYTES: usize = 256;

const ID_TABLE: Row = Row {
    kind: TableKind::IdTable,
    name: "id-table",
    settings: &[
        Setting { name: "variant", allowed: Allowed::Names(&["rcu", "locked"]), default: 0 },
        OBJECTS,
    ],
    operations: &ON_OBJECTS,
    entries: |table| table.number("entries"),
    bytes: |table| table.number("entries") as usize * ID_BYTES,
};

/// Bytes of a slot with its object, rounded up, in pages of which half may be unused.
const HANDLE_BYTES: usize = 2 * 128;
/// Bytes of the shards, and of the slots of waiting removed objects (192 per shard), of free slots
/// (127) and of fresh slots (32).
const HANDLES_BYTES: usize = 4096 + 16 * (192 + 127 + 32) * HANDLE_BYTES;

const HANDLE_TABLE: Row = Row {
    kind: TableKind::HandleTable,
    name: "handle-table",
    settings: &[
        Setting { name: "access", allowed: Allowed::Names(&["shared", "exclusive"]), default: 0 },
        OBJECTS,
    ],
    operations: &ON_OBJECTS,
    entries: |table| table.number("entries"),
    bytes: |table| HANDLES_BYTES + table.number("entries") as usize * HANDLE_BYTES,
};

const STATISTICS: Row = Row {
    kind: TableKind::Statistics,
    name: "statistics",
    settings: &[
        Setting {
            name: "variant",
            allowed: Allowed::Names(&["per-node", "per-cpu", "shared"]),
            default: 0,
        },
        // Number of records of a flow with `per-cpu`.
        Setting { name: "cpus", allowed: Allowed::Names(&["16", "64", "256"]), default: 1 },
        Setting { name: "entries", allowed: Allowed::Numbers(1, 1 << 16), default: 1 },
    ],
    operations: &[
        TableOperation::Update,
        TableOperation::Read,
        TableOperation::Insert,
        TableOperation::Remove,
    ],
    entries: |table| table.number("entries"),
    bytes: |table| {
        let records = match (table.name("variant"), table.name("cpus")) {
            ("shared", _) => 1,
            ("per-node", _) => 8,
            (_, "16") => 16,
            (_, "64") => 64,
            _ => MOST_RECORDS,
        };
        table.entries() as usize * (records + 4) * 64
    },
};

/// Bytes of a connection, rounded up.
const CONNECTION_BYTES: usize = 128;
/// Bytes of a bucket, rounded up.
const BUCKET_BYTES: usize = 32;

const CONNECTION_TABLE: Row = Row {
    kind: TableKind::ConnectionTable,
    name: "connection-table",
    settings: &[
        Setting { name: "variant", allowed: Allowed::Names(&["rcu", "locked"]), default: 0 },
        Setting {
            name: "bits",
            allowed: Allowed::Numbers(Bits::MIN.get() as u64, Bits::MAX.get() as u64),
            default: Bits::DEFAULT.get() as u64,
        },
        Setting { name: "connections", allowed: Allowed::Numbers(1, 1 << 22), default: 1 << 16 },
    ],
    operations: &[TableOperation::LookUp, TableOperation::Insert, TableOperation::Remove],
    entries: |table| table.number("connections"),
    bytes: |table| {
        table.entries() as usize * CONNECTION_BYTES + (1 << table.number("bits")) * BUCKET_BYTES
    },
};

/// Bytes of a buffer plus its share of the chains, rounded up.
const BUFFER_BYTES: usize = 128;
/// Bytes of a shard.
const SHARD_BYTES: usize = 64;
/// Bytes that a cache needs once, regardless of its settings.
const CACHE_BYTES: usize = 32 << 10;

const BUFFER_CACHE: Row = Row {
    kind: TableKind::BufferCache,
    name: "buffer-cache",
    settings: &[
        Setting {
            name: "allocate",
            allowed: Allowed::Names(&["on-miss", "every-call"]),
            default: 0,
        },
        Setting {
            name: "promote",
            allowed: Allowed::Names(&["referenced-bit", "move-to-front"]),
            default: 0,
        },
        Setting {
            name: "index",
            allowed: Allowed::Names(&["wide-hash", "hash-256", "tree-per-group"]),
            default: 0,
        },
        Setting {
            name: "groups",
            allowed: Allowed::Numbers(Groups::MIN.get() as u64, Groups::MAX.get() as u64),
            default: Groups::DEFAULT.get() as u64,
        },
        Setting { name: "buffers", allowed: Allowed::Numbers(1, 1 << 22), default: 1 << 14 },
    ],
    operations: &[TableOperation::LookUp, TableOperation::Insert, TableOperation::Remove],
    entries: |table| table.number("buffers"),
    bytes: |table| {
        let shards = table.number("groups") as usize * SHARD_BYTES;
        table.entries() as usize * BUFFER_BYTES + shards + CACHE_BYTES
    },
};
