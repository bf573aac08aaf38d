//! Memory stays steady for any number of connections, identifiers and statistics that come and go.
//!
//! A table takes as much memory as at its fullest moment, and the memory that waits for readers
//! stays below a stated bound. The figures are exact: a host counts the bytes that it allocates.
//!
//! `cargo test --release -p lockyard-tables --test it steady -- --include-ignored` replaces a
//! million objects ten times, in about a minute of CPU time. The other tests do the same with
//! fewer.

use lockyard::NoContext;
use lockyard::lock::Queued;
use lockyard_tables::Counts;
use lockyard_tables::connections::{Bits, ConnectionTable, Locked, LookUp, NEVER, Rcu, Tuple};
use lockyard_tables::handle_table::{Access, Exclusive, Handle, HandleTable, Shared};
use lockyard_tables::id_table::{self, IdTable, Variant};
use lockyard_tables::statistics::{PerNode, Statistics};
use std::net::Ipv4Addr;

type Counted = crate::support::Counted<1>;

/// Maximum number of objects per slot that wait for readers to leave: three epochs of 64
/// retirements.
const WAITING: u64 = 192;
/// Bytes of the reclamation records of a domain, for tests where one thread enters. Its slot may
/// be any of the first 120.
const RECORDS: i64 = 120 * 64;
/// Bytes of the shards of a handle table.
const SHARDS: i64 = 2112;

fn tuple(number: u32) -> Tuple {
    let client = Ipv4Addr::from_bits(0x0a00_0000 | number >> 14);
    let server = Ipv4Addr::new(192, 0, 2, 7);
    let port = 1024 + (number & 0x3fff) as u16;
    Tuple { protocol: 6, source: (client.into(), port), destination: (server.into(), 443) }
}

/// Replaces `there` connections `times` times. A reply finds each connection once. A connection
/// lives until `there` others have come. It then expires in a sweep, which visits all buckets in
/// that time.
fn connections<P: LookUp<Counted>>(there: u32, times: u32) {
    let bits = Bits::for_connections(there as usize);
    let before = Counted::bytes();
    let table = ConnectionTable::<u64, P, Counted>::with_bits(bits, None);
    let each = ConnectionTable::<u64, P, Counted>::bytes_of_a_connection() as i64;
    let (mut gone, mut most, mut most_waiting) = (0, 0, 0);
    // After every 1024 connections a part of the table is swept. The sweep visits each bucket four
    // times in a connection's life.
    let sweep = (bits.buckets() * 4096 / there as usize).max(1);
    for number in 0..there * times {
        let now = u64::from(number);
        let new = table.insert(&tuple(number), now, now + u64::from(there));
        assert!(new.is_ok(), "{number} is new");
        drop(new);
        let (found, _) =
            table.look_up(&tuple(number - number % 7).reversed()).expect("it is there");
        assert_eq!(*found, u64::from(number - number % 7));
        drop(found);
        if number % 1024 == 0 {
            gone += table
                .expire(now, sweep, |connection| assert!(*connection + u64::from(there) <= now));
        }
        most = most.max(Counted::bytes() - before);
        most_waiting = most_waiting.max(table.waiting());
    }
    assert_eq!(table.len() + gone, (there * times) as usize, "nothing is lost");
    let said = table.bytes() as i64 - size_of_val(&table) as i64 + table.waiting() as i64 * each;
    let beside = Counted::bytes() - before - said;
    assert!((0..=RECORDS).contains(&beside), "{beside} bytes beside what the table says");
    // One life, a quarter of a life until the next sweep, and entries that wait.
    let most_there = i64::from(there) * 5 / 4 + 2 * 1024 + WAITING as i64;
    let bound = most_there * each + 16 * bits.buckets() as i64 + 64 + RECORDS;
    println!(
        "{} connections, {there} at a time: at most {:.1} bytes for each of them, and \
         {most_waiting} entries waited",
        there * times,
        most as f64 / f64::from(there)
    );
    assert!(most <= bound, "{most} bytes, more than {bound}");
    assert!(most_waiting <= WAITING, "{most_waiting} entries waited");
    assert_eq!(table.expire(NEVER - 1, usize::MAX, |_| ()) + gone, (there * times) as usize);
    drop(table);
}

/// Replaces each of `there` objects `times` times, in an order that jumps across the table.
fn identifiers<V: Variant>(there: u32, times: u32) {
    let before = Counted::bytes();
    let table = IdTable::<u64, V, Counted>::new();
    for id in 0..there {
        assert_eq!(table.insert(u64::from(id)).unwrap(), id);
    }
    let full = Counted::bytes() - before;
    let object = IdTable::<u64, V, Counted>::object_bytes() as i64;
    let (mut most, mut most_waiting) = (0, 0);
    let mut id = 0;
    for _ in 0..there * times {
        // A step without a common factor with `there` visits all identifiers.
        id = (id + 611_953) % there;
        let value = table.remove(id).expect("it is there");
        assert_eq!(table.insert(value + 1).unwrap(), id, "the only one that is free");
        most = most.max(Counted::bytes() - before);
        most_waiting = most_waiting.max(table.domain().pending());
    }
    println!(
        "{} objects, {there} at a time: {:.1} bytes for each of them, at most {:.1}, and \
         {most_waiting} waited",
        there * times,
        full as f64 / f64::from(there),
        most as f64 / f64::from(there)
    );
    assert!(most_waiting <= WAITING, "{most_waiting} objects waited");
    let bound = full + RECORDS + WAITING as i64 * object;
    assert!(most <= bound, "{most} bytes, more than {bound}");
    for id in 0..there {
        assert_eq!(table.remove(id), Some(u64::from(id) + u64::from(times)), "none is lost");
    }
}

/// Replaces each of `there` objects `times` times, in an order that jumps across the table.
fn handles<A: Access<Counted>>(
    there: u32,
    times: u32,
    remove: fn(&HandleTable<u64, A, Counted>, Handle) -> bool,
) {
    let before = Counted::bytes();
    let table = HandleTable::<u64, A, Counted>::new();
    let mut all: Vec<Handle> = (0..there).map(|n| table.insert(u64::from(n)).unwrap()).collect();
    let full = table.capacity();
    let (mut most, mut most_waiting, mut at) = (0, 0, 0);
    for _ in 0..there * times {
        at = (at + 611_953) % there;
        assert!(remove(&table, all[at as usize]), "it is there");
        all[at as usize] = table.insert(u64::from(at)).unwrap();
        most = most.max(Counted::bytes() - before);
        most_waiting = most_waiting.max(table.usage().waiting);
    }
    println!(
        "{} objects, {there} at a time: at most {:.1} bytes for each of them, and {most_waiting} \
         waited",
        there * times,
        most as f64 / f64::from(there)
    );
    assert!(most_waiting as u64 <= WAITING, "{most_waiting} objects waited");
    assert!(table.capacity() <= 2 * full + 16, "{} after {full}", table.capacity());
    let slots = (table.capacity() * HandleTable::<u64, A, Counted>::slot_bytes()) as i64;
    assert!(most <= slots + SHARDS + RECORDS, "{most} bytes");
    assert!(all.iter().all(|&handle| remove(&table, handle)), "none is lost");
    assert_eq!((table.len(), table.collect()), (0, 0));
}

/// Replaces `flows` objects with statistics. Each counts from one node, and every fourth from
/// three.
fn statistics(flows: u32, times: u32) {
    type Flow = Statistics<PerNode<8>, Queued, Counted, NoContext>;
    let before = Counted::bytes();
    let mut all: Vec<Flow> = (0..flows).map(|_| Flow::new().unwrap()).collect();
    assert_eq!(Counted::bytes() - before, i64::from(flows) * 64);
    let mut most = 0;
    for round in 0..times {
        for (number, flow) in all.iter_mut().enumerate() {
            *flow = Flow::new().unwrap();
            for packet in 0..12 {
                let node = if number % 4 == 0 { packet % 3 } else { 1 };
                flow.update_at(node, &Counts::packet(64, u64::from(round), 0));
            }
            let records = if number % 4 == 0 { 3 } else { 1 };
            assert_eq!((flow.records(), flow.read().packets), (records, 12));
            assert_eq!(flow.bytes(), size_of::<Flow>() + 64 * records);
        }
        most = most.max(Counted::bytes() - before);
    }
    // Three quarters have one record, and a quarter has three.
    let quarter = i64::from(flows.div_ceil(4));
    assert_eq!(most, 64 * (i64::from(flows) - quarter + 3 * quarter));
    println!("{} statistics, {flows} at a time: {} bytes of records at most", flows * times, most);
}

/// Debug builds do less.
const MANY: u32 = if cfg!(debug_assertions) { 5_000 } else { 40_000 };

#[test]
fn a_connection_table_that_is_turned_over_ten_times_takes_what_it_took() {
    Counted::counting(|| connections::<Rcu>(MANY, 10));
    Counted::counting(|| connections::<Locked>(MANY, 10));
}

#[test]
fn an_identifier_table_that_is_turned_over_ten_times_takes_what_it_took() {
    Counted::counting(|| identifiers::<id_table::Rcu>(MANY, 10));
    Counted::counting(|| identifiers::<id_table::Locked>(MANY, 10));
}

#[test]
fn a_handle_table_that_is_turned_over_ten_times_takes_what_it_took() {
    Counted::counting(|| handles::<Shared>(MANY, 10, |table, handle| table.remove(handle)));
    Counted::counting(|| {
        handles::<Exclusive>(MANY, 10, |table, handle| table.remove(handle).is_some());
    });
}

#[test]
fn statistics_that_come_and_go_leave_nothing_behind() {
    Counted::counting(|| statistics(MANY / 10, 10));
}

#[test]
#[ignore = "a minute in a release build"]
fn a_million_of_each_turned_over_ten_times_take_what_they_took() {
    Counted::counting(|| connections::<Rcu>(1_000_000, 10));
    Counted::counting(|| identifiers::<id_table::Rcu>(1_000_000, 10));
    Counted::counting(|| statistics(1_000_000, 10));
}
