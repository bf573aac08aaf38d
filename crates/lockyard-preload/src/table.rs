//! Tables of a thread: its entries by lock and call site, its pairs by two locks; and the locks
//! that all threads share.

use crate::maps;
use crate::memory::{allocate, at, offset_of};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use lockyard_records::{ENTRY_UNIT, Entry, Kind, Lock, Pair, Thread, head_of, mixed};

/// Sizes of new tables.
const FIRST_ENTRIES: u32 = 32;
const FIRST_PAIRS: u32 = 16;

#[inline(always)]
fn place(a: u64, b: u64) -> u32 {
    (mixed(a ^ b.rotate_left(24)) >> 32) as u32
}

/// Returns the entry of a lock and a call site, or null if there is no room for it.
///
/// # Safety
///
/// `thread` is the running thread's, which is inside the recorder.
#[inline(always)]
pub(crate) unsafe fn entry(thread: *mut Thread, lock: u64, site: u64, kind: Kind) -> *mut Entry {
    // SAFETY: the caller's; only this thread changes the table, whose places are below its room.
    unsafe {
        let room = (*thread).entry_room;
        if room != 0 {
            let table: *mut u32 = at((*thread).entries);
            let mut index = place(lock, site);
            loop {
                let found = *table.add((index & (room - 1)) as usize);
                if found == 0 {
                    break;
                }
                let entry: *mut Entry = at(u64::from(found) * ENTRY_UNIT);
                if (*entry).lock == lock && (*entry).site == site {
                    return entry;
                }
                index = index.wrapping_add(1);
            }
        }
        new_entry(thread, lock, site, kind)
    }
}

#[cold]
unsafe fn new_entry(thread: *mut Thread, lock: u64, site: u64, kind: Kind) -> *mut Entry {
    // SAFETY: as in `entry`. What is allocated is this thread's until it is published.
    unsafe {
        if ((*thread).entry_count + 1) * 4 > (*thread).entry_room * 3 && !more_entries(thread) {
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
        let table: *mut u32 = at((*thread).entries);
        insert(table, (*thread).entry_room, entry);
        (*thread).entry_count += 1;
        maps::note(site);
        entry
    }
}

/// Inserts an entry into a table with room for it.
unsafe fn insert(table: *mut u32, room: u32, entry: *mut Entry) {
    // SAFETY: the caller's; the places are below the room.
    unsafe {
        let mut index = place((*entry).lock, (*entry).site);
        while *table.add((index & (room - 1)) as usize) != 0 {
            index = index.wrapping_add(1);
        }
        *table.add((index & (room - 1)) as usize) = (offset_of(entry) / ENTRY_UNIT) as u32;
    }
}

/// Doubles the table of entries. Returns false if there is no room.
unsafe fn more_entries(thread: *mut Thread) -> bool {
    // SAFETY: as in `entry`.
    unsafe {
        let (old, old_room) = ((*thread).entries, (*thread).entry_room);
        let room = if old_room == 0 { FIRST_ENTRIES } else { old_room * 2 };
        let table: *mut u32 = allocate(room as usize * size_of::<u32>(), 64).cast();
        if table.is_null() {
            return false;
        }
        for index in 0..old_room as usize {
            let found = *at::<u32>(old).add(index);
            if found != 0 {
                insert(table, room, at(u64::from(found) * ENTRY_UNIT));
            }
        }
        // The larger table first: a reader never looks beyond a table.
        (*thread).entries = offset_of(table);
        (*thread).entry_room = room;
        true
    }
}

/// Returns what all threads share of a lock, or null if there is no room for it.
unsafe fn shared(address: u64, kind: Kind) -> *mut Lock {
    // SAFETY: there is a mapping. The heads are accessed by atomic operations only, and a lock's
    // address and successor are not changed once it is in a list.
    unsafe {
        let head = head(address);
        let mut new: *mut Lock = null_mut();
        loop {
            // Acquire: pairs with the release below, so that the list's locks are complete.
            let first = head.load(Ordering::Acquire);
            let found = find(first, address);
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
            (*new).next = (first / 64) as u32;
            let offset = offset_of(new);
            if head.compare_exchange(first, offset, Ordering::Release, Ordering::Relaxed).is_ok() {
                return new;
            }
        }
    }
}

unsafe fn head(address: u64) -> &'static AtomicU64 {
    // SAFETY: there is a mapping, whose header has the place of the heads.
    unsafe {
        let heads: *mut u64 = at((*crate::memory::header()).heads);
        AtomicU64::from_ptr(heads.add(head_of(address)))
    }
}

unsafe fn find(first: u64, address: u64) -> *mut Lock {
    let mut offset = first;
    while offset != 0 {
        let lock: *mut Lock = at(offset);
        // SAFETY: the list's locks are complete.
        unsafe {
            if (*lock).address == address {
                return lock;
            }
            offset = u64::from((*lock).next) * 64;
        }
    }
    null_mut()
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
        let lock = find(head(address).load(Ordering::Acquire), address);
        if !lock.is_null() {
            AtomicU32::from_ptr(&raw mut (*lock).destroyed).fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Counts that `inner` was acquired while `outer` was held. `tried` is true for a call that does
/// not wait.
///
/// # Safety
///
/// As for [`entry`].
#[inline(never)]
pub(crate) unsafe fn nested(
    thread: *mut Thread,
    outer: [u64; 2],
    inner: [u64; 2],
    tried: bool,
) -> bool {
    // SAFETY: the caller's; the places are below the table's room.
    unsafe {
        if ((*thread).pair_count + 1) * 4 > (*thread).pair_room * 3 && !more_pairs(thread) {
            return false;
        }
        let pair = pair(at((*thread).pairs), (*thread).pair_room, outer[0], inner[0]);
        if (*pair).inner == 0 {
            *pair = Pair {
                outer: outer[0],
                outer_site: outer[1],
                inner_site: inner[1],
                ..Pair::default()
            };
            (*pair).inner = inner[0];
            (*thread).pair_count += 1;
        }
        (*pair).count += 1;
        (*pair).tried += u64::from(tried);
        true
    }
}

/// Returns the place of a pair in a table: its own or an empty one.
unsafe fn pair(table: *mut Pair, room: u32, outer: u64, inner: u64) -> *mut Pair {
    let mut index = place(outer, inner);
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
