//! A clock for examples that measure operations. It ignores the time of other programs.

use std::time::Duration;

/// Returns the CPU time of this thread, so that other programs on a busy machine do not count. (On
/// systems without such a clock, returns the elapsed time.)
pub(crate) fn cpu_time() -> Duration {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a live `timespec`. If the call fails it stays zero.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        START.get_or_init(std::time::Instant::now).elapsed()
    }
}

/// Returns the nanoseconds for each operation.
pub(crate) fn per(duration: Duration, operations: u64) -> f64 {
    duration.as_nanos() as f64 / operations as f64
}
