//! Times of holds in the entries of a thread: sums, longest ones, histograms. All of this is done
//! after the release, so that it is no part of a hold.

use crate::memory::{allocate, at, count, header, offset_of};
use crate::usage;
use lockyard_records::histogram::{BUCKETS, bucket};
use lockyard_records::{BY_CHANCE, Entry, FIRST_HOLDS, Thread};

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

/// Records a timed hold, in ticks.
///
/// # Safety
///
/// The entry is one of the running thread, which is inside the recorder.
pub(crate) unsafe fn ended(thread: *mut Thread, entry: *mut Entry, ticks: u64, by_chance: bool) {
    // SAFETY: the caller's.
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
