//! A clock for examples that say what an operation takes, which the host's other work does not move.

use std::time::Duration;

/// Time that this thread has had a CPU, so that a busy machine does not count. (Where there is no such clock, time.)
pub(crate) fn cpu_time() -> Duration {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a live `timespec`. Should the call fail it stays zero.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        START.get_or_init(std::time::Instant::now).elapsed()
    }
}

/// Nanoseconds for each of so many operations.
pub(crate) fn per(duration: Duration, operations: u64) -> f64 {
    duration.as_nanos() as f64 / operations as f64
}
