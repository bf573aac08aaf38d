//! The native host, with counters of the actions of waiting threads.

use lockyard::Native;
use lockyard::platform::{
    Announcement, Event, Host, HostWithSlots, NativeAtomics, NativeU32, QueueNode, Slot,
};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Number of parks, pauses, yields and events of waiting threads.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    parks: AtomicU64,
    pauses: AtomicU64,
    yields: AtomicU64,
    events: [AtomicU64; Event::ALL.len()],
}

impl Counts {
    pub(crate) const fn new() -> Self {
        Counts {
            parks: AtomicU64::new(0),
            pauses: AtomicU64::new(0),
            yields: AtomicU64::new(0),
            events: [const { AtomicU64::new(0) }; Event::ALL.len()],
        }
    }

    /// Counts the actions of the calling thread from now on.
    pub(crate) fn watch(&'static self) {
        WATCHED.set(Some(self));
    }

    pub(crate) fn parks(&self) -> u64 {
        self.parks.load(Ordering::SeqCst)
    }

    pub(crate) fn pauses(&self) -> u64 {
        self.pauses.load(Ordering::SeqCst)
    }

    pub(crate) fn yields(&self) -> u64 {
        self.yields.load(Ordering::SeqCst)
    }

    pub(crate) fn events(&self, event: Event) -> u64 {
        self.events[event as usize].load(Ordering::SeqCst)
    }
}

thread_local!(static WATCHED: Cell<Option<&'static Counts>> = const { Cell::new(None) });

fn note(counter: impl FnOnce(&'static Counts) -> &'static AtomicU64) {
    if let Some(counts) = WATCHED.get() {
        counter(counts).fetch_add(1, Ordering::SeqCst);
    }
}

/// The lines of the table, by lock and turn.
type Lines = BTreeMap<(usize, u32), &'static [Announcement<NativeAtomics>]>;

/// The native host with counters. See the module.
#[derive(Debug)]
pub(crate) struct Counting(());

// SAFETY: `Native` provides everything.
unsafe impl Host for Counting {
    type Atomics = NativeAtomics;
    const SLOTS: u32 = Native::SLOTS;

    lockyard::forward_to_host!(Native: slots, memory);

    fn numa_node() -> u32 {
        Native::numa_node()
    }
    fn queue_node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
        Native::queue_node(slot, level)
    }
    fn announcements(lock: usize, turn: u32) -> &'static [Announcement<NativeAtomics>] {
        // Each lock and turn has a separate line, so no other test can fill it.
        static LINES: Mutex<Lines> = Mutex::new(BTreeMap::new());
        let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        lines
            .entry((lock, turn))
            .or_insert_with(|| Box::leak(Box::new([const { Announcement::UNUSED }; 8])))
    }
    fn relax() {
        note(|counts| &counts.pauses);
        Native::relax();
    }
    fn yield_now() {
        note(|counts| &counts.yields);
        Native::yield_now();
    }
    fn now() -> Duration {
        Native::now()
    }
    fn park(word: &NativeU32, expected: u32, timeout: Option<Duration>) {
        note(|counts| &counts.parks);
        Native::park(word, expected, timeout);
    }
    fn unpark(word: *const NativeU32, count: u32) {
        Native::unpark(word, count);
    }
    fn count(event: Event) {
        note(|counts| &counts.events[event as usize]);
    }
    fn fatal(message: &'static str) -> ! {
        Native::fatal(message)
    }
}

impl HostWithSlots for Counting {}
