//! Threads that insert, change and remove objects of an identifier table and of handle tables, and
//! count in words of their own, for a sanitizer. The
//! program is correct, so the sanitizer must report nothing.
//!
//! The example of the same name in `lockyard` covers the locks and the reclamation that a table
//! uses. It says which errors a sanitizer can see.
//!
//! ```text
//! RUSTFLAGS='--cfg lockyard_portable' cargo run -p lockyard-tables --example sanitized_tables
//! RUSTFLAGS=-Zsanitizer=thread cargo +nightly run -Zbuild-std --target x86_64-unknown-linux-gnu \
//!     -p lockyard-tables --example sanitized_tables
//! ```

use lockyard_tables::handle_table::Handle;
use lockyard_tables::id_table::InsertError;
use lockyard_tables::{Counts, HandleTable, IdTable, LockedHandleTable, ThreadStatistics};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: u64 = 3;
const ROUNDS: u32 = 2_000;

fn main() {
    let table = IdTable::new();
    let shared = table.insert(0).expect("there is memory");
    thread::scope(|scope| {
        for number in 0..THREADS {
            let table = &table;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    if let Some(mut entry) = table.lock(shared) {
                        *entry += 1;
                    }
                    let own = table.insert(number).expect("there is memory");
                    if let Some(mut entry) = table.lock((shared + round) % (own + 1)) {
                        *entry += 1;
                    }
                    assert!(table.remove(own).is_some(), "nobody else removes it");
                }
            });
        }
    });
    handles();
    println!("id table: {} additions", table.remove(shared).expect("it is there"));
}

/// Threads replace objects of each other's, which others read.
fn handles() {
    let table: HandleTable<Box<u64>> = HandleTable::with_limit(1_000);
    let locked: LockedHandleTable<u64> = LockedHandleTable::new();
    let counted = ThreadStatistics::new().expect("there is memory");
    let newest: [AtomicU64; 4] = Default::default();
    let shared = locked.insert(0).expect("there is memory");
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (table, locked, counted, newest) = (&table, &locked, &counted, &newest);
            scope.spawn(move || {
                for round in 0..u64::from(ROUNDS) {
                    let place = &newest[(number + round) as usize % newest.len()];
                    let new = insert(table, Box::new(round));
                    let old = Handle::from_bits(place.swap(new.to_bits(), Ordering::AcqRel));
                    if let Some(object) = old.and_then(|old| table.get(old)) {
                        assert!(**object < u64::from(ROUNDS) && object.remove());
                    }
                    *locked.lock(shared).expect("it is there") += 1;
                    let own = locked.insert(round).expect("there is memory");
                    assert_eq!(locked.remove(own), Some(round));
                    counted.update(&Counts::packet(1, round, 0));
                }
            });
        }
    });
    let additions = locked.remove(shared).expect("it is there");
    assert_eq!(counted.read().packets, additions);
    println!("handle tables: {} objects are left, {additions} additions", table.len());
}

/// Inserts an object. Removed objects keep their places until readers have left: a thread that is
/// stopped in a look-up makes others wait.
fn insert(table: &HandleTable<Box<u64>>, mut object: Box<u64>) -> Handle {
    let began = Instant::now();
    loop {
        match table.insert(object) {
            Ok(new) => return new,
            Err(InsertError::Exhausted(back)) => object = back,
            Err(error) => panic!("{error}"),
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no removed object gave its place back");
        thread::yield_now();
    }
}
