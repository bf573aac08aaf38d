//! Tables of a thread: its slots by lock and call site, its pairs of two locks; and the locks that
//! all threads share.

use crate::maps;
use crate::memory::{allocate, at, offset_of};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};
use lockyard_records::{
    ENTRY_UNIT, Entry, HEAD_BITS, Held, Kind, Lock, Pair, Slot, TABLE_HEADER, Thread, event,
    head_of, key, mixed,
};

/// Sizes of new tables.
const FIRST_SLOTS: u32 = 32;
const FIRST_PAIRS: u32 = 16;
const FIRST_SEEN: u32 = 64;

/// Share of a table's places that are used at most: one in this number. A slot or a fingerprint is
/// then mostly in the first place where it is looked for, so that the processor predicts the way of
/// a program that takes many locks.
const USED: u32 = 4;

/// Returns the slot with a key, or null if there is none.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder.
#[inline(always)]
pub(crate) unsafe fn find(thread: *mut Thread, key: u64) -> *mut Slot {
    // SAFETY: the caller's; only this thread changes the table, whose places are below its size.
    unsafe {
        let table: *mut Slot = at((*thread).slots);
        let mask = (*thread).slot_mask;
        let mut index = key as u32;
        loop {
            let slot = table.add((index & mask) as usize);
            if (*slot).key == key {
                return slot;
            }
            if (*slot).key == 0 {
                return null_mut();
            }
            index = index.wrapping_add(1);
        }
    }
}

/// Returns the slot of a lock and a call site, or null if there is no room for it.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder. `key` is that of the lock and
/// the site.
pub(crate) unsafe fn slot(
    thread: *mut Thread,
    key: u64,
    lock: u64,
    site: u64,
    kind: Kind,
) -> *mut Slot {
    // SAFETY: the caller's.
    unsafe {
        let slot = find(thread, key);
        if slot.is_null() { new_slot(thread, key, [lock, site], kind) } else { slot }
    }
}

#[cold]
unsafe fn new_slot(thread: *mut Thread, key: u64, [lock, site]: [u64; 2], kind: Kind) -> *mut Slot {
    // SAFETY: as in `slot`. What is allocated is this thread's until it is published.
    unsafe {
        let room = (*thread).slot_mask + 1;
        if ((*thread).slot_count + 1) * USED > room && !more_slots(thread) {
            return null_mut();
        }
        let record = shared(lock, kind);
        let entry: *mut Entry = allocate(size_of::<Entry>(), ENTRY_UNIT as usize).cast();
        if record.is_null() || entry.is_null() {
            return null_mut();
        }
        (*entry).lock = lock;
        (*entry).site = site;
        (*entry).record = offset_of(record);
        let slot = insert(
            at((*thread).slots),
            (*thread).slot_mask,
            Slot { key, count: offset_of(entry) / ENTRY_UNIT },
        );
        (*thread).slot_count += 1;
        maps::note(site & !event::MASK);
        slot
    }
}

/// Inserts a slot into a table with room for it.
unsafe fn insert(table: *mut Slot, mask: u32, new: Slot) -> *mut Slot {
    // SAFETY: the caller's; the places are below the size.
    unsafe {
        let mut index = new.key as u32;
        loop {
            let slot = table.add((index & mask) as usize);
            if (*slot).key == 0 {
                *slot = new;
                return slot;
            }
            index = index.wrapping_add(1);
        }
    }
}

/// Makes the first table of slots. Returns false if there is no room.
///
/// # Safety
///
/// The records are the running thread's, which is inside the recorder.
pub(crate) unsafe fn first_slots(thread: *mut Thread) -> bool {
    // SAFETY: the caller's.
    unsafe { publish_slots(thread, new_table(FIRST_SLOTS), FIRST_SLOTS) }
}

/// Returns a new table of slots, or null. Its size lies before it: a reader that comes in the
/// middle of a change finds table and size together.
unsafe fn new_table(size: u32) -> *mut Slot {
    // SAFETY: there is a mapping.
    unsafe {
        let bytes = allocate(TABLE_HEADER as usize + size as usize * size_of::<Slot>(), 64);
        if bytes.is_null() {
            return null_mut();
        }
        bytes.cast::<u64>().write(u64::from(size));
        bytes.add(TABLE_HEADER as usize).cast()
    }
}

unsafe fn publish_slots(thread: *mut Thread, table: *mut Slot, size: u32) -> bool {
    if table.is_null() {
        return false;
    }
    // SAFETY: as in `first_slots`.
    unsafe {
        (*thread).slots = offset_of(table);
        (*thread).slot_mask = size - 1;
    }
    true
}

/// Doubles the table of slots. Returns false if there is no room.
unsafe fn more_slots(thread: *mut Thread) -> bool {
    // SAFETY: as in `slot`.
    unsafe {
        let (old, room) = (at::<Slot>((*thread).slots), (*thread).slot_mask + 1);
        let table = new_table(room * 2);
        if table.is_null() {
            return false;
        }
        for index in 0..room as usize {
            let slot = *old.add(index);
            if slot.key != 0 {
                insert(table, room * 2 - 1, slot);
            }
        }
        publish_slots(thread, table, room * 2)
    }
}

/// Returns what all threads share of a lock, or null if there is no room for it.
unsafe fn shared(address: u64, kind: Kind) -> *mut Lock {
    // SAFETY: there is a mapping. A lock's address is not changed once it is in a tree.
    unsafe {
        let mut way = Way::of(address);
        let mut new: *mut Lock = null_mut();
        loop {
            let found = way.find(address);
            if !found.is_null() {
                return found;
            }
            if new.is_null() {
                new = allocate(size_of::<Lock>(), 64).cast();
                if new.is_null() {
                    return new;
                }
                (*new).address = address;
                (*new).kind = kind as u16;
            }
            let offset = (offset_of(new) / 64) as u32;
            // Release: pairs with the acquire in `find`, so that the lock is complete. After a
            // failure, another lock is in this place, and the way goes on below it.
            if way.at.compare_exchange(0, offset, Ordering::Release, Ordering::Relaxed).is_ok() {
                return new;
            }
        }
    }
}

/// Way through a tree of locks.
struct Way {
    /// Word in which the tree goes on.
    at: &'static AtomicU32,
    /// Bits of the hash, the next one first.
    bits: u64,
}

impl Way {
    /// Returns the beginning of a lock's way.
    unsafe fn of(address: u64) -> Way {
        // SAFETY: there is a mapping, whose header has the place of the heads. They and the
        // children are accessed by atomic operations only.
        unsafe {
            let heads: *mut u32 = at((*crate::memory::header()).heads);
            let at = AtomicU32::from_ptr(heads.add(head_of(address)));
            Way { at, bits: mixed(address) << HEAD_BITS }
        }
    }

    /// Follows the way to a lock, or to the end. Returns null there.
    unsafe fn find(&mut self, address: u64) -> *mut Lock {
        loop {
            // Acquire: pairs with the release in `shared`.
            let offset = self.at.load(Ordering::Acquire);
            if offset == 0 {
                return null_mut();
            }
            let lock: *mut Lock = at(u64::from(offset) * 64);
            // SAFETY: the locks of a tree are complete, and stay.
            unsafe {
                if (*lock).address == address {
                    return lock;
                }
                let child = (self.bits >> 63) as usize;
                self.at = AtomicU32::from_ptr(&raw mut (*lock).children[child]);
            }
            self.bits <<= 1;
        }
    }
}

/// Counts that a lock was destroyed, if it was ever acquired.
///
/// # Safety
///
/// There is a mapping.
pub(crate) unsafe fn destroyed(address: u64) {
    // SAFETY: as in `shared`. The count is accessed by atomic operations only: another thread may
    // already have a new lock at this address, and destroy it.
    unsafe {
        let lock = Way::of(address).find(address);
        if !lock.is_null() {
            AtomicU32::from_ptr(&raw mut (*lock).destroyed).fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Records that `inner` was acquired while `outer` was held. `tried` is true for a call that does
/// not wait. Each order is recorded when it is new; later acquisitions only if they have a weight.
/// Returns false if there is no room.
///
/// # Safety
///
/// As for [`slot`].
pub(crate) unsafe fn nested(
    thread: *mut Thread,
    outer: Held,
    inner: [u64; 2],
    tried: bool,
    weight: u64,
) -> bool {
    let key = key_of_pair(outer.lock, inner[0], tried);
    // SAFETY: the caller's.
    unsafe {
        let is_new = !is_seen(thread, key);
        if !is_new && weight == 0 {
            return true;
        }
        let weight = if is_new { weight.max(1) } else { weight };
        count_pair(thread, key, outer, inner, tried, weight)
    }
}

/// Returns true if it is known that `inner` is acquired while `outer` is held, by a call that may
/// wait.
///
/// # Safety
///
/// As for [`slot`].
#[inline(always)]
pub(crate) unsafe fn is_order_known(thread: *mut Thread, outer: u64, inner: u64) -> bool {
    // SAFETY: the caller's.
    unsafe { is_seen(thread, key_of_pair(outer, inner, false)) }
}

#[inline(always)]
fn key_of_pair(outer: u64, inner: u64, tried: bool) -> u64 {
    key(outer, inner | if tried { event::FAILED } else { 0 })
}

/// Returns true if a pair is known, by a fingerprint of 32 bits: two pairs in a row of the table
/// share it with a probability of 2^-32, and then the second one is not recorded.
#[inline(always)]
unsafe fn is_seen(thread: *mut Thread, key: u64) -> bool {
    // SAFETY: as in `nested`; the places are below the table's size.
    unsafe {
        if (*thread).seen == 0 {
            return false;
        }
        let table: *mut u32 = at((*thread).seen);
        let (mark, mask) = (fingerprint(key), (*thread).seen_mask);
        let mut index = key as u32;
        loop {
            let found = *table.add((index & mask) as usize);
            if found == 0 || found == mark {
                return found != 0;
            }
            index = index.wrapping_add(1);
        }
    }
}

fn fingerprint(key: u64) -> u32 {
    ((key >> 32) as u32).max(1)
}

unsafe fn see(table: *mut u32, mask: u32, key: u64) {
    // SAFETY: as in `is_seen`; the table has room.
    unsafe {
        let mut index = key as u32;
        while *table.add((index & mask) as usize) != 0 {
            index = index.wrapping_add(1);
        }
        *table.add((index & mask) as usize) = fingerprint(key);
    }
}

/// Counts a pair with this key. A new one has a weight.
#[cold]
unsafe fn count_pair(
    thread: *mut Thread,
    key: u64,
    outer: Held,
    inner: [u64; 2],
    tried: bool,
    weight: u64,
) -> bool {
    // SAFETY: as in `nested`.
    unsafe {
        if ((*thread).pair_count + 1) * 4 > (*thread).pair_room * 3 && !more_pairs(thread) {
            return false;
        }
        if ((*thread).seen_count + 1) * USED > (*thread).seen_size() && !more_seen(thread) {
            return false;
        }
        let pair = pair(at((*thread).pairs), (*thread).pair_room, outer.lock, inner[0]);
        if (*pair).inner == 0 {
            let outer_entry: *const Entry = at(outer.entry);
            *pair = Pair {
                outer: outer.lock,
                outer_site: (*outer_entry).site & !event::MASK,
                inner_site: inner[1],
                ..Pair::default()
            };
            (*pair).inner = inner[0];
            (*thread).pair_count += 1;
        }
        if !is_seen(thread, key) {
            see(at((*thread).seen), (*thread).seen_mask, key);
            (*thread).seen_count += 1;
        }
        if tried {
            (*pair).tried += weight;
        } else {
            (*pair).waiting += weight;
        }
        true
    }
}

/// Doubles the table of fingerprints. Returns false if there is no room.
unsafe fn more_seen(thread: *mut Thread) -> bool {
    // SAFETY: as in `nested`. A fingerprint does not tell its place in a larger table, but the
    // pairs do.
    unsafe {
        let size = ((*thread).seen_size() * 2).max(FIRST_SEEN);
        let table: *mut u32 = allocate(size as usize * size_of::<u32>(), 64).cast();
        if table.is_null() {
            return false;
        }
        for index in 0..(*thread).pair_room as usize {
            let pair = *at::<Pair>((*thread).pairs).add(index);
            for (tried, count) in [(false, pair.waiting), (true, pair.tried)] {
                if pair.inner != 0 && count > 0 {
                    see(table, size - 1, key_of_pair(pair.outer, pair.inner, tried));
                }
            }
        }
        (*thread).seen = offset_of(table);
        (*thread).seen_mask = size - 1;
        true
    }
}

/// Returns the place of a pair in a table: its own or an empty one.
unsafe fn pair(table: *mut Pair, room: u32, outer: u64, inner: u64) -> *mut Pair {
    let mut index = key(outer, inner) as u32;
    loop {
        // SAFETY: the caller's; the place is below the room.
        let pair = unsafe { table.add((index & (room - 1)) as usize) };
        // SAFETY: as above.
        let (there, here) = unsafe { ((*pair).outer, (*pair).inner) };
        if here == 0 || (there == outer && here == inner) {
            return pair;
        }
        index = index.wrapping_add(1);
    }
}

unsafe fn more_pairs(thread: *mut Thread) -> bool {
    // SAFETY: as in `nested`.
    unsafe {
        let (old, old_room) = ((*thread).pairs, (*thread).pair_room);
        let room = if old_room == 0 { FIRST_PAIRS } else { old_room * 2 };
        let table: *mut Pair = allocate(room as usize * size_of::<Pair>(), 64).cast();
        if table.is_null() {
            return false;
        }
        for index in 0..old_room as usize {
            let found = *at::<Pair>(old).add(index);
            if found.inner != 0 {
                *pair(table, room, found.outer, found.inner) = found;
            }
        }
        (*thread).pairs = offset_of(table);
        (*thread).pair_room = room;
        true
    }
}
