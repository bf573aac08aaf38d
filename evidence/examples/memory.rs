//! Memory of connections, identifiers and records of statistics, with a million of each, and again
//! after all were replaced.
//!
//! There are three figures: the bytes stated by the library, the bytes requested from the allocator
//! (exact, from a counting allocator), and the bytes seen by the operating system.
//!
//! ```text
//! cargo study memory
//! ```
//!
//! Resident bytes belong to the whole process. The example therefore measures each row in a
//! separate process, which it starts.

#[path = "support/counting.rs"]
mod counting;

use counting::memory;
use lockyard::Native;
use lockyard::lock::Queued;
use lockyard_tables::connections::{self, Bits, ConnectionTable, LookUp, NEVER, Tuple};
use lockyard_tables::handle_table::{Access, Exclusive, Handle, HandleTable, Shared};
use lockyard_tables::id_table::{self, IdTable};
use lockyard_tables::statistics::{PerCpu, PerNode, PerThread, Statistics};
use lockyard_tables::{Counts, statistics};
use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::process::{Command, ExitCode};

const MILLION: u32 = 1_000_000;

/// A row of the table: its name, and the function that measures it.
type Row = (&'static str, fn(&str));

const ROWS: [Row; 13] = [
    ("connection, rcu, no value", connection::<(), connections::Rcu>),
    ("connection, rcu, 64 bytes", connection::<[u64; 8], connections::Rcu>),
    ("connection, locked, no value", connection::<(), connections::Locked>),
    ("connection, locked, 64 bytes", connection::<[u64; 8], connections::Locked>),
    ("handle, shared, 8 bytes", handle::<Shared>),
    ("handle, exclusive, 8 bytes", handle::<Exclusive>),
    ("identifier, rcu, 8 bytes", identifier::<id_table::Rcu>),
    ("identifier, locked, 8 bytes", identifier::<id_table::Locked>),
    ("statistics, shared", record::<statistics::Shared, 1>),
    ("statistics, per-cpu<4>", record::<PerCpu<4>, 1>),
    ("statistics, per-thread, 1 updates", record::<PerThread, 1>),
    ("statistics, per-node<2>, 1 updates", record::<PerNode<2>, 1>),
    ("statistics, per-node<2>, 2 update", record::<PerNode<2>, 2>),
];

/// Prints the memory of a million objects, filled by `fill`, and all replaced once by `turn`.
fn row<T>(name: &str, stated: usize, fill: impl FnOnce() -> T, turn: impl FnOnce(&mut T)) {
    let before = memory();
    let mut all = fill();
    let full = memory();
    turn(&mut all);
    let later = memory();
    let each = |now: usize, before: usize| (now as f64 - before as f64) / f64::from(MILLION);
    println!(
        "{name:<36} {stated:>7} {:>10.2} {:>9.1} {:>14.2} {:>9.1}",
        each(full.0, before.0),
        each(full.1, before.1),
        each(later.0, before.0),
        each(later.1, before.1),
    );
}

/// Returns the tuple of client connection `number` to one server.
fn tuple(number: u32) -> Tuple {
    let client = Ipv4Addr::from_bits(0x0a00_0000 | number >> 14);
    let server = Ipv4Addr::new(192, 0, 2, 7);
    let port = 1024 + (number & 0x3fff) as u16;
    Tuple { protocol: 6, source: (client.into(), port), destination: (server.into(), 443) }
}

fn connection<T: Default + Send + Sync, P: LookUp<Native>>(name: &str) {
    type Table<T, P> = ConnectionTable<T, P>;
    let insert = |table: &Table<T, P>, number| {
        assert!(table.insert(&tuple(number), T::default(), NEVER).is_ok(), "there is memory");
    };
    let fill = || {
        let table = Table::<T, P>::with_bits(Bits::for_connections(MILLION as usize), None);
        (0..MILLION).for_each(|number| insert(&table, number));
        table
    };
    row(name, Table::<T, P>::bytes_of_a_connection(), fill, |table| {
        for number in 0..MILLION {
            assert!(table.remove(&tuple(number)).is_some(), "it is there");
            insert(table, MILLION + number);
        }
    });
}

/// A table of either access.
trait Removes: Access<Native> + Sized {
    fn remove(table: &HandleTable<u64, Self, Native>, handle: Handle) -> bool;
}

impl Removes for Shared {
    fn remove(table: &HandleTable<u64, Self, Native>, handle: Handle) -> bool {
        table.remove(handle)
    }
}

impl Removes for Exclusive {
    fn remove(table: &HandleTable<u64, Self, Native>, handle: Handle) -> bool {
        table.remove(handle).is_some()
    }
}

fn handle<A: Removes>(name: &str) {
    // The handles are not the table's memory. They are written once before it is counted.
    let mut handles: Vec<Option<Handle>> = Vec::with_capacity(MILLION as usize);
    handles.resize(MILLION as usize, Handle::from_bits(1 << 32));
    let handles = RefCell::new(handles);
    let fill = || {
        let table = HandleTable::<u64, A, Native>::new();
        for (handle, value) in handles.borrow_mut().iter_mut().zip(0..) {
            *handle = Some(table.insert(value).expect("there is memory"));
        }
        table
    };
    row(name, HandleTable::<u64, A, Native>::slot_bytes(), fill, |table| {
        for (handle, value) in handles.borrow_mut().iter_mut().zip(0..) {
            let old = handle.replace(table.insert(value).expect("there is memory"));
            assert!(old.is_some_and(|old| A::remove(table, old)), "it is there");
        }
    });
}

fn identifier<V: id_table::Variant>(name: &str) {
    let fill = || {
        let table = IdTable::<u64, V, Native>::new();
        for value in 0..MILLION {
            assert_eq!(table.insert(value.into()).ok(), Some(value), "there is memory");
        }
        table
    };
    row(name, IdTable::<u64, V, Native>::object_bytes(), fill, |table| {
        for id in 0..MILLION {
            let value = table.remove(id).expect("it is there");
            assert_eq!(table.insert(value).ok(), Some(id), "the only one that is free");
        }
    });
}

/// Measures objects with statistics that are updated by `NODES` nodes.
fn record<V: statistics::Variant, const NODES: usize>(name: &str) {
    let new = || {
        let new = Statistics::<V, Queued, Native>::new().expect("there is memory");
        for update in 0..2 * NODES {
            new.update_at(update % NODES, &Counts::packet(64, 1, 0));
        }
        if !V::TOGETHER {
            new.update(&Counts::packet(64, 1, 0)); // so that the thread has its words
        }
        new
    };
    let stated = new().bytes();
    let fill = || (0..MILLION).map(|_| new()).collect::<Vec<_>>();
    row(name, stated, fill, |all| all.iter_mut().for_each(|one| *one = new()));
}

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    if let Some(wanted) = argument {
        let Some((name, measure)) = ROWS.iter().find(|(name, _)| *name == wanted) else {
            let names: Vec<&str> = ROWS.iter().map(|(name, _)| *name).collect();
            eprintln!("memory: no row is called `{wanted}`; there are: {}", names.join("; "));
            return ExitCode::from(2);
        };
        measure(name);
        return ExitCode::SUCCESS;
    }
    println!("bytes of each of a million; then the same after each was replaced\n");
    println!(
        "{:<36} {:>7} {:>10} {:>9} {:>14} {:>9}",
        "", "stated", "requested", "resident", "requested then", "resident"
    );
    for (name, _) in ROWS {
        let run = std::env::current_exe().and_then(|me| Command::new(me).arg(name).status());
        match run {
            Ok(status) if status.success() => {}
            Ok(status) => eprintln!("memory: {name}: {status}"),
            Err(error) => eprintln!("memory: {name}: {error}"),
        }
    }
    ExitCode::SUCCESS
}
