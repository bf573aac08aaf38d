//! Records of acquisitions and of releases.

use crate::memory::{TOPOLOGY, allocate, at, count, header, offset_of};
use crate::system::{cpu, ticks};
use crate::table;
use core::sync::atomic::Ordering;
use lockyard_records::histogram::{BUCKETS, bucket};
use lockyard_records::{CPUS, Cpu, Entry, FIRST_HOLDS, Held, Lock, MAX_HELD, Thread};

/// Manner of an acquisition.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// Time at which the call began to wait; 0 if it did not.
    pub(crate) waits_since: u64,
    /// True if others may hold the lock too.
    pub(crate) shared: bool,
    /// True if the call does not wait.
    pub(crate) tried: bool,
    /// True if the lock counts its owner's acquisitions.
    pub(crate) recursive: bool,
}

impl How {
    /// An exclusive acquisition without waiting.
    pub(crate) const AT_ONCE: How =
        How { waits_since: 0, shared: false, tried: false, recursive: false };
}

/// Records an acquisition. `entry` is null if there was no room for it.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder, and `entry` is its own.
#[inline(always)]
pub(crate) unsafe fn acquired(thread: *mut Thread, entry: *mut Entry, lock: u64, how: How) {
    // SAFETY: the caller's.
    unsafe {
        if entry.is_null() {
            return count(&raw mut (*header()).lost);
        }
        if (*thread).held_count > 0 && again_or_inside(thread, entry, lock, how) {
            return;
        }
        let now = hold(thread, entry, lock, how.shared);
        (*entry).acquisitions += 1;
        if how.shared {
            (*entry).reads += 1;
        }
        if how.waits_since != 0 {
            waited(entry, now.saturating_sub(how.waits_since));
        }
    }
}

/// Handles an acquisition by a thread that holds locks. Returns true if this lock is one of them.
#[inline(never)]
unsafe fn again_or_inside(thread: *mut Thread, entry: *mut Entry, lock: u64, how: How) -> bool {
    // SAFETY: as in `acquired`.
    unsafe {
        if let Some(index) = held(thread, lock) {
            if how.recursive || how.shared {
                (*thread).held[index].depth += 1;
                (*entry).nested += 1;
                return true;
            }
            // Another thread has released it, or another lock has come to this address.
            remove(thread, index);
        }
        let count_held = (*thread).held_count as usize;
        if let Some(outer) = count_held.checked_sub(1).and_then(|last| (*thread).held.get(last)) {
            let outer_entry: *const Entry = at(outer.entry);
            let outer = [outer.lock, (*outer_entry).site];
            let inner = [lock, (*entry).site];
            if !table::nested(thread, outer, inner, how.tried) {
                count(&raw mut (*header()).lost);
            }
        }
        false
    }
}

/// Records that the running thread holds the lock from now on. Returns the time.
///
/// # Safety
///
/// As for [`acquired`]; `entry` is not null.
#[inline(always)]
pub(crate) unsafe fn hold(thread: *mut Thread, entry: *mut Entry, lock: u64, shared: bool) -> u64 {
    // SAFETY: the caller's. The lock's own record is written by its holder only.
    unsafe {
        let now = ticks();
        if !shared {
            own(at((*entry).record), (*thread).number);
        }
        let index = (*thread).held_count as usize;
        if index < MAX_HELD {
            (*thread).held[index] = Held { lock, entry: offset_of(entry), since: now, depth: 0 };
            (*thread).held_count += 1;
        } else {
            count(&raw mut (*header()).too_deep);
        }
        now
    }
}

/// Records the owner of a lock.
#[inline(always)]
unsafe fn own(lock: *mut Lock, thread: u32) {
    // SAFETY: the caller holds the lock.
    unsafe {
        if (*lock).last_thread != thread {
            return hand_over(lock, thread);
        }
        let run = (*lock).run.saturating_add(1);
        (*lock).run = run;
        if (*lock).longest_run < run {
            (*lock).longest_run = run;
        }
    }
}

/// Records that a lock has come to another thread. Only then is its CPU looked up: that costs more
/// than the rest.
unsafe fn hand_over(lock: *mut Lock, thread: u32) {
    // SAFETY: as in `own`.
    unsafe {
        let cpu = cpu();
        if (*lock).last_thread != 0 {
            (*lock).hand_overs[distance(u32::from((*lock).last_cpu), cpu)] += 1;
        }
        (*lock).last_thread = thread;
        (*lock).last_cpu = cpu as u16;
        (*lock).run = 1;
        (*lock).longest_run = (*lock).longest_run.max(1);
    }
}

fn distance(from: u32, to: u32) -> usize {
    if from == to {
        return 0;
    }
    let cpus = TOPOLOGY.load(Ordering::Relaxed);
    if cpus.is_null() {
        return 3;
    }
    let place = |cpu: u32| -> Cpu {
        // SAFETY: the file has `CPUS` places, and is not changed.
        unsafe { *cpus.add(cpu as usize % CPUS) }
    };
    let (from, to) = (place(from), place(to));
    match (from.core == to.core, from.complex == to.complex) {
        (true, _) => 1,
        (_, true) => 2,
        _ => 3,
    }
}

/// Records a wait for a lock.
unsafe fn waited(entry: *mut Entry, wait: u64) {
    // SAFETY: the entry is this thread's.
    unsafe {
        (*entry).contended += 1;
        (*entry).wait_ticks = (*entry).wait_ticks.wrapping_add(wait);
        (*entry).wait_max = (*entry).wait_max.max(wait);
        if (*entry).wait_histogram == 0 {
            (*entry).wait_histogram = new_histogram();
        }
        add((*entry).wait_histogram, wait, 1);
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

unsafe fn add(histogram: u64, time: u64, count: u32) {
    if histogram != 0 {
        // SAFETY: a bucket is below the number of buckets.
        unsafe {
            let bucket = at::<u32>(histogram).add(bucket(time));
            *bucket = (*bucket).saturating_add(count);
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

/// A hold that has ended, before it is recorded.
#[derive(Clone, Copy)]
pub(crate) struct Ended {
    entry: *mut Entry,
    ticks: u64,
}

/// Ends the hold of a lock, just before its release. Returns `None` if the thread does not hold it
/// as far as is known, or holds it still.
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
        Some(Ended { entry: at(of.entry), ticks: ticks().saturating_sub(of.since) })
    }
}

/// Records a hold, after the release.
///
/// # Safety
///
/// As for [`ending`].
#[inline(always)]
pub(crate) unsafe fn ended(of: Ended) {
    let Ended { entry, ticks } = of;
    // SAFETY: the entry is this thread's.
    unsafe {
        let count = (*entry).holds;
        (*entry).holds = count + 1;
        (*entry).hold_ticks = (*entry).hold_ticks.wrapping_add(ticks);
        if (*entry).hold_max < ticks {
            (*entry).hold_max = ticks;
        }
        if (*entry).hold_histogram != 0 {
            add((*entry).hold_histogram, ticks, 1);
        } else if (count as usize) < FIRST_HOLDS {
            (*entry).first_holds[count as usize] = u32::try_from(ticks).unwrap_or(u32::MAX);
        } else {
            first_histogram(entry, ticks);
        }
    }
}

/// Replaces the first hold times by a histogram.
#[cold]
unsafe fn first_histogram(entry: *mut Entry, ticks: u64) {
    // SAFETY: the entry is this thread's.
    unsafe {
        let histogram = new_histogram();
        for index in 0..FIRST_HOLDS {
            add(histogram, u64::from((*entry).first_holds[index]), 1);
        }
        add(histogram, ticks, 1);
        (*entry).hold_histogram = histogram;
    }
}
