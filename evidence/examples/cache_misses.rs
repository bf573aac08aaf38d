//! A full cache of buffers on simulated machines: threads ask for buffers at random, and some of
//! them for new ones, each of which evicts another.
//!
//! ```text
//! cargo study cache_misses
//! ```
//!
//! It prints the operations of all threads in a thousand cycles. An operation gets a buffer, reads
//! its value, and drops it. Nothing else is done between operations.

use lockyard::platform::mix;
use lockyard_sim::{Machine, Placed, RunEnd, Simulated, Simulation};
use lockyard_tables::buffers::{BlockCache, Configuration, Key, Standard};

const BUFFERS: u64 = 2_000;
/// One buffer in this many is referenced all the time.
const PINNED: u64 = 8;
const OPERATIONS: u64 = 1_500;
const MACHINES: [&str; 2] = ["cascade-lake-2s24c2t", "genoa-9654-2s96c2t"];
const THREADS: [usize; 4] = [1, 4, 16, 48];

type Cache = BlockCache<u64, Standard, Simulated>;

fn get(cache: &Cache, key: Key) {
    let found = cache.get_or_fill(key, || Ok::<_, ()>(key.block)).expect("there is a place");
    assert_eq!(*found, key.block);
}

fn empty(threads: usize) -> Cache {
    let limit = BUFFERS + BUFFERS / 4 + 8 * threads as u64;
    Cache::with_configuration(Configuration::DEFAULT.with_limit(limit))
}

/// Fills a cache. Its last buffers are not asked for again.
fn fill(cache: &Cache) {
    for block in 0..BUFFERS {
        get(cache, Key::new(0, block));
    }
    for block in 0..BUFFERS {
        get(cache, Key::new(0, block));
        if block % PINNED == 0 {
            std::mem::forget(cache.look_up(Key::new(0, block)));
        }
    }
    for block in 0..BUFFERS {
        get(cache, Key::new(1, block));
    }
}

/// Performs the operations of a thread.
fn ask(cache: &Placed<Cache>, thread: u64, new_keys: u64) {
    for operation in 0..OPERATIONS {
        let number = thread << 32 | operation;
        let random = mix(number + 1);
        if random % 100 < new_keys {
            get(cache, Key::new(2, number));
        } else {
            get(cache, Key::new(0, (random >> 32) % BUFFERS));
        }
    }
}

/// Returns the operations of all threads in a thousand cycles.
fn rate(machine: &Machine, threads: usize, new_keys: u64) -> f64 {
    let mut simulation = Simulation::new(machine, 1);
    let cache = simulation.setup(|| empty(threads));
    let cache = simulation.place(cache, 64, 0);
    simulation.setup(|| fill(&cache));
    for thread in 0..threads {
        let cache = cache.clone();
        simulation.spawn(thread, move || ask(&cache, thread as u64, new_keys));
    }
    let begin = simulation.now();
    let end = simulation.run();
    assert!(matches!(end, RunEnd::Finished), "{end}");
    let cycles = simulation.now() - begin;
    simulation.setup(|| drop(cache));
    (OPERATIONS * threads as u64) as f64 / cycles as f64 * 1e3
}

fn main() {
    println!("operations of all threads in a thousand cycles\n");
    println!("| machine | new keys | {} |", THREADS.map(|n| n.to_string()).join(" | "));
    println!("| --- | --- |{}", " --- |".repeat(THREADS.len()));
    for name in MACHINES {
        let machine = Machine::shipped(name).expect("the machine is shipped");
        for new_keys in [0, 10] {
            let rates = THREADS.map(|n| format!("{:.2}", rate(&machine, n, new_keys)));
            println!("| {name} | {new_keys} % | {} |", rates.join(" | "));
        }
    }
}
