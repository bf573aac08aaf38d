//! Runs of acquisitions of a lock by one thread, and hand-overs to another.
//!
//! Who had a lock before is a word that all its owners write, so it would move with the lock, and
//! cost one more cache miss for each hand-over. So runs are followed for a sample: an acquisition
//! of the sample is put on a short list of watched locks. The next acquisition of a
//! watched lock looks at its record, whoever makes it: it is a hand-over or not. From there on, the
//! list says whose run it is, and only an acquisition by another thread looks, and ends the run.
//! The owner's own acquisitions look when they are in the sample, and then add those that their
//! call site has made since. So a run costs nothing while it goes on.
//!
//! The list is one for all threads, small enough for the nearest cache, and written only when a run
//! is begun, goes on alone, or ends.

use crate::memory::{TOPOLOGY, at};
use crate::sample::{self, Chosen};
use crate::system::cpu;
use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use core::sync::atomic::{AtomicU64, Ordering};
use lockyard_records::{CPUS, Cpu, ENTRY_UNIT, EVENT, Entry, Lock, NEXT_IS_SEEN, mixed};

/// Number of places for watched locks.
const PLACES: usize = 512;

/// Number of acquisitions timed by chance for each one from which a run is followed.
const RUNS: u64 = 8;

/// Place in a word of the list for the owner of a run: above the bits of an address.
const OWNER: u32 = 48;

#[repr(align(64))]
struct Watched([AtomicU64; PLACES]);

/// Addresses of the watched locks, each in the place of its hash, with the thread whose run is
/// followed, or 0 for the next acquisition by any thread. 0 if there is none. A lock that takes
/// another's place ends what was followed there.
static WATCHED: Watched = Watched([const { AtomicU64::new(0) }; PLACES]);

#[inline(always)]
fn place(lock: u64) -> &'static AtomicU64 {
    &WATCHED.0[(mixed(lock) >> (64 - PLACES.trailing_zeros())) as usize]
}

/// Returns the mark of a thread's runs. It is never 0. Of 32,768 threads, two share one.
#[inline(always)]
const fn owner(thread: u32) -> u64 {
    (thread as u64 & 0x7fff) + 1
}

/// Returns true if a run is to be followed from an acquisition on, given a random number: from all
/// that are timed in any case, and from one in [`RUNS`] that are by chance. The record of a lock
/// moves with it between threads, so following costs more than timing.
pub(crate) fn is_chosen(chosen: Chosen, random: u64) -> bool {
    match chosen {
        Chosen::ByChance { every } => every == 1 || random.is_multiple_of(RUNS),
        Chosen::Early { by_thread } => by_thread,
        Chosen::Not => false,
    }
}

/// Returns true if an acquisition by this thread has to look at the lock's record.
#[inline(always)]
pub(crate) fn is_watched(lock: u64, thread: u32) -> bool {
    // Relaxed: a hint. What is known of a lock is in its record, which its holder alone reads.
    let found = place(lock).load(Ordering::Relaxed) ^ lock;
    found << (u64::BITS - OWNER) == 0 && found >> OWNER != owner(thread)
}

/// Asks for the record of a lock that is about to be acquired.
///
/// # Safety
///
/// The entry is one of the running thread.
pub(crate) unsafe fn prefetch(entry: *const Entry) {
    // SAFETY: the caller's. The instruction has no effect, so an address need not be valid.
    unsafe { _mm_prefetch(at::<i8>((*entry).record), _MM_HINT_T0) };
}

/// Follows an exclusive acquisition that [`is_chosen`], or of a watched lock. `events` is the count
/// of its slot.
///
/// # Safety
///
/// The entry has a record of the lock, which the running thread holds.
#[inline(never)]
pub(crate) unsafe fn acquired(
    entry: *const Entry,
    lock: u64,
    thread: u32,
    is_sampled: bool,
    events: u64,
) {
    let (place, mark) = (place(lock), owner(thread) << OWNER);
    // If all acquisitions are timed, all runs are followed.
    let all = sample::every() == 1;
    // Relaxed: as in `is_watched`.
    let found = place.load(Ordering::Relaxed);
    let is_watched = all || found << (u64::BITS - OWNER) == lock << (u64::BITS - OWNER);
    // SAFETY: the caller's. The holder alone reads and writes the record.
    unsafe {
        let record: *mut Lock = at((*entry).record);
        let is_pending = (*record).cpu & NEXT_IS_SEEN != 0;
        let mut is_followed = is_watched && (*record).thread == thread;
        if is_followed {
            let number = (crate::memory::offset_of(entry) / ENTRY_UNIT) as u32;
            let same = (*record).entry == number;
            let since =
                if same { ((events / EVENT) as u32).wrapping_sub((*record).events) } else { 1 };
            (*record).run = (*record).run.saturating_add(since);
            (*record).followed = (*record).followed.saturating_add(u32::from(is_pending));
        } else if is_watched && (*record).thread != 0 {
            handed_over(record, is_pending);
        }
        if is_sampled && !is_followed {
            ((*record).thread, (*record).run) = (thread, 1);
            is_followed = true;
        }
        let now =
            if is_sampled { cpu() as u16 | NEXT_IS_SEEN } else { (*record).cpu & !NEXT_IS_SEEN };
        (*record).cpu = now;
        if !is_followed {
            (*record).thread = 0;
            // Another lock may have taken the place meanwhile, and keeps it.
            let _ = place.compare_exchange(found, 0, Ordering::Relaxed, Ordering::Relaxed);
            return;
        }
        (*record).entry = (crate::memory::offset_of(entry) / ENTRY_UNIT) as u32;
        (*record).events = (events / EVENT) as u32;
        (*record).longest_run = (*record).longest_run.max((*record).run);
        if is_sampled {
            place.store(lock, Ordering::Relaxed);
        } else if !all {
            let _ =
                place.compare_exchange(found, lock | mark, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// Ends a run: the lock has come to another thread.
unsafe fn handed_over(record: *mut Lock, is_pending: bool) {
    // SAFETY: as in `acquired`.
    unsafe {
        if is_pending {
            (*record).followed = (*record).followed.saturating_add(1);
            let distance = distance(u32::from((*record).cpu & !NEXT_IS_SEEN), cpu());
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
