//! Alternatives to lockyard's tables, counters and reclamation. Each of them is a row, and so is
//! each of lockyard's own. One run measures all of them with the same loop.
//!
//! The rows of a [`Group`] perform the same task: they look a connection up and read it, count a
//! packet, and so on. Each row does it in its own way, through one of four small traits
//! ([`LookUp`], [`CacheHit`], [`Counter`], [`Reclaim`]). Its description says what it does in
//! addition to the others.
//!
//! Keys, values, their order, the number of changes, and the definition of a round are the same for
//! all. In the loop, every row compares each value that it reads with the expected one.
//!
//! To add your own, add its crate to this crate's dependencies, and a row to its group's file.
//! Nothing else names a row. The tests of this crate run every row.

mod caches;
mod connections;
mod counters;
mod ids;
mod look_up;
mod reclaim;
mod subject;
mod tally;
mod work;

pub use caches::CacheHit;
pub use counters::Counter;
pub use look_up::LookUp;
pub use reclaim::Reclaim;
pub use subject::{Group, Subject, SubjectRole, SubjectRow};
pub use work::{Done, Load, Stop, Worker};

/// The groups.
pub const GROUPS: &[Group] = &[
    Group {
        name: "id-read",
        operation: "find an object by its identifier and read a word of it, in place; a change is \
                    an insertion and a removal",
        reads: &[100, 99, 90],
        has_objects: true,
        rows: ids::READ,
    },
    Group {
        name: "id-lock",
        operation: "find an object by its identifier, get exclusive access to it, and add to a \
                    word of it; a change is an insertion and a removal",
        reads: &[100, 99, 90],
        has_objects: true,
        rows: ids::LOCK,
    },
    Group {
        name: "connection-read",
        operation: "find a connection by the tuple of a packet of either direction and read a \
                    word of it, in place; a change is an insertion and a removal",
        reads: &[100, 99, 90],
        has_objects: true,
        rows: connections::READ,
    },
    Group {
        name: "connection-hold",
        operation: "find a connection by the tuple of a packet of either direction, \
                    take a reference that outlives its removal, read a word of it, \
                    and drop the reference; a change is an insertion and a removal",
        reads: &[100, 99, 90],
        has_objects: true,
        rows: connections::HOLD,
    },
    Group {
        name: "cache-hit",
        operation: "take a reference to the buffer of a key, read a word of it, \
                    drop the reference; a change asks for a new key, \
                    so that a buffer is made and another one is evicted; \
                    the cache has room for a quarter more than the objects, \
                    every eighth of which is referenced all the time",
        reads: &[100, 99, 90],
        has_objects: true,
        rows: caches::ROWS,
    },
    Group {
        name: "counter",
        operation: "count a packet: packets, bytes, time of the last one, flags; the operations \
                    that read sum them up",
        reads: &[0, 1, 100],
        has_objects: false,
        rows: counters::ROWS,
    },
    Group {
        name: "reclaim",
        operation: "enter, follow a pointer, read a word, leave; \
                    a change replaces an object by a new one of 64 bytes and retires the old one",
        reads: &[100, 99, 90, 0],
        has_objects: false,
        rows: reclaim::ROWS,
    },
];
