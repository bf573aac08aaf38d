//! Length of a tick of the processor's time-stamp counter.

use std::time::{Duration, Instant};

/// Minimum time over which the counter is compared with the system's clock.
const LEAST: Duration = Duration::from_millis(20);

/// Returns the time in ticks.
#[cfg(target_arch = "x86_64")]
pub fn ticks() -> u64 {
    // SAFETY: the instruction only reads the counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Returns the time in ticks. Nothing is profiled on this processor.
#[cfg(not(target_arch = "x86_64"))]
pub fn ticks() -> u64 {
    0
}

/// A comparison of the counter with the system's clock, in progress.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    ticks: u64,
    time: Instant,
}

impl Clock {
    /// Begins a comparison.
    pub fn start() -> Clock {
        Clock { ticks: ticks(), time: Instant::now() }
    }

    /// Ends the comparison. Returns the number of ticks in a nanosecond.
    pub fn ticks_per_ns(&self) -> f64 {
        if let Some(rest) = LEAST.checked_sub(self.time.elapsed()) {
            std::thread::sleep(rest);
        }
        let time = self.time.elapsed().as_nanos() as f64;
        (ticks().saturating_sub(self.ticks) as f64 / time).max(f64::MIN_POSITIVE)
    }
}

/// Returns false if the counter may run at different speeds, or stop.
pub fn is_steady() -> bool {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |wanted: &str| flags.split_whitespace().any(|flag| flag == wanted);
    has("constant_tsc") && has("nonstop_tsc")
}
