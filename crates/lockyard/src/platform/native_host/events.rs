//! Event counters of the native host, with the feature `events`: one static word for each event.
//! Threads share them, so counting costs a line transfer. The events are rare.

use super::super::Event;
use core::sync::atomic::{AtomicU64, Ordering};

static COUNTS: [AtomicU64; Event::ALL.len()] = [const { AtomicU64::new(0) }; Event::ALL.len()];

#[inline]
pub(super) fn count(event: Event) {
    COUNTS[event as usize].fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of times that each event was counted since the program started. Relaxed.
pub fn native_events() -> [(Event, u64); Event::ALL.len()] {
    Event::ALL.map(|event| (event, COUNTS[event as usize].load(Ordering::Relaxed)))
}
