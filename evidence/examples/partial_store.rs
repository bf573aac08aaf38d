//! The price of releasing a lock by a store to a part of its word.
//!
//! Such a lock is taken by a locked operation on the word, and released by a plain store to one
//! byte or half of the word. The store drains in the background. But a locked operation on the word
//! that follows immediately must wait for it: the processor cannot forward a store that covers only
//! a part of the bytes that are read.
//!
//! One thread takes and releases a lock in its cache, with varying amounts of work between two
//! pairs. It releases by the plain store, or by a read-modify-write of the word
//! (`Portable<Native>`). Each figure is the median of rounds that alternate within one run.
//!
//! ```text
//! cargo study partial_store
//! ```

#[path = "support/clock.rs"]
mod clock;

use lockyard::RawSpinLock;
use lockyard::lock::{LaneLock, Queued, TestAndSet, Ticket};
use lockyard::platform::{Host, Native, Portable};
use std::hint::black_box;

const ROUNDS: usize = 15;
const PAIRS: u64 = 1_000_000;
/// Numbers of iterations of an empty loop after each pair.
const BETWEEN: [u32; 5] = [0, 5, 20, 50, 100];

fn work(iterations: u32) {
    (0..iterations).for_each(|n| {
        black_box(n);
    });
}

/// Returns the nanoseconds per call, over a million calls.
fn turns(mut turn: impl FnMut()) -> f64 {
    let began = clock::cpu_time();
    (0..PAIRS).for_each(|_| turn());
    clock::per(clock::cpu_time() - began, PAIRS)
}

fn pairs<K: LaneLock<H>, H: Host>(between: u32) -> f64 {
    let lock = RawSpinLock::<K, H>::new();
    turns(|| {
        let held = black_box(&lock).acquire();
        // SAFETY: taken above.
        unsafe { lock.release(held) };
        work(between);
    })
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure<K: LaneLock<Native> + LaneLock<Portable<Native>>>(name: &str) {
    for between in BETWEEN {
        let mut figures: [Vec<f64>; 3] = Default::default();
        for _ in 0..ROUNDS {
            figures[0].push(turns(|| work(between)));
            figures[1].push(pairs::<K, Native>(between));
            figures[2].push(pairs::<K, Portable<Native>>(between));
        }
        let [alone, store, whole] = figures.map(|mut values| median(&mut values));
        println!("| {name} | {alone:.1} | {store:.1} | {whole:.1} | {:+.1} |", store - whole);
    }
}

fn main() {
    let forms = if cfg!(lockyard_portable) { ": both are the portable forms" } else { "" };
    println!("Nanoseconds for a pair and what is between it and the next{forms}.");
    println!(
        "| lock | without the pair | plain store of a part | read-modify-write | difference |"
    );
    println!("| --- | ---: | ---: | ---: | ---: |");
    measure::<Queued>("queued");
    measure::<Ticket>("ticket");
    measure::<TestAndSet>("test-and-set");
}
