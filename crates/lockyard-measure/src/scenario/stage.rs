//! Stage for scenarios on this host: the native platform, with a calibrated loop as local work.

use hdrhistogram::Histogram;
use lockyard::Native;
use lockyard_scenarios::Stage;
use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Stage on this host. Only one run at a time is possible, because the stop flag is global.
#[derive(Debug)]
pub struct OnHost(());

/// Stop flag in its own line, because every task reads it between operations.
#[repr(align(128))]
struct Flag(AtomicBool);

static STOP: Flag = Flag(AtomicBool::new(false));

/// Iterations of [`spin`] per nanosecond.
static ROUNDS_PER_NS: OnceLock<f64> = OnceLock::new();

/// Sets or clears the stop flag.
pub(crate) fn set_stop(stop: bool) {
    STOP.0.store(stop, Ordering::Relaxed);
}

std::thread_local! {
    /// State at which the dependency chain of the thread's last work ended.
    static CHAIN: Cell<u64> = const { Cell::new(1) };
}

/// Runs a chain of dependent shifts, at six cycles per iteration. The chain continues from the
/// state where the thread's last job ended. Otherwise out-of-order execution would
/// overlap this piece with the next one, even across a locked operation between them. A piece of
/// 100 ns would then take 65 ns.
#[inline(never)]
fn spin(rounds: u64) {
    let mut x = CHAIN.get();
    for _ in 0..rounds {
        // Marsaglia's xorshift. No compiler can compute its later values by a short cut.
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    CHAIN.set(black_box(x));
}

/// Duration of the calibration of the work loop.
const CALIBRATION: Duration = Duration::from_millis(50);

/// Measures the work loop against the clock, and returns the fastest of many tries, because
/// disturbances only slow a try down. The tries together last longer than a slow moment of the
/// host.
pub(crate) fn rounds_per_ns() -> f64 {
    *ROUNDS_PER_NS.get_or_init(|| {
        // Each try is short, so some fit between two interrupts.
        const ROUNDS: u64 = 20_000;
        let first = Instant::now();
        let mut fastest = u128::MAX;
        while first.elapsed() < CALIBRATION {
            let begin = Instant::now();
            spin(ROUNDS);
            fastest = fastest.min(begin.elapsed().as_nanos().max(1));
        }
        ROUNDS as f64 / fastest as f64
    })
}

impl Stage for OnHost {
    type Host = Native;
    const FOREIGN_LOCKS: bool = true;
    const OTHERS: bool = true;

    fn wait_for_others() {
        crate::membarrier::wait();
    }

    #[inline]
    fn work(nanoseconds: f64) {
        spin((nanoseconds * rounds_per_ns()) as u64);
    }
    #[inline]
    fn stopping() -> bool {
        STOP.0.load(Ordering::Relaxed)
    }
    #[inline]
    fn operation_done() {}
}

/// Stage on this host that records the duration of each wait in a per-thread histogram. Reading the
/// clock takes time, so operations on this stage are not counted.
#[derive(Debug)]
pub struct OnHostTimed(());

std::thread_local! {
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
    static WAITS: RefCell<Option<Histogram<u64>>> = const { RefCell::new(None) };
}

/// Discards the thread's waits, and allocates space for new ones.
pub(crate) fn begin_waits() {
    WAITS.set(Some(lockyard_results::fairness::histogram()));
}

/// Returns the thread's waits, and removes them.
pub(crate) fn take_waits() -> Option<Histogram<u64>> {
    WAITS.take()
}

/// Returns the time for two clock reads in nanoseconds: the median of many measurements.
pub(crate) fn clock_ns() -> f64 {
    let mut tries = lockyard_results::fairness::histogram();
    for _ in 0..10_000 {
        let begin = Instant::now();
        tries.saturating_record(begin.elapsed().as_nanos() as u64);
    }
    tries.value_at_quantile(0.5) as f64
}

impl Stage for OnHostTimed {
    type Host = Native;
    const FOREIGN_LOCKS: bool = true;
    const OTHERS: bool = true;

    fn wait_for_others() {
        crate::membarrier::wait();
    }

    #[inline]
    fn work(nanoseconds: f64) {
        OnHost::work(nanoseconds);
    }
    #[inline]
    fn stopping() -> bool {
        OnHost::stopping()
    }
    #[inline]
    fn operation_done() {}
    #[inline]
    fn wait_begins() {
        BEGAN.set(Some(Instant::now()));
    }
    #[inline]
    fn wait_ends() {
        let Some(began) = BEGAN.take() else { return };
        let waited = began.elapsed().as_nanos() as u64;
        WAITS.with_borrow_mut(|waits| {
            if let Some(waits) = waits {
                waits.saturating_record(waited);
            }
        });
    }
}

/// Stage on this host that records the previous holder of each lock. The record is one more line
/// that moves with the lock, so operations on this stage are not counted.
#[derive(Debug)]
pub(crate) struct OnHostHolders(());

impl Stage for OnHostHolders {
    type Host = Native;
    const FOREIGN_LOCKS: bool = true;
    const OTHERS: bool = true;

    fn wait_for_others() {
        crate::membarrier::wait();
    }

    #[inline]
    fn work(nanoseconds: f64) {
        OnHost::work(nanoseconds);
    }
    #[inline]
    fn stopping() -> bool {
        OnHost::stopping()
    }
    #[inline]
    fn operation_done() {}
    #[inline]
    fn hold_begins(object: usize) {
        super::handover::held(object);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_work_are_one_chain() {
        let end = |pieces: &[u64]| {
            CHAIN.set(1);
            pieces.iter().for_each(|&rounds| spin(rounds));
            CHAIN.get()
        };
        assert_eq!(end(&[3, 4]), end(&[7]), "the second begins where the first has ended");
        assert_ne!(end(&[3]), end(&[7]));
    }
}
