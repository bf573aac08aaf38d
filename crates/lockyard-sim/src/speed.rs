//! Speed of this host's simulations: the work of all runs of the process, and the time that they
//! took.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

static OPERATIONS: AtomicU64 = AtomicU64::new(0);
static NANOSECONDS: AtomicU64 = AtomicU64::new(0);

/// Work of all runs of the process so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostWork {
    /// Platform operations that simulated threads began.
    pub platform_operations: u64,
    /// Time of this host in runs, summed over its threads.
    pub time: Duration,
}

impl HostWork {
    /// Returns the platform operations that one thread of this host simulates in a second. Returns
    /// `None` before the first run.
    pub fn per_second(self) -> Option<f64> {
        let seconds = self.time.as_secs_f64();
        (seconds > 0.0).then(|| self.platform_operations as f64 / seconds)
    }
}

/// Returns the work of all runs of the process so far. Runs that have not returned are not in it.
pub fn host_work() -> HostWork {
    // Relaxed: the counters publish no other data.
    HostWork {
        platform_operations: OPERATIONS.load(Ordering::Relaxed),
        time: Duration::from_nanos(NANOSECONDS.load(Ordering::Relaxed)),
    }
}

/// Adds the work of a run.
pub(crate) fn add(platform_operations: u64, time: Duration) {
    // Relaxed: as in `host_work`.
    OPERATIONS.fetch_add(platform_operations, Ordering::Relaxed);
    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    NANOSECONDS.fetch_add(nanoseconds, Ordering::Relaxed);
}
