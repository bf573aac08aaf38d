//! Threads that insert, change and remove objects of one identifier table, for a sanitizer. The
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

use lockyard_tables::IdTable;
use std::thread;

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
    println!("id table: {} additions", table.remove(shared).expect("it is there"));
}
