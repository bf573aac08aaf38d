//! The word of the [mutex](super::adaptive), and the work of the thread with the queue lock. It
//! removes sleepers, and wakes them or hands them the lock.

use super::queue::Name;
use super::sleepers;
use crate::lane::Lane;
use crate::platform::{Event, HostWithSlots, Int, Ordering, Word};

/// The lock is held.
pub(super) const HELD: u64 = 1;
/// The queue is not empty.
pub(super) const QUEUED: u64 = 1 << 8;
/// A thread that was woken from the queue is awake.
pub(super) const AWAKE: u64 = 1 << 9;
/// The next release hands over.
pub(super) const DEMAND: u64 = 1 << 10;
/// The queue lock.
pub(super) const QUEUE_LOCK: u64 = 1 << 11;
/// One spinner.
pub(super) const SPINNER: u64 = 1 << 12;
/// The number of spinners.
const SPINNERS: u64 = 15 * SPINNER;
/// The name of the newest sleeper.
const NEWEST: u32 = 16;

/// A waiter's node: it waits, awake. (Other locks use smaller values in that word, and may change
/// only theirs. See [`super::pv`].)
pub(super) const WAITING: u32 = 8;
/// A waiter's node: it sleeps, or is about to.
pub(super) const ASLEEP: u32 = 9;
/// A waiter's node: it has left the queue, and competes for the lock.
pub(super) const CALLED: u32 = 10;
/// A waiter's node: it has left the queue, and holds the lock.
pub(super) const GRANTED: u32 = 11;

#[inline(always)]
pub(super) fn as_bits<L: Lane>(bits: u64) -> L::Bits {
    L::Bits::truncate(bits)
}

/// Returns true if the lock is free.
#[inline(always)]
pub(super) fn is_free(bits: u64) -> bool {
    bits & HELD == 0
}

/// Returns the number of spinners.
pub(super) fn spinners(bits: u64) -> u32 {
    ((bits & SPINNERS) / SPINNER) as u32
}

/// Returns the newest sleeper.
pub(super) fn newest(bits: u64) -> Option<Name> {
    Name::from_bits(bits >> NEWEST & 0xffff)
}

/// Returns `bits` with another newest sleeper.
pub(super) fn with_newest(bits: u64, newest: Option<Name>) -> u64 {
    let rest = bits & !(0xffff << NEWEST | QUEUED);
    newest.map_or(rest, |name| rest | QUEUED | name.to_bits() << NEWEST)
}

/// Returns true if the threads that sleep need a wake-up once the lock is free.
#[inline(always)]
pub(super) fn needs_wake_up(bits: u64) -> bool {
    bits & (QUEUED | AWAKE | SPINNERS) == QUEUED
}

/// Returns true if a release may just free the lock.
#[inline(always)]
pub(super) fn is_simple(bits: u64) -> bool {
    bits & DEMAND == 0 && !needs_wake_up(bits)
}

/// Releases the lock when someone sleeps or demands it.
#[cold]
#[inline(never)]
pub(super) fn release<H: HostWithSlots, L: Lane>(lane: L) {
    let mut seen = lane.load(Ordering::Relaxed);
    loop {
        let bits = seen.to_u64();
        let leaves = is_simple(bits) || bits & QUEUE_LOCK != 0;
        let new = if leaves { bits & !HELD } else { bits | QUEUE_LOCK };
        // Release: pairs with the acquire of the next holder. The queue lock is taken without
        // acquire: `remove_oldest` acquires before it follows links.
        match lane.compare_exchange(seen, as_bits::<L>(new), Ordering::Release) {
            // The thread with the queue lock looks at the lock when it gives the queue lock back.
            Ok(_) if leaves => return,
            Ok(_) => {
                seen = as_bits::<L>(new);
                break;
            }
            Err(actual) => seen = actual,
        }
    }
    if seen.to_u64() & DEMAND != 0 {
        hand_over::<H, L>(lane);
    } else {
        wake_oldest::<H, L>(lane, HELD);
    }
}

/// Hands the lock to the oldest sleeper. The caller holds the lock and the queue lock, and gives
/// both away. The queue is not empty.
pub(super) fn hand_over<H: HostWithSlots, L: Lane>(lane: L) {
    let oldest = remove_oldest::<H, L>(lane, |bits| bits & !(QUEUE_LOCK | DEMAND));
    call::<H>(oldest, GRANTED);
}

/// Wakes the oldest sleeper, so that it competes for the lock. Gives the queue lock back, and
/// clears `clear` in the word. The queue is not empty.
fn wake_oldest<H: HostWithSlots, L: Lane>(lane: L, clear: u64) {
    let change = |bits| bits & !(QUEUE_LOCK | DEMAND | clear) | AWAKE;
    let oldest = remove_oldest::<H, L>(lane, change);
    call::<H>(oldest, CALLED);
}

/// Removes the oldest sleeper and applies `change` to the word, which gives the queue lock back.
/// After that, the lock's memory is not touched. The caller has the queue lock, or is the only
/// thread that may remove sleepers.
pub(super) fn remove_oldest<H: HostWithSlots, L: Lane>(
    lane: L,
    change: impl Fn(u64) -> u64,
) -> Name {
    let mut removed = None;
    loop {
        // Acquire: pairs with the releases of the threads that have joined, also those that joined
        // after this thread took the queue lock.
        let seen = lane.load(Ordering::Acquire);
        let Some(last) = newest(seen.to_u64()) else {
            H::fatal("mutex: the queue is empty, but its mark is set");
        };
        let mut new = seen.to_u64();
        let oldest = match removed {
            Some(name) => name,
            None => {
                let oldest = sleepers::oldest::<H>(last);
                if oldest == last {
                    new = with_newest(new, None);
                } else {
                    sleepers::remove::<H>(last, oldest);
                    removed = Some(oldest);
                }
                sleepers::mark_removed::<H>(oldest);
                oldest
            }
        };
        // Release: pairs with the acquire of the next holder, and of the next thread with the queue
        // lock.
        if lane.compare_exchange(seen, as_bits::<L>(change(new)), Ordering::Release).is_ok() {
            return oldest;
        }
    }
}

/// Tells a thread that has left the queue what it may do. Its node is its own again after that.
pub(super) fn call<H: HostWithSlots>(name: Name, what: u32) {
    let ready = &name.node::<H>().ready;
    // Release: pairs with the acquire load of the thread that is called.
    if ready.swap(what, Ordering::Release) == ASLEEP {
        H::count(Event::Kick);
        H::unpark(ready, 1);
    }
}

/// Takes the queue lock, and returns the word.
pub(super) fn lock_queue<H: HostWithSlots, L: Lane>(lane: L) -> u64 {
    loop {
        let seen = lane.wait_yielding::<H>(Ordering::Relaxed, |bits| bits & QUEUE_LOCK == 0);
        let new = seen.to_u64() | QUEUE_LOCK;
        // Acquire: pairs with the release that gave the queue lock back, and with those of the
        // threads that have joined.
        if lane.compare_exchange(seen, as_bits::<L>(new), Ordering::Acquire).is_ok() {
            return new;
        }
    }
}

/// Gives the queue lock back, and clears and sets bits of the word. If the lock is then free, and
/// a sleeper needs a wake-up, it wakes the oldest.
pub(super) fn unlock_queue<H: HostWithSlots, L: Lane>(
    lane: L,
    mut seen: u64,
    clear: u64,
    set: u64,
) {
    loop {
        let new = seen & !(QUEUE_LOCK | clear) | set;
        if is_free(new) && needs_wake_up(new) {
            return wake_oldest::<H, L>(lane, clear);
        }
        // Release: pairs with the acquire of the next thread with the queue lock, and, if `clear`
        // has `HELD`, of the next holder.
        match lane.compare_exchange(as_bits::<L>(seen), as_bits::<L>(new), Ordering::Release) {
            Ok(_) => return,
            Err(actual) => seen = actual.to_u64(),
        }
    }
}
