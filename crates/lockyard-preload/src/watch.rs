//! Runs of acquisitions of a lock by one thread, and hand-overs to another.
//!
//! Who had a lock before is a word that all its owners write, so it would move with the lock, and
//! cost one more cache miss for each hand-over. So runs are followed for a sample: an acquisition
//! that is timed by chance is put on a short list of watched locks, and the next owner of each
//! watched lock looks at its record. A run is followed from there to its end. The list is one for
//! all threads, small enough for the nearest cache, and written only when a run is begun or ends.

use crate::memory::{TOPOLOGY, at};
use crate::sample::{self, Chosen};
use crate::system::cpu;
use core::sync::atomic::{AtomicU64, Ordering};
use lockyard_records::{CPUS, Cpu, Entry, Lock, mixed};

/// Number of places for watched locks.
const PLACES: usize = 512;

#[repr(align(64))]
struct Watched([AtomicU64; PLACES]);

/// Addresses of the watched locks, each in the place of its hash; 0 if there is none. A lock that
/// takes another's place ends what was followed there.
static WATCHED: Watched = Watched([const { AtomicU64::new(0) }; PLACES]);

#[inline(always)]
fn place(lock: u64) -> &'static AtomicU64 {
    &WATCHED.0[(mixed(lock) >> (64 - PLACES.trailing_zeros())) as usize]
}

/// Returns true if a lock is watched.
#[inline(always)]
pub(crate) fn is_watched(lock: u64) -> bool {
    // Relaxed: a hint. What is known of a lock is in its record, which its holder alone reads.
    place(lock).load(Ordering::Relaxed) == lock
}

/// Follows an exclusive acquisition.
///
/// # Safety
///
/// The entry has a record of the lock, which the running thread holds.
#[inline(always)]
pub(crate) unsafe fn acquired(entry: *const Entry, lock: u64, thread: u32, chosen: Chosen) {
    let is_sampled = chosen.weight() > 0;
    if is_sampled || is_watched(lock) {
        // SAFETY: the caller's.
        unsafe { follow(at((*entry).record), lock, thread, is_sampled) };
    }
}

/// Follows an acquisition that is in the sample, or of a watched lock.
#[inline(never)]
unsafe fn follow(record: *mut Lock, lock: u64, thread: u32, is_sampled: bool) {
    // If all acquisitions are timed, all runs are followed.
    let all = sample::every() == 1;
    let is_watched = all || is_watched(lock);
    // SAFETY: the caller's. The holder alone reads and writes the record.
    unsafe {
        let mut is_followed = is_watched && (*record).thread == thread;
        if is_followed {
            (*record).run = (*record).run.saturating_add(1);
            (*record).followed = (*record).followed.saturating_add((*record).is_sampled);
        } else if is_watched && (*record).thread != 0 {
            handed_over(record);
        }
        (*record).is_sampled = u32::from(is_sampled);
        if is_sampled && !is_followed {
            ((*record).thread, (*record).run) = (thread, 1);
            is_followed = true;
        }
        if is_sampled {
            (*record).cpu = cpu() as u16;
        }
        if is_followed {
            (*record).longest_run = (*record).longest_run.max((*record).run);
            if !all && !is_watched {
                place(lock).store(lock, Ordering::Relaxed);
            }
        } else {
            (*record).thread = 0;
            // Another lock may have taken the place meanwhile, and keeps it.
            let _ = place(lock).compare_exchange(lock, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// Ends a run: the lock has come to another thread.
unsafe fn handed_over(record: *mut Lock) {
    // SAFETY: as in `acquired`.
    unsafe {
        if (*record).is_sampled != 0 {
            (*record).followed = (*record).followed.saturating_add(1);
            let distance = distance(u32::from((*record).cpu), cpu());
            let count = &mut (*record).hand_overs[distance];
            *count = count.saturating_add(1);
        }
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
