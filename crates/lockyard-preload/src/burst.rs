//! Bursts: times in which every thread writes each acquisition and each release (`lockyard
//! record`).
//!
//! Events of all threads at the same time tell the order in which threads had a lock, and the time
//! between two locks. Writing them costs several times what counting costs. So a burst is short,
//! and the next one comes later if the program takes many locks: the bursts together cost a small
//! share of the program's time. A program that takes few locks is in one burst for all of its run.
//!
//! After a long time between two events, the thread reads its processor time: it may have slept, or
//! another thread may have had the processor.

use crate::memory::{allocate, at, count, header, link, offset_of};
use crate::system::{thread_switches, ticks};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use lockyard_records::{Event, MAX_HELD, Thread, WINDOW_EVENTS, Window, event};

/// Number of the burst that goes on; 0 between bursts.
static BURST: AtomicU32 = AtomicU32::new(0);

/// Number of bursts so far.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Thread that began the burst, and whose acquisitions end it.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Time at which the burst, or its latest part, began.
static BEGAN: AtomicU64 = AtomicU64::new(0);

/// Time before which no burst begins.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Number of ticks in a microsecond; 0 if no events are wanted.
static TICKS: AtomicU64 = AtomicU64::new(0);

/// Number of windows so far.
static WINDOWS: AtomicU64 = AtomicU64::new(0);

/// Number of acquisitions of its thread after which a burst ends.
const OF_OWNER: u32 = 512;

/// Maximum duration of a burst, in microseconds, unless it is made longer.
const LONGEST: u64 = 50_000;

/// Time from which an interval counts as long, in microseconds. A shorter sleep counts as time on
/// the processor. Reading the processor time takes two system calls, about half a microsecond; with
/// 6 instead of 40 microseconds, RocksDB lost almost a third of its rate.
const LONG: u64 = 40;

/// Cost of an acquisition and a release in a burst, in nanoseconds, as the pace of bursts assumes.
const COST_NS: u64 = 150;

/// Share of a thread's time that bursts may cost: one in this number.
const SHARE: u64 = 40;

/// Maximum time between two bursts, in durations of a burst.
const FARTHEST: u64 = 40;

/// Number of windows after which bursts come half as often; after twice as many, a third.
const MANY: u64 = 4096;

/// Asks for events. It is called before there are threads. 0 asks for none.
pub(crate) fn set_ticks(per_microsecond: u64) {
    TICKS.store(per_microsecond, Ordering::Relaxed);
}

/// Returns true if a burst goes on.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    // Relaxed: a thread that sees the change late writes fewer events, or more.
    BURST.load(Ordering::Relaxed) != 0
}

/// Returns true if events are wanted.
#[inline(always)]
pub(crate) fn is_wanted() -> bool {
    TICKS.load(Ordering::Relaxed) != 0
}

/// Writes an acquisition, and begins a burst if its time has come. `site` has a kind of event;
/// `waits_since` is 0 for an acquisition that did not wait.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder and has acquired the lock. The
/// lock is not yet among those that the thread holds.
#[inline(never)]
pub(crate) unsafe fn acquired(thread: *mut Thread, lock: u64, site: u64, waits_since: u64) {
    let now = ticks();
    // SAFETY: the caller's.
    unsafe {
        let mut burst = BURST.load(Ordering::Relaxed);
        if burst == 0 {
            if now < NEXT.load(Ordering::Relaxed) {
                return;
            }
            burst = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
            // Two threads may begin a burst at the same time. Then the second one is a new number
            // for the first one's.
            BURST.store(burst, Ordering::Relaxed);
            OWNER.store((*thread).number, Ordering::Relaxed);
            BEGAN.store(now, Ordering::Relaxed);
        }
        let is_first = (*thread).burst != burst;
        if is_first {
            // A window begins where the thread holds nothing.
            if (*thread).held_count > 0 {
                return;
            }
            (*thread).burst = burst;
            (*thread).burst_count = 0;
            if !new_window(thread, now, false) {
                return;
            }
            (*thread).event_ticks = now;
        }
        let wait = match waits_since {
            0 => 0,
            since => u32::try_from(now.saturating_sub(since)).unwrap_or(u32::MAX),
        };
        append(thread, Event { ticks: now, lock, site, wait, own: 0 });
        if is_first {
            // The calls are the recorder's, also if the thread loses its CPU at one of them, and
            // so is the first touch of the window's memory. Otherwise the hold would be that long.
            ((*thread).read_cpu, (*thread).read_switches) = thread_switches();
            (*thread).read_waits = (*thread).waits;
            (*thread).read_ticks = ticks();
            add_own(thread, (*thread).read_ticks.saturating_sub(now));
        }
        (*thread).burst_count += 1;
        let is_full =
            (*thread).burst_count >= OF_OWNER && OWNER.load(Ordering::Relaxed) == (*thread).number;
        let most = LONGEST * TICKS.load(Ordering::Relaxed);
        if is_full || now.saturating_sub(BEGAN.load(Ordering::Relaxed)) > most {
            end(thread, burst, now);
        }
    }
}

/// Writes a release.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder and holds the lock. It is no
/// longer among those of the records.
#[inline(never)]
pub(crate) unsafe fn released(thread: *mut Thread, lock: u64) {
    // SAFETY: the caller's.
    unsafe {
        let burst = BURST.load(Ordering::Relaxed);
        if burst != 0 && (*thread).burst == burst {
            let now = ticks();
            append(thread, Event { ticks: now, lock, site: event::RELEASED, wait: 0, own: 0 });
        }
    }
}

/// Ends a burst, or makes it longer if it costs little.
unsafe fn end(thread: *mut Thread, burst: u32, now: u64) {
    let ticks = TICKS.load(Ordering::Relaxed);
    let duration = now.saturating_sub(BEGAN.load(Ordering::Relaxed)).max(1);
    // SAFETY: the thread is the running one.
    let events = u64::from(unsafe { (*thread).burst_count });
    let cost = events * COST_NS * ticks / 1000;
    let many = 1 + WINDOWS.load(Ordering::Relaxed) / MANY;
    let gaps = (cost * SHARE * many / duration).min(FARTHEST * many);
    if gaps == 0 {
        BEGAN.store(now, Ordering::Relaxed);
        // SAFETY: as above.
        let number = unsafe { (*thread).number };
        OWNER.store(number, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { (*thread).burst_count = 0 };
        return;
    }
    NEXT.store(now + duration * gaps, Ordering::Relaxed);
    let _ = BURST.compare_exchange(burst, 0, Ordering::Relaxed, Ordering::Relaxed);
}

/// Appends an event to the thread's window, after the time without a processor before it.
unsafe fn append(thread: *mut Thread, event: Event) {
    // SAFETY: the window is this thread's, and `push` leaves room.
    unsafe {
        let interval = event.ticks.saturating_sub((*thread).event_ticks);
        (*thread).event_ticks = event.ticks;
        if interval > LONG * TICKS.load(Ordering::Relaxed) {
            let (cpu, switches) = thread_switches();
            let passed = event.ticks.saturating_sub((*thread).read_ticks);
            let passed = passed * 1000 / TICKS.load(Ordering::Relaxed).max(1);
            let off = passed.saturating_sub(cpu.saturating_sub((*thread).read_cpu));
            let [given_up, taken] = (*thread).read_switches;
            let waits = (*thread).waits.wrapping_sub((*thread).read_waits);
            let by_itself = u32::from(slept(
                switches[0].wrapping_sub(given_up),
                switches[1].wrapping_sub(taken),
                waits,
            ));
            ((*thread).read_cpu, (*thread).read_switches) = (cpu, switches);
            (*thread).read_waits = (*thread).waits;
            if off > 0 {
                let site = event::OFF_CPU;
                push(thread, Event { lock: off, site, wait: by_itself, own: 0, ..event });
            }
            push(thread, event);
            (*thread).read_ticks = ticks();
            let own = (*thread).read_ticks.saturating_sub(event.ticks);
            add_own(thread, own);
        } else {
            push(thread, event);
        }
    }
}

/// Returns true if a thread without a processor slept, by the numbers of times for which it has
/// `given_up` its processor, has lost it, and has waited for a lock since the reading before. A
/// wait gives the processor up too. It may be long over when the processor is lost, so it does not
/// make a sleep of that loss.
const fn slept(given_up: u64, lost: u64, waits: u64) -> bool {
    given_up > if lost > 0 { waits } else { 0 }
}

/// Adds to the recorder's own time after the latest event.
unsafe fn add_own(thread: *mut Thread, own: u64) {
    // SAFETY: the window is this thread's and has an event.
    unsafe {
        let window: *mut Window = at((*thread).window);
        let last = ((*window).count as usize).wrapping_sub(1);
        if last < WINDOW_EVENTS {
            let to = &raw mut (*window).events[last].own;
            *to = (*to).saturating_add(u32::try_from(own).unwrap_or(u32::MAX));
        }
    }
}

/// Writes an event to the thread's window, or to a new one.
unsafe fn push(thread: *mut Thread, event: Event) {
    // SAFETY: the window is this thread's.
    unsafe {
        let mut window: *mut Window = at((*thread).window);
        let mut place = (*window).count as usize;
        let mut own = 0;
        if place >= WINDOW_EVENTS {
            let begin = ticks();
            if !new_window(thread, event.ticks, true) {
                // Without room, the window ends here, and the next burst may have one.
                (*thread).burst = 0;
                return;
            }
            own = ticks() - begin;
            window = at((*thread).window);
            place = 0;
        }
        (*window).events[place] = event;
        (*window).count = place as u32 + 1;
        if own > 0 {
            add_own(thread, own);
        }
    }
}

/// Makes a new window of the thread. Returns false if there is no room.
#[cold]
unsafe fn new_window(thread: *mut Thread, begin: u64, continues: bool) -> bool {
    // SAFETY: there is a mapping, and the new memory is this thread's.
    unsafe {
        let window: *mut Window = allocate(size_of::<Window>(), 64).cast();
        if window.is_null() {
            count(&raw mut (*header()).lost_windows);
            (*thread).burst = 0;
            return false;
        }
        WINDOWS.fetch_add(1, Ordering::Relaxed);
        (*window).thread = (*thread).number;
        (*window).burst = (*thread).burst;
        (*window).begin = begin;
        // The acquisition that is about to be written is counted already, if it is one.
        (*window).acquisitions = (*thread).given.saturating_sub((*thread).countdown);
        (*window).continues = u32::from(continues);
        (*thread).window = offset_of(window);
        link(&raw mut (*header()).windows, &raw mut (*window).next, offset_of(window));
        true
    }
}

const _: () = assert!(MAX_HELD < WINDOW_EVENTS);
