//! Points in time on a host's clock.

use super::{Host, Native};
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::ops::{Add, AddAssign};
use core::time::Duration;

/// A point in time on the clock of the host `H`: the deadline of a wait.
///
/// It is not a [`Duration`], because "until one second" has no meaning. On a host without a clock
/// [`now`](Self::now) always returns the same time. A wait then counts its polls instead: it ends
/// after 64 polls for each microsecond between that time and its deadline.
///
/// ```
/// use lockyard::PvQSpinLock;
/// use lockyard::platform::Instant;
/// use std::time::Duration;
///
/// let lock = PvQSpinLock::<u64>::new(7);
/// let until = Instant::now() + Duration::from_millis(10);
/// assert_eq!(lock.try_lock_until(until).as_deref(), Some(&7));
/// // A time of the standard library's clock, too.
/// let until = std::time::Instant::now() + Duration::from_millis(10);
/// assert!(lock.try_lock_until(until.into()).is_some());
/// ```
///
/// ```compile_fail,E0308
/// use lockyard::PvQSpinLock;
///
/// let lock = PvQSpinLock::<u64>::new(7);
/// lock.try_lock_until(std::time::Duration::from_secs(1)); // expected `Instant`, found `Duration`
/// ```
pub struct Instant<H: Host = Native> {
    since: Duration,
    _host: PhantomData<fn(H) -> H>,
}

impl<H: Host> Instant<H> {
    const fn at(since: Duration) -> Self {
        Instant { since, _host: PhantomData }
    }

    /// Returns the current time on the host's clock: [`Host::now`].
    #[inline]
    pub fn now() -> Self {
        Self::at(H::now())
    }

    /// Returns the latest possible time. A wait until then ends early only if the host's clock says
    /// so. Does not read the clock.
    #[must_use]
    pub const fn latest() -> Self {
        Self::at(Duration::MAX)
    }

    /// Returns the time `duration` later, or the latest possible time.
    #[must_use]
    pub const fn saturating_add(self, duration: Duration) -> Self {
        Self::at(self.since.saturating_add(duration))
    }

    /// Returns the time `duration` later, or `None` if it is out of range.
    #[must_use]
    pub const fn checked_add(self, duration: Duration) -> Option<Self> {
        match self.since.checked_add(duration) {
            Some(since) => Some(Self::at(since)),
            None => None,
        }
    }

    /// Returns the duration from `earlier` to this time, or zero if this time is not later.
    #[must_use]
    pub const fn saturating_duration_since(self, earlier: Self) -> Duration {
        self.since.saturating_sub(earlier.since)
    }

    /// Returns true if the time is zero, as it always is on a host without a clock.
    #[inline]
    pub(crate) const fn is_zero(self) -> bool {
        self.since.is_zero()
    }
}

/// Converts a time of the standard library's clock to the native host's clock. Reads both clocks.
#[cfg(feature = "std")]
impl From<std::time::Instant> for Instant<Native> {
    fn from(instant: std::time::Instant) -> Self {
        // In this order, a preemption between the two reads makes the result later, not earlier.
        let now_there = std::time::Instant::now();
        let now = Self::now();
        match instant.checked_duration_since(now_there) {
            Some(later) => now.saturating_add(later),
            None => Self::at(now.since.saturating_sub(now_there.duration_since(instant))),
        }
    }
}

/// The same as [`saturating_add`](Instant::saturating_add).
impl<H: Host> Add<Duration> for Instant<H> {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        self.saturating_add(duration)
    }
}

/// The same as [`saturating_add`](Instant::saturating_add).
impl<H: Host> AddAssign<Duration> for Instant<H> {
    fn add_assign(&mut self, duration: Duration) {
        *self = self.saturating_add(duration);
    }
}

impl<H: Host> Clone for Instant<H> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<H: Host> Copy for Instant<H> {}
impl<H: Host> PartialEq for Instant<H> {
    fn eq(&self, other: &Self) -> bool {
        self.since == other.since
    }
}
impl<H: Host> Eq for Instant<H> {}
impl<H: Host> PartialOrd for Instant<H> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<H: Host> Ord for Instant<H> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.since.cmp(&other.since)
    }
}
impl<H: Host> Hash for Instant<H> {
    fn hash<S: Hasher>(&self, state: &mut S) {
        self.since.hash(state);
    }
}

impl<H: Host> fmt::Debug for Instant<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Instant").field(&self.since).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_ordered_and_stop_at_the_last_one() {
        let now = Instant::<Native>::now();
        let later = now + Duration::from_secs(1);
        assert!(later > now);
        assert_eq!(later.saturating_duration_since(now), Duration::from_secs(1));
        assert_eq!(now.saturating_duration_since(later), Duration::ZERO);
        assert_eq!(later.checked_add(Duration::MAX), None);
        assert_eq!(later + Duration::MAX, Instant::at(Duration::MAX));
    }

    #[cfg(feature = "std")]
    #[test]
    fn the_standard_librarys_times_are_the_native_hosts() {
        let (before, there) = (Instant::<Native>::now(), std::time::Instant::now());
        let at = Instant::<Native>::from(there);
        // The two clocks are read one after the other, so the result may be off by the time in
        // between.
        let slack = Duration::from_secs(60);
        assert!(at + slack >= before && at <= before + slack);
        let later = Instant::from(there + Duration::from_secs(3600));
        assert!(later.saturating_duration_since(at) >= Duration::from_secs(3600) - slack);
        assert!(Instant::from(there) < Instant::from(there + Duration::from_secs(3600)));
    }
}
