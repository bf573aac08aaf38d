//! Share of the elapsed time that a thread has its CPU. If a measuring thread had to wait for
//! its CPU, the try says nothing about the caches.

use std::time::{Duration, Instant};

/// Maximum share of a try for which a thread may be without its CPU. [`LEAST_LOST`] applies instead
/// if it is longer.
const LOST: f64 = 0.03;

/// Time without a CPU that is always tolerated, because reading the CPU time takes time itself.
const LEAST_LOST: Duration = Duration::from_micros(4);

/// Interval during which the calling thread's CPU time is observed.
pub(super) struct Share {
    begin: Instant,
    had: Option<Duration>,
}

impl Share {
    /// Begins the interval.
    pub(super) fn begin() -> Share {
        Share { had: cpu_time(), begin: Instant::now() }
    }

    /// Ends the interval. Returns true if the thread had its CPU throughout.
    pub(super) fn was_whole(&self) -> bool {
        let passed = self.begin.elapsed();
        match (self.had, cpu_time()) {
            (Some(before), Some(after)) => {
                let lost = passed.saturating_sub(after.saturating_sub(before));
                lost <= passed.mul_f64(LOST).max(LEAST_LOST)
            }
            // Without CPU times from the system, keep the try.
            _ => true,
        }
    }
}

/// Returns the CPU time of the calling thread.
#[cfg(unix)]
fn cpu_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live `timespec`, and the call fills it.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    let valid = result == 0 && time.tv_sec >= 0;
    valid.then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

#[cfg(not(unix))]
fn cpu_time() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_thread_that_sleeps_has_not_its_cpu() {
        let share = Share::begin();
        std::thread::sleep(Duration::from_millis(20));
        assert!(!share.was_whole());
    }
}
