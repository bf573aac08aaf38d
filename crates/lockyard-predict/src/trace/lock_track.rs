//! The tracks of a lock: its holder, and the number of waiting threads.

use super::events::Events;
use lockyard_trace::Kind;

/// Tracks of a lock.
pub(super) struct LockTrack {
    name: String,
    holders: usize,
    counter: usize,
    waiting: i64,
    holder: Option<usize>,
    /// Slice of the last hold: its first event, and its end.
    last: Option<(usize, Option<u64>)>,
}

impl LockTrack {
    pub(super) fn new(name: String, group: usize, events: &mut Events) -> LockTrack {
        let holders = events.track(&format!("lock: {name}"), Kind::Slices, Some(group));
        let counter = events.track(&format!("waiting for {name}"), Kind::Counter, Some(group));
        events.count(0, counter, 0);
        LockTrack { name, holders, counter, waiting: 0, holder: None, last: None }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Records that a thread begins to wait for the lock.
    pub(super) fn is_wanted(&mut self, time: u64, events: &mut Events) {
        self.waiting += 1;
        events.count(time, self.counter, self.waiting);
    }

    /// Records that a thread stops waiting for the lock.
    pub(super) fn is_had(&mut self, time: u64, events: &mut Events) {
        self.waiting -= 1;
        events.count(time, self.counter, self.waiting);
    }

    /// Records that a thread holds the lock. The slice of this hold begins with the event `begun`.
    /// Returns the slice of the previous hold: its first event, and its end.
    pub(super) fn is_held(
        &mut self,
        time: u64,
        thread: usize,
        task: &str,
        begun: usize,
        events: &mut Events,
    ) -> Option<(usize, u64)> {
        if self.holder.is_none() {
            self.holder = Some(thread);
            events.begin(time, self.holders, task);
        }
        let (before, end) = self.last.replace((begun, None))?;
        Some((before, end?))
    }

    /// Records that a thread releases the lock.
    pub(super) fn is_released(&mut self, time: u64, thread: usize, events: &mut Events) {
        if let Some((_, end)) = &mut self.last {
            *end = Some(time);
        }
        if self.holder == Some(thread) {
            self.holder = None;
            events.end(time, self.holders);
        }
    }

    /// Ends a hold that is still open.
    pub(super) fn finish(&mut self, time: u64, events: &mut Events) {
        if self.holder.take().is_some() {
            events.end(time, self.holders);
        }
    }
}
