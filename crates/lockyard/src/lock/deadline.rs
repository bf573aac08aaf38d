//! Deadlines of timed waiters, on hosts with and without a clock.

use crate::lane::Lane;
use crate::platform::{Event, Host, Instant, Ordering};
use core::time::Duration;

/// The deadline of a timed waiter, checked after each slice of polls.
pub(crate) struct Deadline<H: Host> {
    until: Instant<H>,
    slices: u64,
}

impl<H: Host> Deadline<H> {
    /// Polls in a slice.
    pub(crate) const POLLS: u32 = 64;

    pub(crate) fn new(until: Instant<H>) -> Self {
        Deadline { until, slices: 0 }
    }

    /// Counts one slice of polls, and returns true if the deadline has passed.
    pub(crate) fn end_slice(&mut self) -> bool {
        self.slices += 1;
        let now = Instant::now();
        let now = if now.is_zero() { now + Duration::from_micros(self.slices) } else { now };
        now >= self.until
    }

    /// Returns true if it is the latest possible time.
    pub(crate) fn is_latest(&self) -> bool {
        self.until == Instant::latest()
    }

    /// Returns the remaining time. `None` if the deadline has passed, or if the host has no clock
    /// and the deadline is not the latest possible time.
    pub(crate) fn left(&self) -> Option<Duration> {
        let now = Instant::now();
        let left = self.until.saturating_duration_since(now);
        let can_tell = !now.is_zero() || self.is_latest();
        (can_tell && !left.is_zero()).then_some(left)
    }

    /// Polls until the lane is `free`, and then takes it by `try_lock`. Polls in slices, and yields
    /// between slices.
    pub(super) fn poll<L: Lane, T>(
        mut self,
        lane: L,
        free: fn(u64) -> bool,
        try_lock: impl Fn() -> Option<T>,
    ) -> Option<T> {
        let mut token = try_lock();
        if token.is_none() {
            H::count(Event::Slowpath);
        }
        while token.is_none() && !self.end_slice() {
            // Relaxed: a hint.
            if lane.wait_within::<H>(Ordering::Relaxed, Self::POLLS, free).is_none() {
                H::yield_now();
            }
            token = try_lock();
        }
        token
    }
}
