//! Windows of events of a thread, within bursts (`burst`).
//!
//! A thread's window begins before an acquisition, when the thread holds nothing. It ends after a
//! release that leaves nothing held, if the burst is over then. So a visit that begins in a burst
//! has all of its events, however long the thread waits or sleeps meanwhile. Beginnings and new
//! memory come before an acquisition, and both of its events are written after the release: between
//! the two, a thread only reads the clock.
//!
//! After a long time between two events, the thread reads its processor time: it may have slept, or
//! another thread may have had the processor.

use crate::burst::{self, per_us};
use crate::memory::{allocate, at, count, header, link, offset_of};
use crate::reading::{self, read};
use crate::system::ticks;
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::ptr::null_mut;
use lockyard_records::{
    Entry, Event, Held, MAX_HELD, Thread, WINDOW_EVENTS, Window, event, held as mark,
};

/// Time from which an interval counts as long, in microseconds. A shorter sleep counts as time on
/// the processor. Reading the processor time takes two system calls, about half a microsecond; with
/// 6 instead of 40 microseconds, RocksDB lost almost a third of its rate.
const LONG: u64 = 40;

/// Time after which they are taken as out of them, in microseconds.
const COLD_AFTER: u64 = 1;

/// Room that a window has when a visit begins. A visit with more events makes a new window while a
/// lock is held.
const ROOM: usize = 16;

/// Number of nested acquisitions after a burst after which a window is closed, although the thread
/// holds a lock.
const AT_LAST: u32 = 64;

/// Prepares the event of an acquisition: begins a burst if its time has come, and a window. `since`
/// is the time at which the call began, if that is known. Returns true if there is a window.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder and has not counted the
/// acquisition yet.
pub(crate) unsafe fn before(thread: *mut Thread, since: Option<u64>) -> bool {
    // SAFETY: the caller's.
    unsafe {
        if (*thread).burst != 0 {
            return go_on(thread, since.unwrap_or_else(ticks));
        }
        // A window begins where the thread holds nothing.
        if (*thread).held_count > 0 {
            return false;
        }
        let burst = burst::number(thread);
        if burst == 0 {
            return false;
        }
        (*thread).burst = burst;
        ((*thread).burst_count, (*thread).late_count) = (0, 0);
        if !new_window(thread, ticks(), false) {
            return false;
        }
        read(thread);
        let window: *mut Window = at((*thread).window);
        (*window).begin = (*thread).read_ticks;
        (*thread).event_ticks = (*thread).read_ticks;
        ask_for_events(window);
        true
    }
}

/// Makes room for the events of a visit, and looks if the thread slept before it. Returns false if
/// there is no room.
unsafe fn go_on(thread: *mut Thread, now: u64) -> bool {
    // SAFETY: the caller's.
    unsafe {
        let is_free = (*thread).held_count == 0;
        if !is_free && !is_to_go_on(thread) {
            return false;
        }
        let window: *mut Window = at((*thread).window);
        let is_long = now.saturating_sub((*thread).event_ticks) > long();
        if is_free && now.saturating_sub((*thread).event_ticks) > COLD_AFTER * per_us() {
            count_holds(thread, burst::COLD - 1);
        }
        let is_narrow = is_free && (*window).count as usize + ROOM > WINDOW_EVENTS;
        if is_long || is_narrow {
            let begin = ticks();
            let own = own_after_last(window);
            if is_long {
                look_off(thread, now);
            }
            if is_narrow && !new_window(thread, now, true) {
                return false;
            }
            if is_narrow && !is_long {
                read(thread);
            }
            // What comes next is after this time, which is not the program's.
            let end = ticks();
            add_own(own, end.saturating_sub(begin));
            if is_narrow {
                let window: *mut Window = at((*thread).window);
                (*window).begin = end;
            }
        }
        if is_free {
            // This call may fail, and the next one is looked at from here on.
            (*thread).event_ticks = now;
        }
        ask_for_events(at((*thread).window));
        true
    }
}

/// Counts holds for the budget.
unsafe fn count_holds(thread: *mut Thread, more: u32) {
    // SAFETY: the thread is the running one.
    unsafe { (*thread).burst_count = (*thread).burst_count.saturating_add(more) };
}

/// Asks for the cache lines of the next events: they are new, and the program's release would wait
/// for them.
unsafe fn ask_for_events(window: *mut Window) {
    // SAFETY: the window is this thread's. The instruction has no effect, so that a place may be
    // beyond the window.
    unsafe {
        let place =
            (&raw const (*window).events).cast::<Event>().wrapping_add((*window).count as usize);
        _mm_prefetch(place.cast::<i8>(), _MM_HINT_T0);
        _mm_prefetch(place.wrapping_add(2).cast::<i8>(), _MM_HINT_T0);
    }
}

/// Returns the number of ticks from which an interval is long.
fn long() -> u64 {
    LONG * per_us()
}

/// Writes the time for which the thread had no processor since its latest event, and was not
/// waiting for a lock.
#[cold]
unsafe fn look_off(thread: *mut Thread, now: u64) {
    // SAFETY: the thread is the running one, and its window is open.
    unsafe {
        let (cpu, [given_up, lost]) = ((*thread).read_cpu, (*thread).read_switches);
        let (waits, waited) = ((*thread).read_waits, (*thread).read_waited);
        let passed = now.saturating_sub((*thread).read_ticks);
        read(thread);
        count_holds(thread, burst::COLD);
        let ns = |ticks: u64| ticks * 1000 / per_us();
        let [given_up_now, lost_now] = (*thread).read_switches;
        let cpu = (*thread).read_cpu.saturating_sub(cpu);
        let off = reading::off(ns(passed), cpu, waited.map(ns), given_up_now != given_up);
        let off = off.min(ns(now.saturating_sub((*thread).event_ticks)));
        if off > 0 {
            let by_itself = u32::from(slept(
                given_up_now.wrapping_sub(given_up),
                lost_now.wrapping_sub(lost),
                (*thread).waits.wrapping_sub(waits),
            ));
            let site = event::OFF_CPU;
            push(thread, Event { ticks: now, lock: off, site, wait: by_itself, own: 0 });
        }
    }
}

/// Looks at the window of a thread that holds a lock. If it has not released that for long, its
/// acquisition is written now, so that time without a processor comes after it. If another thread
/// has released the lock, this one seems to hold it for ever. It must not write events all that
/// time, so its window is closed. Returns false then.
unsafe fn is_to_go_on(thread: *mut Thread) -> bool {
    // SAFETY: the thread is the running one.
    unsafe {
        if burst::is_over(thread) {
            (*thread).late_count += 1;
            if (*thread).late_count > AT_LAST {
                (*thread).burst = 0;
                return false;
            }
        }
        if ticks().saturating_sub((*thread).event_ticks) > long() {
            write_all_acquired(thread, None);
        }
        (*thread).burst != 0
    }
}

/// Writes the acquisitions of the locks that a thread holds, and of one that it held until now, as
/// far as they are not written yet.
#[inline(always)]
unsafe fn write_all_acquired(thread: *mut Thread, held: Option<&Held>) {
    // SAFETY: the thread is the running one.
    unsafe {
        let mut left = held.filter(|held| held.marks & mark::WRITTEN == 0);
        for index in 0..((*thread).held_count as usize).min(MAX_HELD) {
            let other = (&raw mut (*thread).held).cast::<Held>().add(index);
            if (*other).marks & (mark::EVENT | mark::WRITTEN) != mark::EVENT {
                continue;
            }
            // In the order of time, also if the thread does not release in reverse order.
            if let Some(held) = left.take_if(|held| held.since < (*other).since) {
                write_acquired(thread, held);
            }
            write_acquired(thread, &*other);
            (*other).marks |= mark::WRITTEN;
        }
        if let Some(held) = left {
            write_acquired(thread, held);
        }
    }
}

/// Writes the acquisition of a lock that is held, or was until now.
unsafe fn write_acquired(thread: *mut Thread, held: &Held) {
    // SAFETY: the window is this thread's, and the entry too.
    unsafe {
        let entry: *const Entry = at(held.entry);
        // A read stays a read: its mode says more than that its call does not wait.
        let is_read = (*entry).site & event::MASK == event::READ;
        let tried = if held.marks & mark::TRIED != 0 && !is_read { event::TRIED } else { 0 };
        let waited = if held.marks & mark::WAITED != 0 { held.waited } else { 0 };
        if waited > 0 {
            add_wait(thread, waited, held.marks & mark::SPINS != 0);
        }
        let wait = u32::try_from(waited).unwrap_or(u32::MAX);
        let (ticks, lock, site) = (held.since, held.lock, (*entry).site | tried);
        push(thread, Event { ticks, lock, site, wait, own: 0 });
        (*thread).event_ticks = ticks;
    }
}

/// Notes a wait for a lock. Time off the processor before the event of its acquisition is written
/// with it.
#[cold]
unsafe fn add_wait(thread: *mut Thread, waited: u64, spins: bool) {
    // SAFETY: the window is this thread's.
    unsafe {
        reading::waited(thread, waited, waited > long(), spins);
        let window: *mut Window = at((*thread).window);
        let last = ((*window).count as usize).wrapping_sub(1);
        if last < WINDOW_EVENTS && (*window).events[last].site == event::OFF_CPU {
            (*window).events[last].lock += waited * 1000 / per_us();
        }
    }
}

/// Writes a release, after it, and the acquisitions before it that are not written yet: its own,
/// and those of locks that the thread holds. `now` is the time just before the release.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder. The hold was prepared after
/// [`before`] had returned true. It is no longer among the locks that the thread holds.
#[inline(never)]
pub(crate) unsafe fn released(thread: *mut Thread, now: u64, held: &Held) {
    // SAFETY: the caller's.
    unsafe {
        if (*thread).burst == 0 {
            return;
        }
        write_all_acquired(thread, Some(held));
        let is_long = now.saturating_sub((*thread).event_ticks) > long();
        let begin = if is_long || (*thread).read_waited[1] > 0 { ticks() } else { 0 };
        if is_long {
            look_off(thread, now);
        }
        let (lock, site) = (held.lock, event::RELEASED);
        push(thread, Event { ticks: now, lock, site, wait: 0, own: 0 });
        (*thread).event_ticks = now;
        count_holds(thread, 1);
        burst::visited(thread, now);
        let waited_long = (*thread).read_waited[1] > 0;
        if waited_long {
            // Later waits and sleeps are told from this one.
            read(thread);
            count_holds(thread, burst::COLD);
        }
        if is_long || waited_long {
            let own = own_after_last(at((*thread).window));
            add_own(own, ticks().saturating_sub(begin));
        }
    }
}

/// Returns true if the thread's window is open.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder.
pub(crate) unsafe fn is_open(thread: *const Thread) -> bool {
    // SAFETY: the caller's.
    unsafe { (*thread).burst != 0 }
}

/// Writes an event of something that is not a lock, and those before it. The thread called at the
/// time `since`, and has waited until now for `waited` ticks of that. Ends the window as a release
/// does.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder, and its window is open.
#[cold]
pub(crate) unsafe fn noted(thread: *mut Thread, of: u64, site: u64, since: u64, waited: u64) {
    // SAFETY: the caller's.
    unsafe {
        let begin = since + waited;
        write_all_acquired(thread, None);
        if since.saturating_sub((*thread).event_ticks) > long() {
            look_off(thread, since);
        }
        if waited > long() {
            // Later sleeps are told from this one.
            read(thread);
            count_holds(thread, burst::COLD);
        }
        let wait = u32::try_from(waited).unwrap_or(u32::MAX);
        push(thread, Event { ticks: begin, lock: of, site, wait, own: 0 });
        (*thread).event_ticks = begin;
        if (*thread).burst != 0 {
            // Half a hold has as many events.
            count_holds(thread, 1);
            burst::visited(thread, begin);
            add_own(own_after_last(at((*thread).window)), ticks().saturating_sub(begin));
        }
    }
}

/// Writes that a wait for a condition begins, after the release of its mutex. A window that was
/// open before that stays open, so that the wait and its section are whole.
///
/// # Safety
///
/// As for [`noted`], except that the release may have ended the window. `burst` is the number of
/// the window's burst.
#[cold]
pub(crate) unsafe fn waits(thread: *mut Thread, burst: u32, of: u64, site: u64) {
    // SAFETY: the caller's. The thread's latest window is its own, open or not.
    unsafe {
        (*thread).burst = burst;
        write_all_acquired(thread, None);
        let now = ticks();
        push(thread, Event { ticks: now, lock: of, site, wait: 0, own: 0 });
        (*thread).event_ticks = now;
        count_holds(thread, 1);
    }
}

/// Returns true if a thread without a processor slept, by the numbers of times for which it has
/// `given_up` its processor, has lost it, and has waited for a lock since the reading before. A
/// wait gives the processor up too. It may be long over when the processor is lost, so it does not
/// make a sleep of that loss.
const fn slept(given_up: u64, lost: u64, waits: u64) -> bool {
    given_up > if lost > 0 { waits } else { 0 }
}

/// Returns the place for the recorder's own time after the latest event of the program; null if the
/// window has none.
unsafe fn own_after_last(window: *mut Window) -> *mut u32 {
    // SAFETY: the window is this thread's, and its count is at most that of its events.
    unsafe {
        let mut last = (*window).count as usize;
        while last > 0 {
            last -= 1;
            if (*window).events[last].site != event::OFF_CPU {
                return &raw mut (*window).events[last].own;
            }
        }
        null_mut()
    }
}

/// Adds to the recorder's own time.
unsafe fn add_own(to: *mut u32, own: u64) {
    if !to.is_null() {
        // SAFETY: the place is that of an event of this thread's.
        unsafe { *to = (*to).saturating_add(u32::try_from(own).unwrap_or(u32::MAX)) };
    }
}

/// Writes an event to the thread's window, or to a new one.
#[inline(always)]
unsafe fn push(thread: *mut Thread, event: Event) {
    // SAFETY: the window is this thread's.
    unsafe {
        let mut window: *mut Window = at((*thread).window);
        let mut place = (*window).count as usize;
        if place >= WINDOW_EVENTS {
            if !new_window(thread, event.ticks, true) {
                // Without room, the window ends here, and the next burst may have one.
                return;
            }
            window = at((*thread).window);
            place = 0;
        }
        (*window).events[place] = event;
        (*window).count = place as u32 + 1;
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
            burst::stop();
            return false;
        }
        burst::count_window();
        (*window).thread = (*thread).number;
        (*window).burst = (*thread).burst;
        (*window).begin = begin;
        (*window).acquisitions = (*thread).given.saturating_sub((*thread).countdown);
        (*window).continues = u32::from(continues);
        (*thread).window = offset_of(window);
        link(&raw mut (*header()).windows, &raw mut (*window).next, offset_of(window));
        true
    }
}

const _: () = assert!(MAX_HELD < WINDOW_EVENTS);
