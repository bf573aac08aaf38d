//! Bursts: times in which every thread writes each acquisition and each release (`lockyard
//! record`).
//!
//! Events of all threads at the same time tell the order in which threads had a lock, and the time
//! between two locks. Writing them costs several times what counting costs, and part of that is
//! spent while a lock is held. A lock is one serial resource: all who wait for it pay. So the
//! budget is for the events of *all* threads together, as if all were of one lock and one after the
//! other: one part in [`SHARE`] of the time, which is also the most that a thread or a lock can
//! lose. A burst has few events, and the next one comes when the budget allows it. A program that
//! takes few locks is in one burst for all of its run.
//!
//! This file has the pace of bursts, and `window` what threads write.

use crate::system::ticks;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use lockyard_records::Thread;

/// A word that every acquisition reads. Nothing that is written more often shares its cache line.
#[repr(align(128))]
struct Alone(AtomicU32);

/// Number of the burst that goes on; 0 between bursts.
static BURST: Alone = Alone(AtomicU32::new(0));

/// State of the bursts that only their beginnings, ends and events look at.
#[repr(align(128))]
struct State {
    /// Number of bursts so far.
    bursts: AtomicU32,
    /// Number of holds in this burst, or in its latest part.
    holds: AtomicU64,
    /// Number of windows so far, and when the burst began.
    windows: AtomicU64,
    windows_before: AtomicU64,
    /// Time at which the burst, or its latest part, began.
    began: AtomicU64,
    /// Time before which no burst begins.
    next: AtomicU64,
    /// Time by which bursts may still come earlier than the budget allows.
    credit: AtomicU64,
}

static STATE: State = State {
    bursts: AtomicU32::new(0),
    holds: AtomicU64::new(0),
    windows: AtomicU64::new(0),
    windows_before: AtomicU64::new(0),
    began: AtomicU64::new(0),
    next: AtomicU64::new(0),
    credit: AtomicU64::new(0),
};

/// Number of ticks in a microsecond; 0 if no events are wanted.
static TICKS: AtomicU64 = AtomicU64::new(0);

/// Number of holds of all threads after which a burst ends.
const MOST_HOLDS: u64 = 1024;

/// Number of holds that a thread counts by itself before the burst counts them.
const AT_ONCE: u32 = 16;

/// Maximum duration of a burst, in microseconds, unless it is made longer.
const LONGEST: u64 = 50_000;

/// Cost of the events of a hold, in nanoseconds, as the pace of bursts assumes: three readings of
/// the clock, and two events.
const HOLD_NS: u64 = 80;

/// Number of holds for which one counts after a long time: other work has then taken the code and
/// the records of the recorder out of the nearest caches.
pub(crate) const COLD: u32 = 6;

/// Cost of a new window, in nanoseconds: its memory is new, and at the beginning the processor time
/// is read.
const WINDOW_NS: u64 = 2000;

/// Share of the time that events of all threads together may cost: one part in this number.
const SHARE: u64 = 100;

/// Cost of events that a program may have beyond its budget, in microseconds: a program that runs
/// for milliseconds would have a single burst otherwise. It is spent in the first 0.1 s.
const CREDIT: u64 = 1000;

/// Part of the time between two bursts that is waited for while there is credit: one in this
/// number.
const QUICK: u64 = 10;

/// Number of windows after which bursts come half as often; after twice as many, a third.
const MANY: u64 = 4096;

/// Asks for events. It is called before there are threads. 0 asks for none.
pub(crate) fn set_ticks(per_microsecond: u64) {
    TICKS.store(per_microsecond, Ordering::Relaxed);
    STATE.credit.store(CREDIT * SHARE * per_microsecond, Ordering::Relaxed);
}

/// Returns true if a burst goes on, or if the thread's window of one is still open.
///
/// # Safety
///
/// The records are the running thread's.
#[inline(always)]
pub(crate) unsafe fn is_on(thread: *const Thread) -> bool {
    // Relaxed: a thread that sees the change late writes fewer events, or more.
    // SAFETY: the caller's.
    BURST.0.load(Ordering::Relaxed) | unsafe { (*thread).burst } != 0
}

/// Returns true if events are wanted.
#[inline(always)]
pub(crate) fn is_wanted() -> bool {
    TICKS.load(Ordering::Relaxed) != 0
}

/// Returns the number of ticks in a microsecond.
pub(crate) fn per_us() -> u64 {
    TICKS.load(Ordering::Relaxed).max(1)
}

/// Returns the number of the current burst, or 0 if there is none. Begins a burst if none is active
/// and the next one is due.
///
/// # Safety
///
/// `thread` must be the running thread's record, and that thread must not have counted this
/// acquisition yet.
pub(crate) unsafe fn number(thread: *const Thread) -> u32 {
    match BURST.0.load(Ordering::Relaxed) {
        // SAFETY: the caller's.
        0 if unsafe { (*thread).countdown } == 1 => begin(),
        burst => burst,
    }
}

/// Returns true if the burst of a thread's window is over.
///
/// # Safety
///
/// `thread` is the running thread's.
pub(crate) unsafe fn is_over(thread: *const Thread) -> bool {
    // SAFETY: the caller's.
    unsafe { BURST.0.load(Ordering::Relaxed) != (*thread).burst }
}

/// Counts a new window.
pub(crate) fn count_window() {
    STATE.windows.fetch_add(1, Ordering::Relaxed);
}

/// Begins a burst if the next one is due. Returns its number, or 0 if none has begun.
#[cold]
fn begin() -> u32 {
    let now = ticks();
    if now < STATE.next.load(Ordering::Relaxed) {
        return 0;
    }
    let burst = STATE.bursts.fetch_add(1, Ordering::Relaxed) + 1;
    match BURST.0.compare_exchange(0, burst, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {
            begin_part(now);
            burst
        }
        // Another thread was faster.
        Err(other) => other,
    }
}

/// Begins a part of a burst. A thread that counts meanwhile may count for the part before.
fn begin_part(now: u64) {
    STATE.began.store(now, Ordering::Relaxed);
    STATE.holds.store(0, Ordering::Relaxed);
    let windows = STATE.windows.load(Ordering::Relaxed);
    STATE.windows_before.store(windows, Ordering::Relaxed);
}

/// Ends the burst, and begins no more: there is no room for windows.
pub(crate) fn stop() {
    STATE.next.store(u64::MAX, Ordering::Relaxed);
    BURST.0.store(0, Ordering::Relaxed);
}

/// Counts holds that are over. Ends the burst when it has enough. After the burst, ends the window
/// when the thread holds nothing.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder. Its window is open.
pub(crate) unsafe fn visited(thread: *mut Thread, now: u64) {
    // SAFETY: the thread is the running one, and its window is open.
    unsafe {
        let burst = BURST.0.load(Ordering::Relaxed);
        let is_over = is_over(thread);
        let began = STATE.began.load(Ordering::Relaxed);
        let is_late = now.saturating_sub(began) > LONGEST * per_us();
        if (*thread).burst_count >= AT_ONCE || is_over || is_late {
            let of_thread = u64::from((*thread).burst_count);
            (*thread).burst_count = 0;
            let holds = STATE.holds.fetch_add(of_thread, Ordering::Relaxed) + of_thread;
            if is_over {
                // These holds ended after the burst, which did not count them: their cost delays
                // the next burst.
                let cost = of_thread * HOLD_NS * SHARE * per_us() / 1000;
                let later = |next: u64| next.checked_add(cost);
                let _ = STATE.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
            } else if holds >= MOST_HOLDS || is_late {
                end(burst, now, holds);
            }
        }
        if (*thread).held_count == 0 && self::is_over(thread) {
            (*thread).burst = 0;
        }
    }
}

/// Ends a burst, or makes it longer if it costs little.
fn end(burst: u32, now: u64, holds: u64) {
    let windows = STATE.windows.load(Ordering::Relaxed);
    let new = windows.saturating_sub(STATE.windows_before.load(Ordering::Relaxed));
    let cost = (holds * HOLD_NS + new * WINDOW_NS) * per_us() / 1000;
    let duration = now.saturating_sub(STATE.began.load(Ordering::Relaxed));
    let wanted = cost * SHARE * (1 + windows / MANY);
    if wanted <= duration {
        return begin_part(now);
    }
    let gap = wanted - duration;
    let credit = STATE.credit.load(Ordering::Relaxed);
    let earlier = (gap - gap / QUICK).min(credit);
    STATE.credit.store(credit - earlier, Ordering::Relaxed);
    STATE.next.store(now + gap - earlier, Ordering::Relaxed);
    let _ = BURST.0.compare_exchange(burst, 0, Ordering::Relaxed, Ordering::Relaxed);
}
