//! System calls by instruction, without the C library, so that the program's `errno` does not
//! change.

use crate::local::local;
use crate::note;
use core::ffi::{CStr, c_int};
use core::ptr::null;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use libc::timespec;
use lockyard_interpose::call;

/// Sleeps while the word has a value: for `timeout` at most, or until it is woken. Returns the
/// result of the system call.
pub(crate) fn sleep_for(word: *const u32, value: u32, timeout: Option<Duration>) -> isize {
    const WAIT: usize = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    let timeout = timeout.map(|timeout| timespec {
        tv_sec: timeout.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
    });
    let timeout = timeout.as_ref().map_or(null(), core::ptr::from_ref);
    // SAFETY: the word is live, and the time is null or live. Every result is allowed.
    unsafe { sleep([word.addr(), WAIT, value as usize, timeout.addr(), 0, 0]) }
}

/// Performs the system call of locks. A wait that the thread can leave records its return address.
///
/// # Safety
///
/// The arguments must be right for the call.
unsafe fn sleep([word, action, value, timeout, second, bits]: [usize; 6]) -> isize {
    const FUTEX: usize = libc::SYS_futex as usize;
    let me = local();
    // SAFETY: the thread's own data; the caller's promise.
    unsafe {
        if (*me).wait.waits {
            let call = [FUTEX, word, action, value, timeout, second, bits];
            let result = note::call(call, &raw mut (*me).note, &raw const (*me).is_interrupted);
            (*me).is_interrupted = false;
            result
        } else {
            call(FUTEX, [word, action, value, timeout, second, bits])
        }
    }
}

/// Sleeps while the word has a value: until a time on the clock at most, or until it is woken.
pub(crate) fn sleep_until(word: *const u32, value: u32, until: *const timespec, realtime: bool) {
    const WAIT: c_int = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
    const EVERYONE: usize = u32::MAX as usize;
    let wait = if realtime { WAIT | libc::FUTEX_CLOCK_REALTIME } else { WAIT } as usize;
    let arguments = [word.addr(), wait, value as usize, until.addr(), 0, EVERYONE];
    // SAFETY: as in `sleep_for`.
    unsafe { sleep(arguments) };
}

/// Wakes threads that sleep on a word. The memory of the word is not accessed. Returns their
/// number.
pub(crate) fn wake(word: *const u32, count: u32) -> usize {
    const WAKE: usize = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    let count = count.min(i32::MAX as u32) as usize;
    if count == 0 {
        return 0;
    }
    // SAFETY: the call uses the address as a key only.
    let woken = unsafe { call(libc::SYS_futex as usize, [word.addr(), WAKE, count, 0, 0, 0]) };
    usize::try_from(woken).unwrap_or(0)
}

/// Time of a nap.
const NAP: Duration = Duration::from_micros(50);

/// Sleeps for a moment, by a call that the C library's locks make too.
pub(crate) fn nap() {
    static NEVER_WOKEN: AtomicU32 = AtomicU32::new(0);
    sleep_for(NEVER_WOKEN.as_ptr(), 0, Some(NAP));
}

/// [`ALLOWED`], [`FORBIDDEN`], or 0, which also forbids: see [`yield_now`].
static YIELDS: AtomicU32 = AtomicU32::new(0);
const ALLOWED: u32 = 1;
const FORBIDDEN: u32 = 2;

/// Allows threads to yield, unless yielding is forbidden.
pub(crate) fn allow_yields() {
    let order = Ordering::Relaxed;
    let _was_forbidden = YIELDS.compare_exchange(0, ALLOWED, order, order);
}

/// Forbids threads to yield, for ever.
pub(crate) fn forbid_yields() {
    YIELDS.store(FORBIDDEN, Ordering::Relaxed);
}

/// Number of yields of a thread between two looks at its priority.
const LOOK: u8 = 16;

/// Gives the CPU to another thread. A thread with a real-time priority yields only to threads of at
/// least its priority. So it naps from time to time, because it may be waiting for a thread of
/// lower priority.
///
/// A filter of system calls may end a program that yields, since the C library's locks do not. So
/// threads nap where there is a filter (`filter.rs`), and for the kind of lock that needs few
/// yields.
pub(crate) fn yield_now() {
    if YIELDS.load(Ordering::Relaxed) != ALLOWED {
        return nap();
    }
    let me = local();
    // SAFETY: the thread's own data; the calls have no arguments.
    unsafe {
        call(libc::SYS_sched_yield as usize, [0; 6]);
        let yields = (*me).yields.wrapping_add(1);
        (*me).yields = yields;
        if yields.is_multiple_of(LOOK) && is_real_time(call(POLICY, [0; 6])) {
            nap();
        }
    }
}

const POLICY: usize = libc::SYS_sched_getscheduler as usize;

/// Returns true if a policy number, or the result of the call, means a real-time policy.
pub(crate) fn is_real_time(policy: isize) -> bool {
    // The policy may have a flag for threads that are created.
    const FLAG: isize = libc::SCHED_RESET_ON_FORK as isize;
    let policy = c_int::try_from(policy & !FLAG);
    matches!(policy, Ok(libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE))
}

/// Reads the beginning of a file of the kernel. Returns the bytes, or no bytes on failure. `path`
/// ends with a zero.
pub(crate) fn read_file<'a>(path: &CStr, room: &'a mut [u8]) -> &'a [u8] {
    const HERE: usize = libc::AT_FDCWD as usize;
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: the path and the room are live memory.
    let length = unsafe {
        let open = libc::SYS_openat as usize;
        let file = call(open, [HERE, path.as_ptr().addr(), flags, 0, 0, 0]);
        let Ok(file) = usize::try_from(file) else { return &[] };
        let (at, most) = (room.as_mut_ptr().expose_provenance(), room.len());
        let length = call(libc::SYS_read as usize, [file, at, most, 0, 0, 0]);
        call(libc::SYS_close as usize, [file, 0, 0, 0, 0, 0]);
        length
    };
    room.get(..usize::try_from(length).unwrap_or(0)).unwrap_or(&[])
}

/// Asks the kernel to clear a page in the children of a fork. Returns false if it does not.
pub(crate) fn clear_in_children(page: *const u8, size: usize) -> bool {
    const ADVICE: usize = libc::MADV_WIPEONFORK as usize;
    // SAFETY: this library uses the page only for data that may be cleared in a child.
    unsafe { call(libc::SYS_madvise as usize, [page.addr(), size, ADVICE, 0, 0, 0]) == 0 }
}

/// Writes a line to the standard error stream.
pub(crate) fn complain(parts: &[&[u8]]) {
    let mut line = [0u8; 400];
    let mut length = 0;
    let bytes = parts.iter().copied().flatten();
    for (at, &byte) in line.iter_mut().zip(b"lockyard: ".iter().chain(bytes).chain(b"\n")) {
        *at = byte;
        length += 1;
    }
    line[line.len() - 1] = b'\n';
    // SAFETY: the bytes are live memory.
    unsafe { call(libc::SYS_write as usize, [2, line.as_ptr().addr(), length, 0, 0, 0]) };
}

/// Ends the process at once.
pub(crate) fn exit(code: usize) -> ! {
    loop {
        // SAFETY: the call has no preconditions.
        unsafe { call(libc::SYS_exit_group as usize, [code, 0, 0, 0, 0, 0]) };
    }
}
