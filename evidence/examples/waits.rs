//! The number of times that a thread is passed, and its waiting times, while other threads take the
//! same lock repeatedly.
//!
//! The queued lock whose waiters park lets newcomers take it before waiting threads, up to a bound
//! (`lockyard::lock::pv_queued`). This example shows how much of the bound is used. One thread
//! sleeps for 0.7 ms and takes the lock, 1,500 times. Meanwhile 1, 3 or 15 other threads do nothing
//! but take the lock, for a few dozen instructions. `passes` is the number of acquisitions by other
//! threads from the call until the lock is taken. The ticket lock whose waiters park serves in
//! order, and is measured for comparison.
//!
//! ```text
//! cargo study waits
//! ```

use lock_api::{Mutex, RawMutex};
use lockyard::{PvQSpinLock, PvTicketLock};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const ROUNDS: usize = 1_500;
const PAUSE: Duration = Duration::from_micros(700);
const WORK: u32 = 60;

/// Returns the median, the 99th percentile, and the maximum.
fn spread<T: Ord + Copy>(mut values: Vec<T>) -> [T; 3] {
    values.sort();
    [values[values.len() / 2], values[values.len() * 99 / 100], values[values.len() - 1]]
}

fn measure<R: RawMutex + Sync>(name: &str, lock: &Mutex<R, ()>, others: usize) {
    let (stop, taken) = (AtomicBool::new(false), AtomicU64::new(0));
    let (passes, waits) = thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    let guard = lock.lock();
                    // Relaxed: the lock orders it.
                    taken.store(taken.load(Relaxed) + 1, Relaxed);
                    (0..WORK).for_each(|n| {
                        black_box(n);
                    });
                    drop(guard);
                }
            });
        }
        let (mut passes, mut waits) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            thread::sleep(PAUSE);
            // The count includes a few acquisitions before this thread joins the queue.
            let (before, began) = (taken.load(Relaxed), Instant::now());
            let guard = lock.lock();
            waits.push(began.elapsed());
            passes.push(taken.load(Relaxed) - before);
            drop(guard);
        }
        stop.store(true, Relaxed);
        (spread(passes), spread(waits))
    });
    let waits = waits.map(|wait| format!("{:.3}", wait.as_secs_f64() * 1e3));
    println!(
        "| {name} | {others} | {} | {} | {} | {} | {} | {} |",
        passes[0], passes[1], passes[2], waits[0], waits[1], waits[2]
    );
}

fn main() {
    println!("| lock | others | passes: median | p99 | most | wait, ms: median | p99 | longest |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for others in [1, 3, 15] {
        measure("pv-queued", &PvQSpinLock::<()>::new(()), others);
        measure("pv-ticket", &PvTicketLock::<()>::new(()), others);
    }
}
