//! The [mutex](super::adaptive)'s lock word, and the work of the thread with the queue lock. That
//! thread removes sleepers, and wakes them or hands them the lock.

use super::patience::Patience;
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

/// State of a waiter's node: the waiter is awake. (Other locks store smaller values in that word,
/// and may change only their own values. See [`super::pv`].)
pub(super) const WAITING: u32 = 8;
/// A waiter's node: it sleeps until it is called or nudged, or is about to.
pub(super) const ASLEEP: u32 = 9;
/// A waiter's node: it has left the queue, and competes for the lock.
pub(super) const CALLED: u32 = 10;
/// A waiter's node: it has left the queue, and holds the lock.
pub(super) const GRANTED: u32 = 11;
/// A waiter's node: it naps, or is about to.
pub(super) const NAPPING: u32 = 12;
/// A waiter's node: it is in the queue, and must look at the lock before it sleeps again.
pub(super) const NUDGED: u32 = 13;

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

/// Releases the lock when a thread sleeps or demands the lock.
#[cold]
#[inline(never)]
pub(super) fn release<P: Patience, H: HostWithSlots, L: Lane>(lane: L) {
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
    if seen.to_u64() & DEMAND == 0 {
        return wake_oldest::<H, L>(lane, HELD);
    }
    let mut nudged = None;
    let oldest = remove_oldest::<H, L>(
        lane,
        // It is about to become the oldest. The nudge tells it so, and it demands the lock in time.
        |second| {
            nudged =
                Some(second).filter(|_| P::NAP.is_some() && nudge::<H>(second, Nudge::IfAsleep))
        },
        hands_over,
    );
    call::<H>(oldest, GRANTED);
    unpark_nudged::<H>(nudged);
}

/// The change of the word by a hand-over.
fn hands_over(bits: u64) -> u64 {
    bits & !(QUEUE_LOCK | DEMAND)
}

/// Hands the lock to the oldest sleeper. The caller holds the lock and the queue lock, and gives
/// both away. The queue is not empty.
pub(super) fn hand_over<H: HostWithSlots, L: Lane>(lane: L) {
    let oldest = remove_oldest::<H, L>(lane, |_| {}, hands_over);
    call::<H>(oldest, GRANTED);
}

/// Wakes the oldest sleeper, so that it competes for the lock. Gives the queue lock back, and
/// clears `clear` in the word. The queue is not empty.
fn wake_oldest<H: HostWithSlots, L: Lane>(lane: L, clear: u64) {
    let change = |bits| bits & !(QUEUE_LOCK | DEMAND | clear) | AWAKE;
    let oldest = remove_oldest::<H, L>(lane, |_| {}, change);
    call::<H>(oldest, CALLED);
}

/// Removes the oldest sleeper and applies `change` to the word, which gives the queue lock back.
/// Before that it calls `see` with the sleeper that becomes the oldest, unless that sleeper joins
/// only now. After the change of the word, the lock's memory is not touched. The caller has the
/// queue lock, or is the only thread that may remove sleepers.
pub(super) fn remove_oldest<H: HostWithSlots, L: Lane>(
    lane: L,
    mut see: impl FnMut(Name),
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
                    see(sleepers::oldest::<H>(last));
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

/// Tells a thread that has left the queue its next state. After that, the node belongs to that
/// thread again.
pub(super) fn call<H: HostWithSlots>(name: Name, what: u32) {
    let ready = &name.node::<H>().ready;
    // Release: pairs with the acquire load of the thread that is called. A nudged thread may still
    // sleep: the thread that nudged it wakes it later, and may be preempted before that.
    if matches!(ready.swap(what, Ordering::Release), ASLEEP | NAPPING | NUDGED) {
        H::count(Event::Kick);
        H::unpark(ready, 1);
    }
}

/// The sleepers to nudge.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nudge {
    /// Only a sleeper that sleeps until it is called. A nap ends soon enough.
    IfAsleep,
    /// Any sleeper: it must look at the lock after the nudge.
    Always,
}

/// Makes a sleeper look at the lock, and leaves it in the queue. The caller has the queue lock. If
/// the result is true, it calls [`unpark_nudged`] after it has given the queue lock back.
pub(super) fn nudge<H: HostWithSlots>(name: Name, which: Nudge) -> bool {
    let ready = &name.node::<H>().ready;
    let always = which == Nudge::Always;
    // Relaxed, all: the sleeper reads the word, and nothing else that this thread has written.
    let mut seen = ready.load(Ordering::Relaxed);
    loop {
        let sleeps = seen == ASLEEP || seen == NAPPING && always;
        // The sleeper may already have decided to sleep until it is called.
        let is_about_to_sleep = seen == WAITING;
        if !sleeps && !is_about_to_sleep {
            return false;
        }
        match ready.compare_exchange(seen, NUDGED, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return sleeps,
            Err(actual) => seen = actual,
        }
    }
}

/// Wakes a sleeper that was nudged. If its node has another use by now, the thread there wakes up
/// spuriously, and looks again.
pub(super) fn unpark_nudged<H: HostWithSlots>(name: Option<Name>) {
    if let Some(name) = name {
        H::count(Event::Kick);
        H::unpark(&name.node::<H>().ready, 1);
    }
}

/// Takes the queue lock if the word is `seen`, where no thread has it. Returns the new word.
pub(super) fn try_lock_queue<L: Lane>(lane: L, seen: L::Bits) -> Option<u64> {
    let new = seen.to_u64() | QUEUE_LOCK;
    // Acquire: pairs with the release that gave the queue lock back, and with the releases of the
    // threads that have joined.
    lane.compare_exchange(seen, as_bits::<L>(new), Ordering::Acquire).is_ok().then_some(new)
}

/// Takes the queue lock, and returns the word.
pub(super) fn lock_queue<H: HostWithSlots, L: Lane>(lane: L) -> u64 {
    loop {
        let seen = lane.wait_yielding::<H>(Ordering::Relaxed, |bits| bits & QUEUE_LOCK == 0);
        if let Some(new) = try_lock_queue::<L>(lane, seen) {
            return new;
        }
    }
}

/// Gives the queue lock back, and clears and sets bits of the word. If the lock is then free, and a
/// sleeper needs a wake-up, wakes the oldest sleeper.
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
