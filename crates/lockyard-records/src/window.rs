//! Runs of events, if they are asked for: what a thread writes in a burst (`lockyard record`).

/// Number of events of a [`Window`].
pub const WINDOW_EVENTS: usize = 126;

/// Consecutive events of a thread within a burst. In a burst, all threads write their events.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Offset of the window before, of any thread.
    pub next: u64,
    /// Index of the thread.
    pub thread: u32,
    /// Index of the burst, from 1.
    pub burst: u32,
    /// Time of the beginning.
    pub begin: u64,
    /// Number of acquisitions that the thread's records had before.
    pub acquisitions: u64,
    /// Number of events.
    pub count: u32,
    /// 1 if the thread's window before ends where this one begins.
    pub continues: u32,
    /// Not used.
    pub reserved: [u64; 3],
    /// The events.
    pub events: [Event; WINDOW_EVENTS],
}

/// An acquisition, a release, time without a processor, or an event of a condition, a semaphore or a
/// barrier.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Event {
    /// Time of the event.
    pub ticks: u64,
    /// Address of the lock; or nanoseconds for which the thread had no processor before `ticks`.
    pub lock: u64,
    /// Return address of the call, with a kind of [`event`](crate::event).
    pub site: u64,
    /// Ticks for which an acquisition waited; or 1 if the thread gave up its processor by itself.
    pub wait: u32,
    /// Ticks that the recorder used after this event, beyond what every event costs.
    pub own: u32,
}
