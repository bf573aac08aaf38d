//! Memory is steady: after any number of connections, identifiers and statistics that came and went, a table takes what its fullest moment
//! took, and what waits for readers stays below a bound that is stated. Exact, by a host that counts what it gives away.
//!
//! `cargo test --release -p lockyard --test it steady -- --include-ignored` turns a million over ten times, in about a minute of a CPU's
//! time; the runs that are always made do the same with fewer.

#![cfg(feature = "std")]

use lockyard::connections::{Bits, ConnectionTable, Locked, LookUp, NEVER, Rcu, Tuple};
use lockyard::id_table::{self, IdTable, Variant};
use lockyard::lock::Queued;
use lockyard::statistics::{PerNode, Statistics};
use lockyard::{Counts, NoContext};
use std::net::Ipv4Addr;

type Failing = crate::support::Failing<1>;

/// Objects that wait at most, of one slot, while readers leave: three epochs of 64 retirements.
const WAITING: u64 = 192;
/// Bytes of the reclamation records of a domain, for tests in which one thread enters: its slot may be any of the first 120.
const RECORDS: i64 = 120 * 64;

fn tuple(number: u32) -> Tuple {
    let client = Ipv4Addr::from_bits(0x0a00_0000 | number >> 14);
    let server = Ipv4Addr::new(192, 0, 2, 7);
    let port = 1024 + (number & 0x3fff) as u16;
    Tuple { protocol: 6, source: (client.into(), port), destination: (server.into(), 443) }
}

/// `there` connections at a time, turned over `times` times: each is found once by a reply, lives until so many others have come, and
/// expires in a sweep that goes round all buckets meanwhile.
fn connections<P: LookUp<Failing>>(there: u32, times: u32) {
    let bits = Bits::for_connections(there as usize);
    let before = Failing::bytes();
    let table = ConnectionTable::<u64, P, Failing>::with_bits(bits, None);
    let each = ConnectionTable::<u64, P, Failing>::bytes_of_a_connection() as i64;
    let (mut gone, mut most, mut most_waiting) = (0, 0, 0);
    // A sweep of a part of the table after each 1024, which comes round four times in a life.
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
        most = most.max(Failing::bytes() - before);
        most_waiting = most_waiting.max(table.waiting());
    }
    assert_eq!(table.len() + gone, (there * times) as usize, "nothing is lost");
    let said = table.bytes() as i64 - size_of_val(&table) as i64 + table.waiting() as i64 * each;
    let beside = Failing::bytes() - before - said;
    assert!((0..=RECORDS).contains(&beside), "{beside} bytes beside what the table says");
    // A life, and the quarter of one until the sweep comes by; entries that wait.
    let most_there = i64::from(there) * 5 / 4 + 2 * 1024 + WAITING as i64;
    let bound = most_there * each + 16 * bits.buckets() as i64 + 64 + RECORDS;
    println!(
        "{} connections, {there} at a time: at most {:.1} bytes for each of them, and {most_waiting} entries waited",
        there * times,
        most as f64 / f64::from(there)
    );
    assert!(most <= bound, "{most} bytes, more than {bound}");
    assert!(most_waiting <= WAITING, "{most_waiting} entries waited");
    assert_eq!(table.expire(NEVER - 1, usize::MAX, |_| ()) + gone, (there * times) as usize);
    drop(table);
}

/// `there` objects at a time, each replaced `times` times, in an order that spreads over the table.
fn identifiers<V: Variant>(there: u32, times: u32) {
    let before = Failing::bytes();
    let table = IdTable::<u64, V, Failing>::new();
    for id in 0..there {
        assert_eq!(table.insert(u64::from(id)).unwrap(), id);
    }
    let full = Failing::bytes() - before;
    let object = IdTable::<u64, V, Failing>::object_bytes() as i64;
    let (mut most, mut most_waiting) = (0, 0);
    let mut id = 0;
    for _ in 0..there * times {
        // An odd step visits all of a number that it has no part with.
        id = (id + 611_953) % there;
        let value = table.remove(id).expect("it is there");
        assert_eq!(table.insert(value + 1).unwrap(), id, "the only one that is free");
        most = most.max(Failing::bytes() - before);
        most_waiting = most_waiting.max(table.domain().pending());
    }
    println!(
        "{} objects, {there} at a time: {:.1} bytes for each of them, at most {:.1}, and {most_waiting} waited",
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

/// `flows` objects with statistics, each of which counts from one node, and every fourth from three.
fn statistics(flows: u32, times: u32) {
    type Flow = Statistics<PerNode<8>, Queued, Failing, NoContext>;
    let before = Failing::bytes();
    let mut all: Vec<Flow> = (0..flows).map(|_| Flow::new().unwrap()).collect();
    assert_eq!(Failing::bytes() - before, i64::from(flows) * 64);
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
        most = most.max(Failing::bytes() - before);
    }
    // Three quarters have one record, a quarter has three.
    let quarter = i64::from(flows.div_ceil(4));
    assert_eq!(most, 64 * (i64::from(flows) - quarter + 3 * quarter));
    println!("{} statistics, {flows} at a time: {} bytes of records at most", flows * times, most);
}

/// Debug builds do less.
const MANY: u32 = if cfg!(debug_assertions) { 5_000 } else { 40_000 };

#[test]
fn a_connection_table_that_is_turned_over_ten_times_takes_what_it_took() {
    Failing::counting(|| connections::<Rcu>(MANY, 10));
    Failing::counting(|| connections::<Locked>(MANY, 10));
}

#[test]
fn an_identifier_table_that_is_turned_over_ten_times_takes_what_it_took() {
    Failing::counting(|| identifiers::<id_table::Rcu>(MANY, 10));
    Failing::counting(|| identifiers::<id_table::Locked>(MANY, 10));
}

#[test]
fn statistics_that_come_and_go_leave_nothing_behind() {
    Failing::counting(|| statistics(MANY / 10, 10));
}

#[test]
#[ignore = "a minute in a release build"]
fn a_million_of_each_turned_over_ten_times_take_what_they_took() {
    Failing::counting(|| connections::<Rcu>(1_000_000, 10));
    Failing::counting(|| identifiers::<id_table::Rcu>(1_000_000, 10));
    Failing::counting(|| statistics(1_000_000, 10));
}
