//! Slots of threads, their queue nodes and records, all in static memory. Only pages that are used
//! take memory.
//!
//! A thread leases a slot when it first waits in a queue or for a condition, without allocation,
//! and keeps it until it ends. No code of this library runs at a thread's end: a thread-specific
//! key would take one of the program's keys, and its values may need the allocator, like other
//! calls at the end of a thread. So each slot has a *guard* (`guard.rs`), which shows that its
//! thread has ended. A thread that finds no slot below a limit collects the slots of threads that
//! have ended.

use crate::guard::Guard;
use crate::local::local;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use lockyard::platform::{Announcement, NEST_LEVELS, NativeAtomics, QueueNode, Slot, SlotLeases};

/// Number of slots: a queued lock's tail has 14 bits for the slot, in which 0 means no thread.
pub(crate) const SLOTS: u32 = 16_383;

#[repr(C, align(64))]
struct Line([QueueNode<NativeAtomics>; NEST_LEVELS as usize]);

static NODES: [Line; SLOTS as usize] =
    [const { Line([const { QueueNode::UNUSED }; NEST_LEVELS as usize]) }; SLOTS as usize];

/// The wait of a slot's thread for a condition, for the thread that cancels it.
pub(crate) struct Record {
    /// Identifier of the thread (`pthread_t`), or 0.
    pub(crate) thread: AtomicUsize,
    /// Address of the word where it sleeps, or 0.
    pub(crate) word: AtomicUsize,
    /// [`CANCELLED`], [`DECLINED`] or 0.
    pub(crate) cancelled: AtomicU32,
}

/// Value of [`Record::cancelled`]: the thread has been cancelled since its wait began.
pub(crate) const CANCELLED: u32 = 1;
/// Value of [`Record::cancelled`]: the thread has seen that, and cannot be cancelled now.
pub(crate) const DECLINED: u32 = 2;

static RECORDS: [Record; SLOTS as usize] = [const {
    Record { thread: AtomicUsize::new(0), word: AtomicUsize::new(0), cancelled: AtomicU32::new(0) }
}; SLOTS as usize];

impl Record {
    /// Returns true if this is the record of the given thread.
    pub(crate) fn is_of(&self, thread: usize) -> bool {
        self.thread.load(Ordering::Relaxed) == thread
    }
}

static GUARDS: [Guard; SLOTS as usize] = [const { Guard::new() }; SLOTS as usize];

static LEASES: SlotLeases<{ SLOTS.div_ceil(64) as usize }> = SlotLeases::new(SLOTS);

/// Number of slots below which all leases have been, since the process began.
static HIGHEST: AtomicU32 = AtomicU32::new(0);

/// Number of slots that a process may lease before it collects the slots of ended threads.
const FIRST_LIMIT: u32 = 64;

/// Number of slots from which on a thread collects first: twice the number leased after the last
/// collection. So a thread pays for two other threads at most.
static LIMIT: AtomicU32 = AtomicU32::new(FIRST_LIMIT);

/// True while a thread collects.
static COLLECTS: AtomicBool = AtomicBool::new(false);

const LINES: usize = 512;
const IN_LINE: usize = 8;

#[repr(C, align(64))]
struct Announcements([Announcement<NativeAtomics>; IN_LINE]);

static ANNOUNCED: [Announcements; LINES] =
    [const { Announcements([const { Announcement::UNUSED }; IN_LINE]) }; LINES];

/// Returns a line of the table of waiters that park.
#[inline]
pub(crate) fn announcements(hash: u64) -> &'static [Announcement<NativeAtomics>] {
    &ANNOUNCED[hash as usize % LINES].0
}

/// Returns a queue node.
#[inline]
pub(crate) fn node(slot: Slot, level: u32) -> &'static QueueNode<NativeAtomics> {
    &NODES[slot.0 as usize].0[level as usize]
}

/// Returns true if the word is in a queue node.
#[inline]
pub(crate) fn is_in_node(word: *const u32) -> bool {
    let first = NODES.as_ptr().addr();
    word.addr().wrapping_sub(first) < size_of_val(&NODES)
}

/// Returns the running thread's slot, if it has one.
#[inline]
pub(crate) fn mine() -> Option<Slot> {
    // SAFETY: the thread's own data.
    let slot = unsafe { (*local()).slot };
    (slot != 0).then(|| Slot(slot - 1))
}

/// Returns the record of a slot.
pub(crate) fn record(slot: Slot) -> &'static Record {
    &RECORDS[slot.0 as usize]
}

/// Returns all slots that were ever leased.
pub(crate) fn leased() -> impl Iterator<Item = Slot> {
    // Relaxed: see `cancel.rs`, where a fence orders it.
    (0..HIGHEST.load(Ordering::Relaxed)).map(Slot)
}

/// Leases the lowest free slot. `is_idle` says whether no queue has a node of a slot.
pub(crate) fn take(is_idle: fn(Slot) -> bool) -> Option<Slot> {
    let mut slot = LEASES.take();
    if slot.is_none_or(|slot| slot.0 >= LIMIT.load(Ordering::Relaxed)) && collect(is_idle) {
        slot.into_iter().for_each(|slot| LEASES.give_back(slot));
        slot = LEASES.take();
    }
    let slot = slot?;
    HIGHEST.fetch_max(slot.0 + 1, Ordering::Relaxed);
    GUARDS[slot.0 as usize].hold();
    Some(slot)
}

/// Ends the running thread's lease of a slot.
pub(crate) fn give_back(slot: Slot) {
    GUARDS[slot.0 as usize].give_up();
    LEASES.give_back(slot);
}

/// Returns true if the thread that has leased the slot has ended.
pub(crate) fn has_ended(slot: Slot) -> bool {
    GUARDS[slot.0 as usize].is_abandoned()
}

/// Locks the guard of the running thread's slot, in the child of a fork.
pub(crate) fn guard_mine() {
    if let Some(slot) = mine() {
        GUARDS[slot.0 as usize].hold();
    }
}

/// Ends the leases of threads that have ended. Returns false if another thread is doing so, or if
/// no thread has ended.
#[cold]
fn collect(is_idle: fn(Slot) -> bool) -> bool {
    // Acquire, and release below: one thread collects at a time, so that a slot that is leased
    // again does not count as abandoned.
    if COLLECTS.swap(true, Ordering::Acquire) {
        return false;
    }
    let (mut kept, mut ended) = (0, 0);
    for slot in leased() {
        // A thread that vanished from a wait has left its node in a queue.
        if has_ended(slot) && is_idle(slot) {
            record(slot).thread.store(0, Ordering::Relaxed);
            GUARDS[slot.0 as usize].forget();
            LEASES.give_back(slot);
            ended += 1;
        } else {
            kept += 1;
        }
    }
    LIMIT.store(FIRST_LIMIT.max(kept * 2), Ordering::Relaxed);
    COLLECTS.store(false, Ordering::Release);
    ended > 0
}

/// Forgets all threads except the running one.
///
/// # Safety
///
/// The process must be the child of a fork, with one thread that is not in a wait.
pub(crate) unsafe fn forget_others() {
    let mine = mine();
    let highest = HIGHEST.load(Ordering::Relaxed);
    for slot in (0..highest).map(Slot).filter(|&slot| Some(slot) != mine) {
        // SAFETY: the bytes of a node are atomic words, whose initial value is 0. No other thread
        // exists, and this one uses no node of another slot.
        unsafe {
            let line = (&raw const NODES[slot.0 as usize]).cast_mut();
            line.cast::<u8>().write_bytes(0, size_of::<Line>());
        }
        record(slot).thread.store(0, Ordering::Relaxed);
        record(slot).word.store(0, Ordering::Relaxed);
        GUARDS[slot.0 as usize].forget();
    }
    if let Some(slot) = mine {
        GUARDS[slot.0 as usize].forget();
    }
    COLLECTS.store(false, Ordering::Relaxed);
    LIMIT.store(FIRST_LIMIT, Ordering::Relaxed);
    LEASES.keep_only(mine);
    HIGHEST.store(mine.map_or(0, |slot| slot.0 + 1), Ordering::Relaxed);
    for line in &ANNOUNCED {
        let line = (&raw const *line).cast_mut().cast::<u64>();
        for place in (0..IN_LINE).map(|place| line.wrapping_add(place)) {
            // SAFETY: an announcement is one atomic word, whose initial value is 0. Pages that
            // no thread has written are only read.
            unsafe {
                if place.read() != 0 {
                    place.write(0);
                }
            }
        }
    }
}
