//! System calls and clock, by instruction: no call of the C library, so that `errno` stays.

use core::arch::x86_64::{__cpuid, __rdtscp, _mm_lfence, _rdtsc};
use core::sync::atomic::{AtomicBool, Ordering};
use lockyard_interpose::call;

const READ: usize = 0;
const CLOSE: usize = 3;
const FSTAT: usize = 5;
const MMAP: usize = 9;
const SIGNAL_MASK: usize = 14;
const MREMAP: usize = 25;
const MADVISE: usize = 28;
const GETPID: usize = 39;
const EXIT_GROUP: usize = 231;
const SET_LENGTH: usize = 77;
const READLINK: usize = 89;
const GETRUSAGE: usize = 98;
const GETEUID: usize = 107;
const GETPPID: usize = 110;
const PRCTL: usize = 157;
const GETTID: usize = 186;
const CLOCK_GETTIME: usize = 228;
const OPENAT: usize = 257;
const PRLIMIT: usize = 302;
const GETCPU: usize = 309;

const CURRENT_DIRECTORY: usize = -100isize as usize;

pub(crate) const READ_ONLY: usize = 0;
pub(crate) const READ_WRITE: usize = 2;
pub(crate) const CREATE_NEW: usize = 0o100 | 0o200;
const CLOSE_ON_EXEC: usize = 0o200_0000;

/// Opens a file. `path` ends with a zero.
pub(crate) fn open(path: &[u8], flags: usize) -> Option<i32> {
    open_at(CURRENT_DIRECTORY as i32, path, flags).ok()
}

/// Opens a file in an open directory. `name` ends with a zero. An error is its number.
pub(crate) fn open_at(folder: i32, name: &[u8], flags: usize) -> Result<i32, i32> {
    debug_assert!(name.last() == Some(&0));
    let folder = folder as usize;
    let arguments = [folder, name.as_ptr().addr(), flags | CLOSE_ON_EXEC, 0o600, 0, 0];
    // SAFETY: the name is live memory and ends with a zero.
    let file = unsafe { call(OPENAT, arguments) };
    if file >= 0 { Ok(file as i32) } else { Err(-file as i32) }
}

/// Opens a directory, if only this user can have written to it: after the end of the recording,
/// another user may have put a directory in the place of ours. `path` ends with a zero.
pub(crate) fn open_own_folder(path: &[u8]) -> Option<i32> {
    const DIRECTORY_NO_FOLLOW: usize = 0o200_000 | 0o400_000;
    const OTHERS: u64 = 0o077;
    let folder = open(path, READ_ONLY | DIRECTORY_NO_FOLLOW)?;
    // SAFETY: the call has no preconditions.
    let own = unsafe { call(GETEUID, [0; 6]) as u64 };
    // The kernel's structure for x86-64 has the mode and the owner in one word, after the links.
    let is_own =
        status(folder).is_some_and(|found| found[3] >> 32 == own && found[3] & OTHERS == 0);
    if is_own {
        return Some(folder);
    }
    close(folder);
    None
}

/// Closes a file.
pub(crate) fn close(file: i32) {
    // SAFETY: the descriptor is the caller's.
    let _ = unsafe { call(CLOSE, [file as usize, 0, 0, 0, 0, 0]) };
}

/// Returns device and inode of an open file.
pub(crate) fn identity(file: i32) -> Option<[u64; 2]> {
    status(file).map(|found| [found[0], found[1]])
}

/// Returns the kernel's `struct stat` of an open file.
fn status(file: i32) -> Option<[u64; 18]> {
    let mut found = [0u64; 18];
    // SAFETY: the structure has 144 bytes, which `found` has room for.
    let done = unsafe { call(FSTAT, [file as usize, found.as_mut_ptr().addr(), 0, 0, 0, 0]) };
    (done == 0).then_some(found)
}

/// Reads from a file. Returns 0 at its end, and after an error.
pub(crate) fn read(file: i32, into: &mut [u8]) -> usize {
    // SAFETY: the bytes are live memory.
    let count =
        unsafe { call(READ, [file as usize, into.as_mut_ptr().addr(), into.len(), 0, 0, 0]) };
    usize::try_from(count).unwrap_or(0)
}

/// Gives a file a length. Returns false if it cannot have it.
pub(crate) fn set_length(file: i32, length: u64) -> bool {
    // SAFETY: the call changes the file only.
    unsafe { call(SET_LENGTH, [file as usize, length as usize, 0, 0, 0, 0]) == 0 }
}

/// Lets the kernel write a number. Returns false if the page cannot be there: a write by the
/// program would then be a signal that ends it.
pub(crate) fn write_by_kernel(to: *mut u64) -> bool {
    const BLOCK: usize = 0;
    const BYTES: usize = size_of::<u64>();
    // The mask of blocked signals, which no set of signals changes. Hardly a filter forbids it.
    // SAFETY: the call writes to the caller's word only, or fails.
    unsafe { call(SIGNAL_MASK, [BLOCK, 0, to.expose_provenance(), BYTES, 0, 0]) == 0 }
}

/// Returns the process's limit for the size of a file. A longer file would end the process.
pub(crate) fn size_limit() -> u64 {
    const FILE_SIZE: usize = 1;
    limit(FILE_SIZE)
}

/// Returns the process's limit for its address space.
pub(crate) fn address_limit() -> u64 {
    const ADDRESS_SPACE: usize = 9;
    limit(ADDRESS_SPACE)
}

fn limit(of: usize) -> u64 {
    let mut limits = [0u64; 2];
    // SAFETY: the structure has two numbers.
    let done = unsafe { call(PRLIMIT, [0, of, 0, limits.as_mut_ptr().addr(), 0, 0]) };
    if done == 0 { limits[0] } else { u64::MAX }
}

/// Maps a file, shared. `room` may be longer than the file. Returns null after an error.
pub(crate) fn map(file: i32, room: u64, writable: bool) -> *mut u8 {
    let protection = if writable { 3 } else { 1 };
    const SHARED_NO_RESERVE: usize = 0x1 | 0x4000;
    let arguments = [0, room as usize, protection, SHARED_NO_RESERVE, file as usize, 0];
    // SAFETY: the system chooses an address range that nothing uses.
    let address = unsafe { call(MMAP, arguments) };
    if address < 0 && address > -4096 {
        return core::ptr::null_mut();
    }
    core::ptr::with_exposed_provenance_mut(address as usize)
}

/// Maps memory of this process, all zeros, that takes room when it is written. Returns null if
/// there is none.
pub(crate) fn map_memory(room: u64) -> *mut u8 {
    const READ_WRITE: usize = 3;
    const PRIVATE_ANONYMOUS_NO_RESERVE: usize = 0x2 | 0x20 | 0x4000;
    const NO_FILE: usize = usize::MAX;
    let arguments = [0, room as usize, READ_WRITE, PRIVATE_ANONYMOUS_NO_RESERVE, NO_FILE, 0];
    // SAFETY: the system chooses an address range that nothing uses.
    let address = unsafe { call(MMAP, arguments) };
    if address < 0 && address > -4096 {
        return core::ptr::null_mut();
    }
    core::ptr::with_exposed_provenance_mut(address as usize)
}

/// Moves a mapping to the place of another one, which ends. Returns false if that fails.
///
/// # Safety
///
/// `room` bytes from `from` on are a mapping that nothing else uses, and `room` bytes from `to` on
/// one whose content the first one has.
pub(crate) unsafe fn move_memory(from: *mut u8, to: *mut u8, room: u64) -> bool {
    const MAY_MOVE_FIXED: usize = 1 | 2;
    let (from, to, room) = (from.expose_provenance(), to.expose_provenance(), room as usize);
    // SAFETY: the bytes of the range stay as they are, by the caller's promise.
    let result = unsafe { call(MREMAP, [from, room, room, MAY_MOVE_FIXED, to, 0]) };
    !(result < 0 && result > -4096)
}

/// Puts a private copy of a file in the place of its mapping. Returns false if that fails.
///
/// # Safety
///
/// `room` bytes from `base` on are a mapping of the file.
pub(crate) unsafe fn map_copy(file: i32, base: *mut u8, room: u64) -> bool {
    const READ_WRITE: usize = 3;
    const PRIVATE_FIXED_NO_RESERVE: usize = 0x2 | 0x10 | 0x4000;
    let (base, room) = (base.expose_provenance(), room as usize);
    // SAFETY: the bytes of the range stay as they are.
    let result =
        unsafe { call(MMAP, [base, room, READ_WRITE, PRIVATE_FIXED_NO_RESERVE, file as usize, 0]) };
    !(result < 0 && result > -4096)
}

/// Asks the kernel to clear whole pages in the child of a fork. Old kernels cannot.
pub(crate) fn wipe_on_fork(address: usize, bytes: usize) {
    const WIPE_ON_FORK: usize = 18;
    // SAFETY: the call changes nothing in this process. The caller's pages are used for what may be
    // all zeros in a child.
    let _ = unsafe { call(MADVISE, [address, bytes, WIPE_ON_FORK, 0, 0, 0]) };
}

pub(crate) fn process() -> u32 {
    // SAFETY: the call has no preconditions.
    unsafe { call(GETPID, [0; 6]) as u32 }
}

/// Writes the name of this thread, as the system keeps it. A zero follows. No file is needed.
pub(crate) fn own_name(into: &mut [u8; 16]) {
    const GET_NAME: usize = 16;
    // SAFETY: the call writes 16 bytes, which the array has.
    let _ = unsafe { call(PRCTL, [GET_NAME, into.as_mut_ptr().addr(), 0, 0, 0, 0]) };
}

pub(crate) fn parent() -> u32 {
    // SAFETY: the call has no preconditions.
    unsafe { call(GETPPID, [0; 6]) as u32 }
}

pub(crate) fn thread() -> u32 {
    // SAFETY: the call has no preconditions.
    unsafe { call(GETTID, [0; 6]) as u32 }
}

/// Ends the process without any further step.
pub(crate) fn exit(code: usize) -> ! {
    loop {
        // SAFETY: the call has no preconditions.
        let _ = unsafe { call(EXIT_GROUP, [code, 0, 0, 0, 0, 0]) };
    }
}

/// Reads a symbolic link. Returns the number of bytes.
pub(crate) fn link(path: &[u8], into: &mut [u8]) -> usize {
    debug_assert!(path.last() == Some(&0));
    let arguments = [path.as_ptr().addr(), into.as_mut_ptr().addr(), into.len(), 0, 0, 0];
    // SAFETY: the path ends with a zero, and the bytes are live memory.
    usize::try_from(unsafe { call(READLINK, arguments) }).unwrap_or(0)
}

/// Returns the time in ticks.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    // SAFETY: the instruction only reads the counter.
    unsafe { _rdtsc() }
}

/// Returns the time in ticks when all earlier loads have their values. The counter alone can be
/// read before them, and their cache misses would then be part of the time that follows.
#[inline(always)]
pub(crate) fn ticks_after_loads() -> u64 {
    // SAFETY: each x86-64 processor has SSE2.
    unsafe { _mm_lfence() };
    ticks()
}

/// True if the processor has `rdtscp`. It is set before anything is recorded.
static HAS_RDTSCP: AtomicBool = AtomicBool::new(false);

/// Finds out which instructions the processor has.
pub(crate) fn look_at_processor() {
    const EXTENDED: u32 = 0x8000_0000;
    const RDTSCP: u32 = 1 << 27;
    let found = __cpuid(EXTENDED).eax > EXTENDED && __cpuid(EXTENDED + 1).edx & RDTSCP != 0;
    HAS_RDTSCP.store(found, Ordering::Relaxed);
}

/// Returns the number of the CPU.
#[inline(always)]
pub(crate) fn cpu() -> u32 {
    // Relaxed: it is set before there are threads.
    if !HAS_RDTSCP.load(Ordering::Relaxed) {
        let mut processor = 0u32;
        // SAFETY: the call writes to a live number. Old processors have no faster way.
        let _ = unsafe { call(GETCPU, [(&raw mut processor).addr(), 0, 0, 0, 0, 0]) };
        return processor & 0xfff;
    }
    let mut processor = 0;
    // SAFETY: the processor has the instruction, which only reads counters. Linux stores the CPU's
    // number in the lower 12 bits of the second one.
    let _ = unsafe { __rdtscp(&raw mut processor) };
    processor & 0xfff
}

/// Returns the running thread's processor time in nanoseconds, and the numbers of times it has
/// given up its processor by itself, and has lost it.
pub(crate) fn thread_switches() -> (u64, [u64; 2]) {
    const THREAD_CPU_TIME: usize = 3;
    const OF_THREAD: usize = 1;
    /// Place of the voluntary switches among the words of the kernel's `struct rusage`. The others
    /// are next.
    const VOLUNTARY: usize = 16;
    let time = clock(THREAD_CPU_TIME);
    let mut usage = [0u64; 18];
    // SAFETY: the structure has 144 bytes, which `usage` has room for.
    let _ = unsafe { call(GETRUSAGE, [OF_THREAD, usage.as_mut_ptr().addr(), 0, 0, 0, 0]) };
    (time, [usage[VOLUNTARY], usage[VOLUNTARY + 1]])
}

/// Returns the time since the start of the system in nanoseconds.
pub(crate) fn monotonic() -> u64 {
    const MONOTONIC: usize = 1;
    clock(MONOTONIC)
}

/// Returns a clock of the kernel in nanoseconds.
fn clock(which: usize) -> u64 {
    let mut time = [0u64; 2];
    // SAFETY: the structure has two numbers.
    let _ = unsafe { call(CLOCK_GETTIME, [which, time.as_mut_ptr().addr(), 0, 0, 0, 0]) };
    time[0].wrapping_mul(1_000_000_000).wrapping_add(time[1])
}
