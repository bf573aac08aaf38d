//! Records of acquisitions and of releases.
//!
//! Each event is counted. Time is taken of acquisitions that wait, and of a sample of the holds
//! (`sample`). So an acquisition at once touches the program's lock, one slot and the thread's own
//! lines, and writes to no line that another thread reads.

use crate::memory::{allocate, at, count, header, offset_of};
use crate::sample::{self, Chosen};
use crate::system::{ticks, ticks_after_loads};
use crate::{burst, table, usage, watch};
use lockyard_records::histogram::{BUCKETS, bucket};
use lockyard_records::{
    BY_CHANCE, EVENT, Entry, FIRST_HOLDS, Held, Kind, MAX_HELD, MOST_EVENTS, Slot, Thread,
    entry_of, event,
};

/// Manner of an acquisition.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// Kind of the lock.
    pub(crate) kind: Kind,
    /// Kind of the event: acquired, read, or waited for a condition.
    pub(crate) event: u64,
    /// Time at which the call began to wait; 0 if it did not.
    pub(crate) waits_since: u64,
    /// True if the call does not wait.
    pub(crate) tried: bool,
    /// True if the lock counts its owner's acquisitions.
    pub(crate) recursive: bool,
}

/// Records an acquisition.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder and has acquired the lock. `key`
/// is the hash of the lock, and of the site with the event.
#[inline(always)]
pub(crate) unsafe fn acquired(thread: *mut Thread, lock: u64, site: u64, key: u64, how: How) {
    // SAFETY: the caller's. The slot is this thread's.
    unsafe {
        if (*thread).held_count > 0 && again(thread, lock, site, how) {
            return;
        }
        let slot = table::slot(thread, key, lock, site | how.event, how.kind);
        if slot.is_null() {
            return count(&raw mut (*header()).lost);
        }
        let events = (*slot).count.wrapping_add(EVENT);
        (*slot).count = events;
        let countdown = (*thread).countdown.wrapping_sub(1);
        (*thread).countdown = countdown;
        let index = (*thread).held_count as usize;
        let entry = entry_of(events);
        let is_plain = countdown != 0
            && events >= sample::EARLY_OF_ENTRY
            && how.waits_since == 0
            && index < MAX_HELD
            && !burst::is_on()
            && !watch::is_watched(lock);
        if !is_plain {
            return acquired_in_detail(thread, slot, [lock, site], how);
        }
        // A call that does not wait cannot be part of a deadlock: its orders are of the sample.
        if index > 0 && !how.tried {
            nested(thread, [lock, site], false, 0);
        }
        (*thread).held[index] = Held { lock, entry, since: 0, depth: 0, by_chance: 0 };
        (*thread).held_count = index as u64 + 1;
    }
}

/// Records an acquisition that is timed, followed, or had to wait.
#[inline(never)]
unsafe fn acquired_in_detail(
    thread: *mut Thread,
    slot: *mut Slot,
    [lock, site]: [u64; 2],
    how: How,
) {
    // SAFETY: as in `acquired`. The entry is this thread's, and the lock's own record is written by
    // its holder only.
    unsafe {
        let events = (*slot).count;
        let offset = entry_of(events);
        let entry: *mut Entry = at(offset);
        if events < EVENT {
            (*entry).more_events += MOST_EVENTS;
        }
        if how.waits_since != 0 {
            (*thread).waits += 1;
            let wait = ticks().saturating_sub(how.waits_since);
            waited(entry, wait, how.event == event::CONDITION);
        }
        let chosen = sample::choose(thread, events);
        if how.event != event::READ {
            watch::acquired(entry, lock, (*thread).number, chosen);
        }
        if let Chosen::Early { .. } = chosen {
            (*entry).early_begun += 1;
        }
        if burst::is_on() || (chosen.weight() > 0 && burst::is_wanted()) {
            let kind = if how.tried { event::TRIED } else { how.event };
            burst::acquired(thread, lock, site | kind, how.waits_since);
        }
        let index = (*thread).held_count as usize;
        let is_wanted = !how.tried || chosen.weight() > 0;
        if index > 0 && is_wanted && how.event != event::CONDITION {
            nested(thread, [lock, site], how.tried, chosen.weight());
        }
        if index < MAX_HELD {
            let by_chance = u32::from(matches!(chosen, Chosen::ByChance { .. }));
            (*thread).held[index] = Held { lock, entry: offset, since: 0, depth: 0, by_chance };
            (*thread).held_count += 1;
            // The last step, so that a timed hold does not contain the steps above.
            if chosen.is_timed() {
                (*thread).held[index].since = ticks_after_loads();
            }
        } else {
            count(&raw mut (*header()).too_deep);
        }
    }
}

/// Handles an acquisition by a thread that holds locks. Returns true if this lock is one of them.
#[inline(always)]
unsafe fn again(thread: *mut Thread, lock: u64, site: u64, how: How) -> bool {
    // SAFETY: as in `acquired`.
    unsafe {
        let Some(index) = held(thread, lock) else { return false };
        if how.recursive || how.event == event::READ {
            (*thread).held[index].depth += 1;
            if !counted(thread, lock, site | event::NESTED, how.kind) {
                count(&raw mut (*header()).lost);
            }
            return true;
        }
        // Another thread has released it, or another lock has come to this address.
        remove(thread, index);
        false
    }
}

/// Counts an event that has no times. Returns false if there is no room for it.
///
/// # Safety
///
/// As for [`acquired`], except that the lock may not be acquired. `site` has the kind of the event.
#[inline(always)]
pub(crate) unsafe fn counted(thread: *mut Thread, lock: u64, site: u64, kind: Kind) -> bool {
    // SAFETY: the caller's.
    unsafe {
        let slot = table::slot(thread, lockyard_records::key(lock, site), lock, site, kind);
        if slot.is_null() {
            return false;
        }
        let events = (*slot).count.wrapping_add(EVENT);
        (*slot).count = events;
        if events < EVENT {
            let entry: *mut Entry = at(entry_of(events));
            (*entry).more_events += MOST_EVENTS;
        }
        true
    }
}

/// Records which lock was held last when this one was acquired.
#[inline(always)]
unsafe fn nested(thread: *mut Thread, inner: [u64; 2], tried: bool, weight: u64) {
    // SAFETY: as in `acquired`; the thread holds a lock.
    unsafe {
        let last = ((*thread).held_count as usize).min(MAX_HELD) - 1;
        let outer = (*thread).held[last];
        if !table::nested(thread, outer, inner, tried, weight) {
            count(&raw mut (*header()).lost);
        }
    }
}

/// Records a wait for a lock, or for a condition.
unsafe fn waited(entry: *mut Entry, wait: u64, for_condition: bool) {
    // SAFETY: the entry is this thread's.
    unsafe {
        (*entry).wait_ticks = (*entry).wait_ticks.wrapping_add(wait);
        if for_condition {
            return;
        }
        (*entry).contended += 1;
        (*entry).wait_max = (*entry).wait_max.max(wait);
        if (*entry).wait_histogram == 0 {
            (*entry).wait_histogram = new_histogram();
        }
        add((*entry).wait_histogram, wait);
    }
}

/// Returns the offset of a new histogram, or 0 if there is no room.
#[cold]
unsafe fn new_histogram() -> u64 {
    // SAFETY: there is a mapping.
    unsafe {
        let histogram = allocate(BUCKETS * size_of::<u32>(), 64);
        if histogram.is_null() {
            count(&raw mut (*header()).lost);
            return 0;
        }
        offset_of(histogram)
    }
}

unsafe fn add(histogram: u64, time: u64) {
    if histogram != 0 {
        // SAFETY: a bucket is below the number of buckets.
        unsafe {
            let bucket = at::<u32>(histogram).add(bucket(time));
            *bucket = (*bucket).saturating_add(1);
        }
    }
}

/// Returns the place of a lock among those that the thread holds.
#[inline(always)]
unsafe fn held(thread: *mut Thread, lock: u64) -> Option<usize> {
    // SAFETY: the thread is the running one.
    unsafe {
        let mut index = ((*thread).held_count as usize).min(MAX_HELD);
        while index > 0 {
            index -= 1;
            if (*thread).held[index].lock == lock {
                return Some(index);
            }
        }
        None
    }
}

#[cold]
unsafe fn remove(thread: *mut Thread, index: usize) {
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

/// A timed hold that has ended, before it is recorded.
#[derive(Clone, Copy)]
pub(crate) struct Ended {
    thread: *mut Thread,
    entry: *mut Entry,
    ticks: u64,
    by_chance: bool,
}

/// Ends the hold of a lock, just before its release. Returns `None` if the hold is not timed, if
/// the thread does not hold the lock as far as is known, or holds it still.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder.
#[inline(always)]
pub(crate) unsafe fn ending(thread: *mut Thread, lock: u64) -> Option<Ended> {
    // SAFETY: the caller's.
    unsafe {
        let Some(index) = held(thread, lock) else {
            count(&raw mut (*header()).unmatched);
            return None;
        };
        let of = (*thread).held[index];
        if of.depth > 0 {
            (*thread).held[index].depth -= 1;
            return None;
        }
        if index + 1 == (*thread).held_count as usize {
            (*thread).held_count = index as u64;
        } else {
            remove(thread, index);
        }
        let ended = match of.since {
            0 => None,
            since => {
                let ticks = ticks().saturating_sub(since);
                Some(Ended { thread, entry: at(of.entry), ticks, by_chance: of.by_chance != 0 })
            }
        };
        if burst::is_on() {
            burst::released(thread, lock);
        }
        ended
    }
}

/// Records a timed hold, after the release.
///
/// # Safety
///
/// As for [`ending`].
#[cold]
pub(crate) unsafe fn ended(of: Ended) {
    let Ended { thread, entry, ticks, by_chance } = of;
    // SAFETY: the entry and the records are this thread's.
    unsafe {
        let lost = usage::lost(thread, ticks);
        let recorded = (*entry).early_count + (*entry).chance_count;
        (*entry).hold_max = (*entry).hold_max.max(ticks);
        let ticks = ticks - lost;
        let (count, total, all_lost, histogram) = match by_chance {
            false => (
                &raw mut (*entry).early_count,
                &raw mut (*entry).early_ticks,
                &raw mut (*entry).early_lost,
                (*entry).early_histogram,
            ),
            true => (
                &raw mut (*entry).chance_count,
                &raw mut (*entry).chance_ticks,
                &raw mut (*entry).chance_lost,
                (*entry).chance_histogram,
            ),
        };
        *count += 1;
        *total = (*total).wrapping_add(ticks);
        *all_lost = (*all_lost).wrapping_add(lost);
        if histogram != 0 {
            add(histogram, ticks);
        } else if (recorded as usize) < FIRST_HOLDS {
            let most = u64::from(BY_CHANCE - 1);
            let mark = if by_chance { BY_CHANCE } else { 0 };
            (*entry).first_holds[recorded as usize] = ticks.min(most) as u32 | mark;
        } else {
            new_histograms(entry);
            let to = if by_chance { (*entry).chance_histogram } else { (*entry).early_histogram };
            add(to, ticks);
        }
    }
}

/// Replaces the first holds by histograms of both strata.
unsafe fn new_histograms(entry: *mut Entry) {
    // SAFETY: the entry is this thread's.
    unsafe {
        let (early, by_chance) = (new_histogram(), new_histogram());
        for hold in (*entry).first_holds {
            let to = if hold & BY_CHANCE == 0 { early } else { by_chance };
            add(to, u64::from(hold & !BY_CHANCE));
        }
        (*entry).early_histogram = early;
        (*entry).chance_histogram = by_chance;
    }
}
