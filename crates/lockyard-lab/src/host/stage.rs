//! This host, as a scenario sees it: the native platform, and local work as a calibrated loop.

use lockyard::Native;
use lockyard_scenarios::Stage;
use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// This host, as a scenario sees it. One run at a time: the stop flag is the process's.
#[derive(Debug)]
pub struct OnHost(());

/// A line of its own: every task reads it between operations.
#[repr(align(128))]
struct Flag(AtomicBool);

static STOP: Flag = Flag(AtomicBool::new(false));

/// Rounds of [`spin`] in a nanosecond.
static ROUNDS_PER_NS: OnceLock<f64> = OnceLock::new();

/// Sets or clears the stop flag.
pub(super) fn set_stop(stop: bool) {
    STOP.0.store(stop, Ordering::Relaxed);
}

/// A chain of dependent multiplications: a few cycles a round, no memory.
#[inline(never)]
fn spin(rounds: u64) {
    let mut x = black_box(1u64);
    for _ in 0..rounds {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    black_box(x);
}

/// Measures the work loop against the clock: the fastest of several tries, since whatever disturbs a
/// try makes it slower.
pub(super) fn rounds_per_ns() -> f64 {
    *ROUNDS_PER_NS.get_or_init(|| {
        const ROUNDS: u64 = 200_000;
        let fastest = (0..15)
            .map(|_| {
                let begin = Instant::now();
                spin(ROUNDS);
                begin.elapsed().as_nanos()
            })
            .min()
            .unwrap_or(1);
        ROUNDS as f64 / fastest.max(1) as f64
    })
}

impl Stage for OnHost {
    type Host = Native;

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
