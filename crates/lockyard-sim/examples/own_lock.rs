//! Your own lock: written once, tried on this machine, and simulated on a server.
//!
//! ```text
//! cargo run --release -p lockyard-sim --example own_lock
//! ```
//!
//! The guide is `docs/use/own-lock.md`.

use lockyard::lane::Lane;
use lockyard::lock::{Algorithm, LaneLock, Queued, TestAndSet, Ticket};
use lockyard::platform::{Host, Int, Ordering};
use lockyard::{FourBytes, Native, RawSpinLock};
use lockyard_sim::{Machine, RunEnd, Simulated, Simulation, operation_done, stop_requested, work};
use std::sync::atomic::AtomicU64;

/// A test-and-set lock with back-off: a waiter that finds the lock held pauses before it looks
/// again, each time twice as long.
struct BackOff;

/// Maximum number of pauses between two polls.
const MOST_PAUSES: u32 = 64;

impl Algorithm for BackOff {
    type Token = ();
    type Width = FourBytes;

    fn is_held<B: Int>(bits: B) -> bool {
        bits.to_u64() & 1 != 0
    }
}

// SAFETY: bit 0 goes from 0 to 1 only by a read-modify-write that saw 0, so one thread at a time is
// past `lock`. Only that thread clears the bit. Every change of the word is a read-modify-write.
unsafe impl<H: Host> LaneLock<H> for BackOff {
    unsafe fn lock<L: Lane>(lane: L) {
        let mut pauses = 1;
        // SAFETY: the caller upholds the contract of `lock`, which includes that of `try_lock`.
        while unsafe { <Self as LaneLock<H>>::try_lock(lane) }.is_none() {
            for _ in 0..pauses {
                H::relax();
            }
            pauses = MOST_PAUSES.min(2 * pauses);
        }
    }

    unsafe fn try_lock<L: Lane>(lane: L) -> Option<()> {
        // Relaxed: only the read-modify-write that follows takes the lock.
        if Self::is_held(lane.load(Ordering::Relaxed)) {
            return None;
        }
        // Acquire: pairs with the release in `unlock`.
        let before = lane.fetch_or(L::Bits::truncate(1), Ordering::Acquire);
        (!Self::is_held(before)).then_some(())
    }

    unsafe fn unlock<L: Lane>(lane: L, (): ()) {
        // Release: pairs with the acquire of the next holder. While the lock is held, other threads
        // write only the 1 that is already there. So the holder is the only thread that changes the
        // byte.
        lane.store_lowest_byte(1, 0, Ordering::Release);
    }
}

/// Counts under the lock with four threads of this machine. Returns the count.
fn count_natively<K: LaneLock<Native>>() -> u64 {
    let lock = RawSpinLock::<K, Native>::new();
    let count = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    let held = lock.acquire();
                    // Two steps, so that a lock without mutual exclusion would lose updates.
                    let before = count.load(Ordering::Relaxed);
                    count.store(before + 1, Ordering::Relaxed);
                    // SAFETY: acquired above.
                    unsafe { lock.release(held) };
                }
            });
        }
    });
    count.into_inner()
}

/// Simulates `threads` threads that hold the lock for 50 ns and then work for 500 ns. Returns
/// operations per second.
fn simulate<K: LaneLock<Simulated>>(machine: &Machine, threads: usize) -> f64 {
    const SECONDS: f64 = 0.0005;
    let mut simulation = Simulation::new(machine, 1);
    let lock = simulation.place(RawSpinLock::<K, Simulated>::new(), 64, 0);
    let starts = simulation.random_starts(threads);
    let all_have_begun = starts.iter().copied().max().unwrap_or(0);
    for (place, start) in starts.into_iter().enumerate() {
        let lock = lock.clone();
        simulation.spawn_at(place, start, move || {
            while !stop_requested() {
                let held = lock.acquire();
                work(50.0);
                // SAFETY: acquired above.
                unsafe { lock.release(held) };
                work(500.0);
                operation_done();
            }
        });
    }
    let mut done_at = |moment| {
        let end = simulation.run_until(moment);
        assert!(matches!(end, RunEnd::TimeOver), "{end}");
        simulation.operations().iter().sum::<u64>()
    };
    let before = done_at(all_have_begun);
    let done = done_at(all_have_begun + machine.cycles(SECONDS * 1e9)) - before;
    simulation.request_stop();
    let end = simulation.run();
    assert!(matches!(end, RunEnd::Finished), "{end}");
    done as f64 / SECONDS
}

fn main() {
    println!("4 threads here counted {} of 40000", count_natively::<BackOff>());
    let machine = Machine::shipped("cascade-lake-2s24c2t").expect("it is shipped");
    println!("{}, million operations a second", machine.title());
    println!(
        "{:>8} {:>9} {:>13} {:>8} {:>8}",
        "threads", "back-off", "test-and-set", "ticket", "queued"
    );
    for threads in [1, 4, 8, 16, 24, 48] {
        println!(
            "{threads:8} {:9.2} {:13.2} {:8.2} {:8.2}",
            simulate::<BackOff>(&machine, threads) / 1e6,
            simulate::<TestAndSet>(&machine, threads) / 1e6,
            simulate::<Ticket>(&machine, threads) / 1e6,
            simulate::<Queued>(&machine, threads) / 1e6
        );
    }
}
