//! The file and its mapping: room that is given out once and never returned.
//!
//! The whole mapping is reserved at the start, so that it never moves, and the file has its full
//! length from then on, without room on the disk. Room is reserved before it is used: a full disk
//! costs records, not the program.
//!
//! To reserve a page, the kernel is asked to write to it, by a call that has an address for its
//! result. Without room the call fails, where an instruction of the program would end it. So no
//! descriptor is kept: a program may close any, and give the number to a file of its own, between
//! any two steps of the recorder. It may also lose its right to open the file again.

use crate::system;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use lockyard_records::{Cpu, FULL_DISK, FULL_LIMIT, FULL_MAPPING, Header, MAX_BYTES};

/// A page of its own, which the kernel clears in the child of a fork: its alignment is its size.
#[repr(align(4096))]
struct Page {
    /// Beginning of the mapping; null while nothing is recorded.
    base: AtomicPtr<u8>,
}

/// Page of the base. The child's first instruction finds null there, and so do handlers of a fork
/// that run before ours: the parent's records are mapped, and must not be written.
static PAGE: Page = Page { base: AtomicPtr::new(null_mut()) };

/// Size of the mapping, and its beginning once more: the child of a fork needs it.
static ROOM: AtomicU64 = AtomicU64::new(0);
static MAPPED: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// Length of the file: that of the mapping, or less if the process may not have longer files.
static LENGTH: AtomicU64 = AtomicU64::new(0);

/// Time in ticks before which the file is not asked for more room: there was none. Each record
/// without a place would ask again.
static FULL_UNTIL: AtomicU64 = AtomicU64::new(0);

/// Ticks between two such questions: about a tenth of a second.
const PAUSE: u64 = 1 << 28;

/// True if the mapping is a copy of the parent's records, which nobody reads.
static IS_COPY: AtomicBool = AtomicBool::new(false);

/// Identity of the file: what is found under its path later may be another one.
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);

/// Longest path of a file.
pub(crate) const LONGEST: usize = 1024;

/// Path of the file, ended by a zero. It is written before there are threads, or in a new process.
static mut PATH: [u8; LONGEST] = [0; LONGEST];

/// Places of the CPUs; null if they are not known.
pub(crate) static TOPOLOGY: AtomicPtr<Cpu> = AtomicPtr::new(null_mut());

/// Size of a page.
const PAGE_BYTES: u64 = 4096;

/// Room that is reserved at the start.
const FIRST_BYTES: u64 = 64 << 10;

/// Maximum growth at a time, unless more is needed at once.
const STEP: u64 = 4 << 20;

/// Number of looks at a thread that reserves room, before a record is given up. The call
/// takes microseconds.
const MOST_LOOKS: u32 = 1 << 22;

/// Share of a limited address space that the mapping takes: one in this number.
const SHARE_OF_ROOM: u64 = 16;

/// Returns the beginning of the mapping, or null.
#[inline(always)]
pub(crate) fn base() -> *mut u8 {
    // Relaxed: the pointer is set before there are threads, or in a new process.
    PAGE.base.load(Ordering::Relaxed)
}

/// Asks the kernel to clear the base in the child of a fork. Before Linux 4.14 it does not, and
/// our handler of the fork does it later.
pub(crate) fn clear_in_children() {
    // The page is all zeros in the library, so the loader mapped it without a file.
    system::wipe_on_fork((&raw const PAGE).addr(), size_of::<Page>());
}

/// Returns the header.
///
/// # Safety
///
/// There is a mapping.
#[inline(always)]
pub(crate) unsafe fn header() -> *mut Header {
    base().cast()
}

/// Returns what lies at an offset.
#[inline(always)]
pub(crate) fn at<T>(offset: u64) -> *mut T {
    base().wrapping_add(offset as usize).cast()
}

/// Returns the offset of something in the mapping.
#[inline(always)]
pub(crate) fn offset_of<T>(pointer: *const T) -> u64 {
    (pointer.addr() - base().addr()) as u64
}

/// Adds to a counter that all threads share.
///
/// # Safety
///
/// The counter is a live word.
pub(crate) unsafe fn count(counter: *mut u64) {
    // SAFETY: the caller's. All accesses to the counters are atomic.
    unsafe { AtomicU64::from_ptr(counter) }.fetch_add(1, Ordering::Relaxed);
}

/// Puts something at the front of a list that all threads share.
///
/// # Safety
///
/// Both words are live. `first` is accessed by atomic operations only. What lies at `offset` is not
/// in a list yet, and `next` is its word for the one after it.
pub(crate) unsafe fn link(first: *mut u64, next: *mut u64, offset: u64) {
    // SAFETY: the caller's.
    unsafe {
        let first = AtomicU64::from_ptr(first);
        let mut now = first.load(Ordering::Relaxed);
        loop {
            *next = now;
            // Release: a reader that finds it finds its fields.
            match first.compare_exchange(now, offset, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => now = other,
            }
        }
    }
}

/// Stops recording. The mapping stays.
pub(crate) fn forget() {
    PAGE.base.store(null_mut(), Ordering::Relaxed);
}

/// Goes on with the last mapping after [`forget`].
pub(crate) fn resume() {
    PAGE.base.store(MAPPED.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Returns true if the last mapping is a copy that nobody reads.
pub(crate) fn is_a_copy() -> bool {
    IS_COPY.load(Ordering::Relaxed)
}

/// Lets code that a fork has interrupted end its work in the child, on a copy of the parent's
/// records. The copy takes no new room, and nobody reads it.
///
/// # Safety
///
/// This is the child of a fork of a process with a mapping, and has one thread.
pub(crate) unsafe fn keep_a_copy() {
    let (base, room) = (MAPPED.load(Ordering::Relaxed), ROOM.load(Ordering::Relaxed));
    let of_file = open_again().is_some_and(|file| {
        // SAFETY: the range is that of the mapping. Pages that are read but not yet written show
        // the parent's later changes, as those of its other threads did.
        let is_copied = unsafe { system::map_copy(file, base, room) };
        system::close(file);
        is_copied
    });
    // A process at its limit for files, or without its rights, cannot open the file.
    // SAFETY: as above, and the caller's.
    if of_file || unsafe { copy_to_memory(base, room) } {
        LENGTH.store(0, Ordering::Relaxed);
        IS_COPY.store(true, Ordering::Relaxed);
    }
    // Without a copy, what was interrupted is written to the parent's records: better than to
    // nowhere.
    resume();
}

/// Puts a copy in memory of the used part of the file in the place of its mapping. Returns false if
/// there is no room.
///
/// # Safety
///
/// `room` bytes from `base` on are a mapping of the file, and this is its process's only thread.
unsafe fn copy_to_memory(base: *mut u8, room: u64) -> bool {
    let copy = system::map_memory(room);
    if copy.is_null() {
        return false;
    }
    // SAFETY: the header is at the beginning. So many bytes of the file have room, and the copy has
    // as many. The parent's threads write meanwhile: each word is an old one or a new one.
    unsafe {
        let size = AtomicU64::from_ptr(&raw mut (*base.cast::<Header>()).size);
        let words = size.load(Ordering::Acquire).min(room) as usize / size_of::<u64>();
        for word in 0..words {
            let value = base.cast::<u64>().add(word).read_volatile();
            // Memory that is never read needs no page.
            if value != 0 {
                copy.cast::<u64>().add(word).write(value);
            }
        }
        system::move_memory(copy, base, room)
    }
}

/// Maps a new file, and reserves its first bytes for the header. Returns false if that fails. The
/// file may be closed afterwards.
///
/// # Safety
///
/// There is one thread.
pub(crate) unsafe fn create(file: i32, path: &[u8]) -> bool {
    let Some([device, inode]) = system::identity(file) else { return false };
    // A process may have a limit for its address space, and one for the size of its files.
    let share = system::address_limit() / SHARE_OF_ROOM;
    let longest = system::size_limit() & !(PAGE_BYTES - 1);
    let least = MAX_BYTES >> 6;
    for room in [MAX_BYTES, MAX_BYTES >> 3, least] {
        let length = room.min(longest);
        if (room > share && room > least) || length < FIRST_BYTES {
            continue;
        }
        let base = if system::set_length(file, length) {
            system::map(file, room, true)
        } else {
            null_mut()
        };
        if base.is_null() {
            continue;
        }
        if !reserve(base, 0, FIRST_BYTES) {
            break;
        }
        let header: *mut Header = base.cast();
        // SAFETY: the file is new, so its beginning is this thread's alone, and is all zeros, which
        // is a valid header.
        unsafe {
            (*header).size = FIRST_BYTES;
            (*header).end = size_of::<Header>().next_multiple_of(64) as u64;
        }
        // SAFETY: there is one thread, and the path has room.
        unsafe {
            let to: *mut u8 = (&raw mut PATH).cast();
            to.copy_from_nonoverlapping(path.as_ptr(), path.len().min(LONGEST - 1));
        }
        DEVICE.store(device, Ordering::Relaxed);
        INODE.store(inode, Ordering::Relaxed);
        LENGTH.store(length, Ordering::Relaxed);
        FULL_UNTIL.store(0, Ordering::Relaxed);
        ROOM.store(room, Ordering::Relaxed);
        MAPPED.store(base, Ordering::Relaxed);
        IS_COPY.store(false, Ordering::Relaxed);
        PAGE.base.store(base, Ordering::Relaxed);
        return true;
    }
    // Not a page of it can be used.
    system::set_length(file, 0);
    false
}

/// Reserves room in the file for a part of its mapping, whose bytes become zeros. Returns false if
/// there is none.
fn reserve(base: *mut u8, from: u64, to: u64) -> bool {
    let mut at = from;
    while at < to {
        let page = base.wrapping_add(at as usize);
        if !system::write_by_kernel(page.cast()) {
            return false;
        }
        // SAFETY: the page is there, is aligned, and is not given out yet.
        unsafe { page.cast::<u64>().write_volatile(0) };
        at += PAGE_BYTES;
    }
    true
}

/// Returns new memory, all zeros, or null if there is none. `align` is at most 64.
///
/// # Safety
///
/// There is a mapping.
#[cold]
pub(crate) unsafe fn allocate(bytes: usize, align: usize) -> *mut u8 {
    // SAFETY: the caller's. Both words are accessed by atomic operations only.
    let (end, size) = unsafe {
        let header = header();
        (AtomicU64::from_ptr(&raw mut (*header).end), AtomicU64::from_ptr(&raw mut (*header).size))
    };
    loop {
        let begin = end.load(Ordering::Relaxed);
        let from = begin.next_multiple_of(align as u64);
        let to = from + bytes as u64;
        // Acquire: pairs with the release in `grow`, after which the room is there.
        if to > size.load(Ordering::Acquire) {
            let full_until = FULL_UNTIL.load(Ordering::Relaxed);
            // SAFETY: the caller's.
            if (full_until != 0 && system::ticks() < full_until) || !unsafe { grow(to) } {
                return null_mut();
            }
            continue;
        }
        // Relaxed: the room is given to one thread, which publishes what it writes there.
        if end.compare_exchange(begin, to, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return at(from);
        }
    }
}

/// Reserves more room. Returns false if there is none.
///
/// # Safety
///
/// There is a mapping.
unsafe fn grow(least: u64) -> bool {
    // SAFETY: the caller's. Both words are accessed by atomic operations only.
    let (growing, size) = unsafe {
        let header = header();
        (
            AtomicU64::from_ptr(&raw mut (*header).growing),
            AtomicU64::from_ptr(&raw mut (*header).size),
        )
    };
    // Acquire and release: one thread at a time reserves room. The others spin, as they
    // cannot sleep without the C library. A thread may have ended within the call: then the records
    // of all others are lost, and none spins again.
    let mut looks = 0;
    while let Err(other) = growing.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed) {
        if other == 2 || looks == MOST_LOOKS {
            let _ = growing.compare_exchange(1, 2, Ordering::Relaxed, Ordering::Relaxed);
            return false;
        }
        core::hint::spin_loop();
        looks += 1;
    }
    let now = size.load(Ordering::Relaxed);
    let mut done = least <= now;
    if !done {
        // By a quarter, so that little stays unused.
        let step = (now / 4).clamp(FIRST_BYTES, STEP);
        let room = ROOM.load(Ordering::Relaxed);
        let to = least.max(now + step).next_multiple_of(PAGE_BYTES).min(room);
        let longest = LENGTH.load(Ordering::Relaxed).min(system::size_limit());
        let full = match () {
            () if to < least => FULL_MAPPING,
            () if to > longest => FULL_LIMIT,
            () if !reserve(base(), now, to) => FULL_DISK,
            () => 0,
        };
        done = full == 0;
        FULL_UNTIL.store(if done { 0 } else { system::ticks() + PAUSE }, Ordering::Relaxed);
        if done {
            // Release: pairs with the acquire in `allocate`.
            size.store(to, Ordering::Release);
        } else {
            // SAFETY: the caller's. The word is accessed by atomic operations only.
            let why = unsafe { AtomicU64::from_ptr(&raw mut (*header()).full) };
            why.store(full, Ordering::Relaxed);
        }
    }
    // Release: pairs with the acquire above. A thread that gave up meanwhile can try again.
    growing.store(0, Ordering::Release);
    done
}

/// Opens the file again, if it is still there and this process may.
fn open_again() -> Option<i32> {
    // SAFETY: the path is not changed while there are threads.
    let path = unsafe { PATH };
    let length = path.iter().position(|&byte| byte == 0).unwrap_or(0);
    let file = system::open(path.get(..=length)?, system::READ_WRITE)?;
    let identity = [DEVICE.load(Ordering::Relaxed), INODE.load(Ordering::Relaxed)];
    if system::identity(file) == Some(identity) {
        return Some(file);
    }
    system::close(file);
    None
}
