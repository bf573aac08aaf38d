//! Requests that come at random times, from outside: an open load.
//!
//! A queue stores only the time of its next request. A task that asks for a request takes the next
//! one, whether it has already come or not: the task sleeps until then, or finds that the request
//! has waited. So tasks take requests in their order, and waiting tasks are served first come,
//! first served. Times between requests are exponentially distributed.

use crate::model::{Step, Variant};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Times of the next requests, in nanoseconds since the run began. They are not part of the
/// experiment's shared memory.
#[derive(Default)]
pub(super) struct Arrivals(Vec<AtomicU64>);

impl Arrivals {
    /// Returns the queues of a variant.
    pub(super) fn of(variant: &Variant) -> Arrivals {
        let queues = |step: &Step| match step {
            Step::Walk { walk, .. } if walk.interval_of_requests().is_some() => walk.classes.len(),
            _ => 0,
        };
        let count = variant.steps.iter().map(queues).max().unwrap_or(0);
        Arrivals((0..count).map(|_| AtomicU64::new(0)).collect())
    }

    /// Returns true if there are queues.
    pub(super) fn exist(&self) -> bool {
        !self.0.is_empty()
    }

    /// Takes the next request of a queue, which comes this many nanoseconds after the previous one.
    /// Returns its time.
    pub(super) fn take(&self, queue: usize, after: f64) -> Duration {
        let after = after as u64;
        // Relaxed: tasks only need different requests.
        Duration::from_nanos(self.0[queue].fetch_add(after, Ordering::Relaxed) + after)
    }
}
