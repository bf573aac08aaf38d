//! Share of the elapsed time for which a thread has its CPU. A try in which a measuring thread had
//! to wait for its CPU says nothing about the caches.

use std::time::{Duration, Instant};

/// Maximum share of a counted try for which a thread may lack its CPU, if that is more than
/// [`LEAST_LOST`].
const LOST: f64 = 0.03;

/// Time without a CPU that never counts as lost, because reading CPU time takes time itself.
const LEAST_LOST: Duration = Duration::from_micros(4);

/// An interval of the calling thread's time.
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
            // The system does not report CPU time, so the try counts.
            _ => true,
        }
    }
}

/// Returns the CPU time of the calling thread.
#[cfg(unix)]
fn cpu_time() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live `timespec`, which the call fills.
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
