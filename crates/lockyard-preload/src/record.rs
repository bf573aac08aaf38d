//! Records of acquisitions and of releases.
//!
//! Each acquisition is counted, and each that waits. Time is taken of a sample of the holds
//! (`sample`), of a sample of the waits (`waits`), and in bursts (`burst`). All others touch the
//! program's lock, one slot and the thread's own lines, and write to no line that another thread
//! reads.
//!
//! What is done while a lock is held makes all its waiters wait longer. So an acquisition is looked
//! up and counted before the call, and what is left for the time after the call is to say that the
//! lock is held. A release needs one look at the lock that was acquired last. What is timed is
//! recorded after the release (`holds`).

use crate::holds;
use crate::memory::{at, count, header};
use crate::sample::{self, Chosen};
use crate::system::ticks_after_loads;
use crate::{burst, table, waits, watch, window};
use lockyard_records::{
    EVENT, Entry, Held, Kind, MAX_HELD, MOST_EVENTS, Slot, Thread, entry_of, event, held as mark,
};

/// A call that acquires a lock.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// Address of the lock.
    pub(crate) lock: u64,
    /// Return address of the call.
    pub(crate) site: u64,
    /// Hash of the lock, and of the site with the event.
    pub(crate) key: u64,
    /// Kind of the lock.
    pub(crate) kind: Kind,
    /// Kind of the event: acquired, read, or waited for a condition.
    pub(crate) event: u64,
    /// True if the call does not wait.
    pub(crate) tried: bool,
}

impl Call {
    /// Returns a call, with its hash.
    #[inline(always)]
    pub(crate) fn new(lock: usize, site: usize, kind: Kind, event: u64, tried: bool) -> Call {
        let (lock, site) = (lock as u64, site as u64);
        let key = lockyard_records::key(lock, site | event);
        Call { lock, site, key, kind, event, tried }
    }
}

/// Counts an acquisition that is about to be made, and prepares its place among the held locks.
/// Returns false, and has done nothing, if there is more to do: it is timed or followed, the thread
/// holds this lock already, or something is recorded for the first time.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder until [`hold`] or [`failed`].
#[inline(always)]
pub(crate) unsafe fn begin(thread: *mut Thread, lock: u64, key: u64, tried: bool) -> bool {
    // SAFETY: the caller's. The slot is this thread's, and the place is below the number of places.
    unsafe {
        let index = (*thread).held_count as usize;
        if index > 0 && (index >= MAX_HELD || held(thread, lock).is_some()) {
            return false;
        }
        let slot = table::find(thread, key);
        if slot.is_null() {
            return false;
        }
        let events = (*slot).count.wrapping_add(EVENT);
        let countdown = (*thread).countdown.wrapping_sub(1);
        if countdown == 0
            || events < sample::EARLY_OF_ENTRY
            || burst::is_on(thread)
            || watch::is_watched(lock, (*thread).number)
        {
            return false;
        }
        // A call that does not wait cannot be part of a deadlock: its orders are of the sample.
        if index > 0 && !tried {
            let outer = (*place(thread, index - 1)).lock;
            if !table::is_order_known(thread, outer, lock) {
                return false;
            }
        }
        (*slot).count = events;
        (*thread).countdown = countdown;
        // Without marks, the times are not looked at.
        let place = place(thread, index);
        ((*place).lock, (*place).entry) = (lock, entry_of(events));
        ((*place).depth, (*place).marks) = (0, 0);
        true
    }
}

/// Returns a place among the locks that a thread holds.
///
/// # Safety
///
/// The index is below [`MAX_HELD`].
#[inline(always)]
unsafe fn place(thread: *mut Thread, index: usize) -> *mut Held {
    // SAFETY: the caller's.
    unsafe { (&raw mut (*thread).held).cast::<Held>().add(index) }
}

/// Says that the lock of [`begin`] or [`prepare`] is held.
///
/// # Safety
///
/// As for [`begin`].
#[inline(always)]
pub(crate) unsafe fn hold(thread: *mut Thread) {
    // SAFETY: the caller's.
    unsafe {
        let index = (*thread).held_count;
        let place = place(thread, index as usize);
        if (*place).marks != 0 {
            if (*place).marks & mark::FOLLOWED != 0 {
                follow(thread, place);
            }
            // Nearly the last step, so that a timed hold does not contain the steps above.
            if is_clocked((*place).marks) {
                (*place).since = ticks_after_loads();
            }
        }
        (*thread).held_count = index + 1;
    }
}

/// Returns true if the time at which a hold begins is wanted.
#[inline(always)]
pub(crate) const fn is_clocked(marks: u32) -> bool {
    marks & (mark::TIMED | mark::EVENT) != 0
}

/// Follows the run of a lock's owner.
#[inline(never)]
unsafe fn follow(thread: *mut Thread, place: *mut Held) {
    // SAFETY: as in `hold`. The count of events is in the place of the wait, which is none.
    unsafe {
        let events = core::mem::take(&mut (*place).waited);
        let is_first = (*place).marks & mark::FIRST != 0;
        watch::acquired(at((*place).entry), (*place).lock, (*thread).number, is_first, events);
    }
}

/// Says that the lock of [`begin`] or [`prepare`] is held after a wait. `waited` is 0 if that was
/// not timed, and `since` too if the hold is not either.
///
/// # Safety
///
/// As for [`begin`]. `of` is what the place was prepared with, and the marks of the wait. Meanwhile
/// a signal handler may have used the place.
#[inline(always)]
pub(crate) unsafe fn hold_after_wait(thread: *mut Thread, of: Held, since: u64, waited: u64) {
    // SAFETY: the caller's.
    unsafe {
        let index = (*thread).held_count as usize;
        if index >= MAX_HELD {
            return count(&raw mut (*header()).too_deep);
        }
        let place = place(thread, index);
        *place = of;
        if of.marks & mark::FOLLOWED != 0 {
            follow(thread, place);
        }
        ((*place).since, (*place).waited) = (since, waited);
        (*thread).held_count = index as u64 + 1;
    }
}

/// Takes an acquisition back that was counted: the call failed. It counts as such a call. `of` is
/// what its place was prepared with.
///
/// # Safety
///
/// As for [`begin`].
#[cold]
pub(crate) unsafe fn failed(thread: *mut Thread, call: &Call, of: Held) {
    // SAFETY: the caller's. The table may have grown meanwhile.
    unsafe {
        let slot = table::find(thread, call.key);
        if !slot.is_null() {
            (*slot).count = (*slot).count.wrapping_sub(EVENT);
            (*thread).countdown = (*thread).countdown.wrapping_add(1);
        }
        if of.marks & (mark::TIMED | mark::BY_CHANCE) == mark::TIMED {
            let entry: *mut Entry = at(of.entry);
            (*entry).early_begun -= 1;
        }
        counted(thread, call.lock, call.site | event::FAILED, call.kind);
    }
}

/// Returns what the place of the next lock is prepared with.
///
/// # Safety
///
/// As for [`begin`], which has returned true, or [`prepare`].
pub(crate) unsafe fn prepared(thread: *mut Thread) -> Held {
    // SAFETY: the caller's.
    unsafe { *place(thread, (*thread).held_count as usize) }
}

/// Returns what a place was prepared with, after a wait: the lock may be watched since then.
///
/// # Safety
///
/// As for [`begin`].
pub(crate) unsafe fn after_wait(thread: *mut Thread, call: &Call, mut of: Held) -> Held {
    // SAFETY: the caller's.
    unsafe {
        let may_be = call.event != event::READ && of.marks & mark::FOLLOWED == 0;
        if may_be && watch::is_watched(call.lock, (*thread).number) {
            let slot = table::find(thread, call.key);
            if !slot.is_null() {
                of.marks |= mark::FOLLOWED;
                of.waited = (*slot).count;
            }
        }
    }
    of
}

/// Counts an acquisition that may be timed, followed, or new, and prepares its place. `since` is
/// the time at which the call began, if it is over. Returns false if the call cannot be recorded.
///
/// # Safety
///
/// As for [`begin`]. The thread does not hold the lock, as far as is known.
#[inline(never)]
pub(crate) unsafe fn prepare(thread: *mut Thread, call: &Call, since: Option<u64>) -> bool {
    // SAFETY: the caller's. The slot and its entry are this thread's.
    unsafe {
        let has_event = burst::is_wanted() && window::before(thread, since);
        let slot = table::slot(thread, call.key, call.lock, call.site | call.event, call.kind);
        if slot.is_null() {
            count(&raw mut (*header()).lost);
            return false;
        }
        let events = count_event(slot);
        (*thread).countdown = (*thread).countdown.wrapping_sub(1);
        let chosen = sample::choose(thread, events);
        let index = (*thread).held_count as usize;
        let is_wanted = !call.tried || chosen.weight() > 0;
        if index > 0 && is_wanted && call.event != event::CONDITION {
            nested(thread, [call.lock, call.site], call.tried, chosen.weight());
        }
        if index >= MAX_HELD {
            count(&raw mut (*header()).too_deep);
            return false;
        }
        let entry: *mut Entry = at(entry_of(events));
        let mut marks = if has_event { mark::EVENT } else { 0 };
        if has_event && matches!(call.kind, Kind::Spin) {
            marks |= mark::SPINS;
        }
        if call.tried && has_event {
            marks |= mark::TRIED;
        }
        match chosen {
            Chosen::Not => {}
            Chosen::Early { .. } => {
                (*entry).early_begun += 1;
                marks |= mark::TIMED;
            }
            Chosen::ByChance { .. } => marks |= mark::TIMED | mark::BY_CHANCE,
        }
        let mut followed = 0;
        if call.event != event::READ {
            let is_first = watch::is_chosen(chosen, (*thread).random);
            if is_first || watch::is_watched(call.lock, (*thread).number) {
                marks |= mark::FOLLOWED | if is_first { mark::FIRST } else { 0 };
                followed = events;
                watch::prefetch(entry);
            }
        }
        let (lock, entry) = (call.lock, entry_of(events));
        *place(thread, index) = Held { lock, entry, since: 0, waited: followed, depth: 0, marks };
        true
    }
}

/// Counts an event that has no times. Returns false if there is no room for it.
///
/// # Safety
///
/// As for [`begin`], except that the lock may not be acquired. `site` has the kind of the event.
pub(crate) unsafe fn counted(thread: *mut Thread, lock: u64, site: u64, kind: Kind) -> bool {
    // SAFETY: the caller's.
    unsafe {
        let slot = table::slot(thread, lockyard_records::key(lock, site), lock, site, kind);
        if slot.is_null() {
            return false;
        }
        count_event(slot);
        true
    }
}

/// Counts an event in its slot. Returns the slot's count.
#[inline(always)]
unsafe fn count_event(slot: *mut Slot) -> u64 {
    // SAFETY: the slot and its entry are this thread's.
    unsafe {
        let events = (*slot).count.wrapping_add(EVENT);
        (*slot).count = events;
        if events < EVENT {
            let entry: *mut Entry = at(entry_of(events));
            (*entry).more_events += MOST_EVENTS;
        }
        events
    }
}

/// Records which lock was held last when this one is acquired.
unsafe fn nested(thread: *mut Thread, inner: [u64; 2], tried: bool, weight: u64) {
    // SAFETY: as in `prepare`; the thread holds a lock.
    unsafe {
        let last = ((*thread).held_count as usize).min(MAX_HELD) - 1;
        let outer = (*thread).held[last];
        if !table::nested(thread, outer, inner, tried, weight) {
            count(&raw mut (*header()).lost);
        }
    }
}

/// Returns the place of a lock among those that the thread holds.
///
/// # Safety
///
/// `thread` is the running thread's.
#[inline(always)]
pub(crate) unsafe fn held(thread: *mut Thread, lock: u64) -> Option<usize> {
    // SAFETY: the caller's.
    unsafe {
        let mut index = ((*thread).held_count as usize).min(MAX_HELD);
        while index > 0 {
            index -= 1;
            if (*place(thread, index)).lock == lock {
                return Some(index);
            }
        }
        None
    }
}

/// Returns the entry by which a thread has acquired a lock that it holds, or null.
///
/// # Safety
///
/// As for [`begin`].
pub(crate) unsafe fn entry_of_held(thread: *mut Thread, lock: u64) -> *mut Entry {
    // SAFETY: the caller's.
    unsafe {
        match held(thread, lock) {
            Some(index) => at((*place(thread, index)).entry),
            None => core::ptr::null_mut(),
        }
    }
}

/// Removes a lock from those that a thread holds.
///
/// # Safety
///
/// `thread` is the running thread's, and the index is below the number of locks that it holds.
#[cold]
pub(crate) unsafe fn remove(thread: *mut Thread, index: usize) {
    // SAFETY: the thread is the running one, and the index is below the number of held locks.
    unsafe {
        let last = (*thread).held_count as usize - 1;
        let mut to = index;
        while to < last {
            (*thread).held[to] = (*thread).held[to + 1];
            to += 1;
        }
        (*thread).held_count = last as u64;
    }
}

/// Way in which [`end`] has ended a hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// There is nothing to be recorded.
    Plain,
    /// [`ended`] records it, with the time just before the release.
    Marked { now: u64 },
    /// It has not: this is not the lock that was acquired last.
    NotLast,
}

impl End {
    /// Returns the end of a hold with these marks, now.
    #[inline(always)]
    fn of(marks: u32) -> End {
        match marks {
            0 => End::Plain,
            _ if marks & (mark::TIMED | mark::EVENT) == 0 => End::Marked { now: 0 },
            _ => End::Marked { now: ticks_after_loads() },
        }
    }
}

/// Ends the hold of the lock that was acquired last.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder.
#[inline(always)]
pub(crate) unsafe fn end(thread: *mut Thread, lock: u64) -> End {
    // SAFETY: the caller's.
    unsafe {
        let last = (*thread).held_count.wrapping_sub(1);
        if last >= MAX_HELD as u64 {
            return End::NotLast;
        }
        let of = place(thread, last as usize);
        if (*of).lock != lock || (*of).depth != 0 {
            return End::NotLast;
        }
        (*thread).held_count = last;
        End::of((*of).marks)
    }
}

/// Ends the hold of any lock, just before its release. It may be that the thread does not hold the
/// lock as far as is known, or holds it still.
///
/// # Safety
///
/// As for [`end`].
#[inline(never)]
pub(crate) unsafe fn end_any(thread: *mut Thread, lock: u64) -> End {
    // SAFETY: the caller's.
    unsafe {
        let Some(index) = held(thread, lock) else {
            count(&raw mut (*header()).unmatched);
            return End::Plain;
        };
        let of = *place(thread, index);
        if of.depth > 0 {
            (*place(thread, index)).depth -= 1;
            return End::Plain;
        }
        remove(thread, index);
        // Where `ended` looks for it.
        *place(thread, (*thread).held_count as usize) = of;
        End::of(of.marks)
    }
}

/// Ends the hold of any lock, and records it, just before its release.
///
/// # Safety
///
/// As for [`end`].
pub(crate) unsafe fn end_before(thread: *mut Thread, lock: u64) {
    // SAFETY: the caller's.
    unsafe {
        let end = match end(thread, lock) {
            End::NotLast => end_any(thread, lock),
            end => end,
        };
        if let End::Marked { now } = end {
            ended(thread, now);
        }
    }
}

/// Records the hold that was ended last, after the release.
///
/// # Safety
///
/// As for [`end`]. The thread has been inside the recorder since the hold was ended.
#[inline(never)]
pub(crate) unsafe fn ended(thread: *mut Thread, now: u64) {
    // SAFETY: the entry and the records are this thread's. The place of the hold is as it was.
    unsafe {
        let held = *place(thread, (*thread).held_count as usize);
        let entry: *mut Entry = at(held.entry);
        if held.marks & mark::WAITED != 0 {
            waits::ended(entry, held.waited, held.marks, held.since);
        }
        if held.marks & mark::EVENT != 0 {
            window::released(thread, now, &held);
        }
        if held.marks & mark::TIMED != 0 {
            let is_by_chance = held.marks & mark::BY_CHANCE != 0;
            holds::ended(thread, entry, now.saturating_sub(held.since), is_by_chance);
        }
    }
}
