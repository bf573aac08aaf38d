//! The connection table with a million connections: bytes per connection, look-up times by number
//! of buckets, and memory under churn.
//!
//! The example's global allocator counts the requested bytes. The operating system reports the
//! memory of the process. The churn is that of a busy gateway. A connection expires after a million
//! others have come; a sweep examines a few buckets after every thousand. 36 million connections
//! are an hour at 10,000 new ones a second.
//!
//! ```text
//! cargo study connections [CHURN]
//! ```
//!
//! The environment variable `LOCKYARD_CONNECTIONS` holds settings of the table under churn, for
//! example `bits=16`. (A program can read its users' choices at start-up in this way. The compiled
//! default here is 20 bits, one bucket per connection.)

#[path = "support/clock.rs"]
mod clock;
#[path = "support/counting.rs"]
mod counting;

use clock::{cpu_time, per};
use counting::memory;
use lockyard::Native;
use lockyard_tables::connections::{
    Bits, ConnectionTable, Locked, LookUp, NEVER, Rcu, Settings, Tuple,
};
use std::hint::black_box;
use std::net::Ipv4Addr;

const CONNECTIONS: u32 = 1_000_000;

/// Returns the tuple of client connection `number` to one server.
fn tuple(number: u32) -> Tuple {
    let client = Ipv4Addr::from_bits(0x0a00_0000 | number >> 14);
    let server = Ipv4Addr::new(192, 0, 2, 7);
    let port = 1024 + (number & 0x3fff) as u16;
    Tuple { protocol: 6, source: (client.into(), port), destination: (server.into(), 443) }
}

/// Fills a table of 2^`bits` buckets with a million connections without values; prints the bytes of
/// each, and the time of a look-up.
fn fill<P: LookUp<Native>>(name: &str, bits: u32) {
    let bits = Bits::new(bits).expect("it is in range");
    let before = memory();
    let fresh = before.1 < 16 << 20;
    let table = ConnectionTable::<(), P>::with_bits(bits, None);
    let begin = cpu_time();
    for number in 0..CONNECTIONS {
        assert!(table.insert(&tuple(number), (), NEVER).is_ok(), "there is memory");
    }
    let inserting = cpu_time() - begin;
    let after = memory();

    // Looks up replies of connections from all over the table; fewer where chains are long.
    let look_ups = if bits.get() < 16 { 50_000 } else { 1_000_000 };
    let begin = cpu_time();
    let mut number = 0u32;
    for _ in 0..look_ups {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let found = table.look_up(black_box(&tuple((number >> 8) % CONNECTIONS).reversed()));
        assert!(found.is_some());
    }
    let looking = cpu_time() - begin;
    let each = |bytes: usize| bytes as f64 / f64::from(CONNECTIONS);
    // Memory that an earlier table has freed still belongs to the process.
    let resident = if fresh {
        format!("{:.1}", each(after.1.saturating_sub(before.1)))
    } else {
        "-".to_owned()
    };
    println!(
        "{name:8} {:>4} {:>9} {:>13.1} {resident:>13} {:>9.0} {:>9.0}",
        bits.get(),
        ConnectionTable::<(), P>::bytes_of_a_connection(),
        each(after.0 - before.0),
        per(inserting, u64::from(CONNECTIONS)),
        per(looking, look_ups),
    );
    assert_eq!(table.len(), CONNECTIONS as usize);
}

/// Moves `churn` connections through the table, a million at a time; prints the memory at ten
/// moments.
fn churn(churn: u32, settings: &Settings) {
    let table = lockyard_tables::ConnectionTable::<u64>::with_bits(
        Bits::for_connections(CONNECTIONS as usize),
        None,
    );
    table.apply(settings).expect("nothing was inserted");
    let sweep = (table.bits().buckets() / 256).max(1);
    let mut most_waiting = 0;
    println!(
        "{:>12} {:>10} {:>12} {:>14} {:>12} {:>8}",
        "came", "there", "expired", "requested, B", "resident, B", "waiting"
    );
    let begin = cpu_time();
    let mut expired = 0;
    for number in 0..churn {
        let now = u64::from(number);
        let new = table.insert(&tuple(number), now, now + u64::from(CONNECTIONS));
        assert!(new.is_ok(), "there is memory, and it is new");
        drop(new);
        if number % 1024 == 0 {
            expired += table.expire(now, sweep, |gone| assert!(*gone <= now));
            most_waiting = most_waiting.max(table.waiting());
        }
        if number % (churn / 10).max(1) == 0 || number + 1 == churn {
            let (requested, resident) = memory();
            println!(
                "{number:>12} {:>10} {expired:>12} {requested:>14} {resident:>12} {:>8}",
                table.len(),
                table.waiting()
            );
        }
    }
    println!(
        "{:.0} ns for each connection, from its insertion to its expiry; at most {most_waiting} \
         entries waited",
        per(cpu_time() - begin, u64::from(churn))
    );
    assert_eq!(table.len() + expired, churn as usize, "nothing is lost");
}

fn main() {
    let argument = std::env::args().nth(1);
    let number = argument.as_deref().map_or(Ok(36_000_000), str::parse::<u32>);
    // The client's part of the number has 24 bits, and the port 14.
    let Some(number) = number.ok().filter(|number| (1..=1_000_000_000).contains(number)) else {
        eprintln!("connections: CHURN is a whole number from 1 to 1000000000");
        std::process::exit(2);
    };
    let settings = Settings::from_environment("LOCKYARD_CONNECTIONS").unwrap_or_else(|wrong| {
        eprintln!("connections: {wrong}");
        std::process::exit(2);
    });
    println!(
        "{CONNECTIONS} connections without a value; bytes, and nanoseconds of CPU time, of each; \
         one thread\n"
    );
    println!(
        "{:8} {:>4} {:>9} {:>13} {:>13} {:>9} {:>9}",
        "look-up", "bits", "stated, B", "requested, B", "resident, B", "insert ns", "look up ns"
    );
    fill::<Rcu>("rcu", 20);
    fill::<Locked>("locked", 20);
    // Long chains: this takes 15 seconds.
    fill::<Rcu>("rcu", 12);
    fill::<Locked>("locked", 12);
    println!("\nchurn of {number} connections, a million at a time");
    churn(number, &settings);
}
