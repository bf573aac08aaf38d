//! The buffer cache with a million buffers: bytes per buffer, look-up times by index and switches,
//! and memory under churn.
//!
//! The example's global allocator counts the requested bytes. The operating system reports the
//! memory of the process. The churn is that of a cache that is too small: each wanted buffer is
//! new, and another is reclaimed for it. 36 million misses are an hour at 10,000 misses a second.
//!
//! ```text
//! cargo study buffers [CHURN]
//! ```

#[path = "support/clock.rs"]
mod clock;
#[path = "support/counting.rs"]
mod counting;

use clock::{cpu_time, per};
use counting::memory;
use lockyard::Native;
use lockyard_tables::buffers::{
    Before, BlockCache, Configuration, Hash256, Key, MoveToFront, OnMiss, Outside, ReferencedBit,
    Standard, Switches, TreePerGroup, WideHash, With,
};
use std::convert::Infallible;
use std::hint::black_box;

const MILLION: u64 = 1_000_000;

fn key(number: u64) -> Key {
    Key::new((number % 16) as u32, number / 16)
}

/// Fills a cache with `buffers` buffers without values; prints the bytes of each, and the time of a
/// look-up.
fn fill<S: Switches<Native>>(name: &str, buffers: u64) {
    let before = memory();
    let fresh = before.1 < 16 << 20;
    let cache = BlockCache::<(), S, Native>::new(Configuration::DEFAULT);
    let begin = cpu_time();
    for number in 0..buffers {
        assert!(cache.get_or_fill(key(number), || Ok::<_, Infallible>(())).is_ok());
    }
    let filling = cpu_time() - begin;
    let after = memory();

    let look_ups = 500_000;
    let begin = cpu_time();
    let mut number = 0u32;
    for _ in 0..look_ups {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let found = cache.look_up(black_box(key(u64::from(number >> 8) % buffers)));
        assert!(found.is_some());
    }
    let looking = cpu_time() - begin;
    let each = |bytes: usize| bytes as f64 / buffers as f64;
    // Memory that an earlier cache has freed still belongs to the process.
    let resident = if fresh {
        format!("{:.1}", each(after.1.saturating_sub(before.1)))
    } else {
        "-".to_owned()
    };
    println!(
        "{name:40} {buffers:>9} {:>9.1} {:>13.1} {resident:>13} {:>8.0} {:>10.0}",
        each(cache.bytes()),
        each(after.0 - before.0),
        per(filling, buffers),
        per(looking, look_ups),
    );
    assert_eq!(cache.len() as u64, buffers);
}

/// Moves `churn` buffers through a cache for a million; prints the memory at ten moments.
fn churn(churn: u64) {
    let cache = lockyard_tables::BlockCache::<u64>::new(Configuration::DEFAULT.with_limit(MILLION));
    let mut most_waiting = 0;
    println!(
        "{:>12} {:>10} {:>14} {:>12} {:>8}",
        "came", "there", "requested, B", "resident, B", "waiting"
    );
    let begin = cpu_time();
    for number in 0..churn {
        let got = cache.get_or_fill(key(number), || Ok::<_, Infallible>(number));
        assert!(got.is_ok(), "there is memory, and one can be reclaimed");
        if number % 1024 == 0 {
            most_waiting = most_waiting.max(cache.waiting());
        }
        if number % (churn / 10).max(1) == 0 || number + 1 == churn {
            let (requested, resident) = memory();
            println!(
                "{number:>12} {:>10} {requested:>14} {resident:>12} {:>8}",
                cache.len(),
                cache.waiting()
            );
        }
    }
    println!(
        "{:.0} ns for each, from its miss to its reclaim; at most {most_waiting} buffers waited",
        per(cpu_time() - begin, churn)
    );
    assert_eq!(cache.len() as u64, churn.min(MILLION));
}

fn main() {
    let argument = std::env::args().nth(1);
    let number = argument.as_deref().map_or(Ok(36_000_000), str::parse::<u64>);
    let Some(number) = number.ok().filter(|number| (1..=1_000_000_000).contains(number)) else {
        eprintln!("buffers: CHURN is a whole number from 1 to 1000000000");
        std::process::exit(2);
    };
    println!("buffers without a value; bytes, and nanoseconds of CPU time, of each; one thread\n");
    println!(
        "{:40} {:>9} {:>9} {:>13} {:>13} {:>8} {:>10}",
        "cache", "buffers", "stated, B", "requested, B", "resident, B", "miss ns", "look up ns"
    );
    fill::<Standard>("the default", MILLION);
    fill::<With<OnMiss, Outside, MoveToFront, WideHash>>("move-to-front", MILLION);
    fill::<With<OnMiss, Outside, ReferencedBit, TreePerGroup>>(
        "tree-per-group, 16 groups",
        MILLION,
    );
    fill::<Standard>("the default", 45_000);
    fill::<With<OnMiss, Outside, ReferencedBit, Hash256>>("hash-256", 45_000);
    fill::<Before>("hash-256 and all others as before", 45_000);
    println!("\nchurn of {number} buffers in a cache for a million");
    churn(number);
}
