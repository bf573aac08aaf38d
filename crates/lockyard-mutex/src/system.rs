//! System calls by instruction: no call of the C library, so that the program's `errno` stays.

use crate::local::local;
use core::ffi::c_int;
use core::ptr::null;
use libc::timespec;
use lockyard_interpose::call;

/// Sleeps while the word has a value: for `timeout` at most, or until it is woken.
pub(crate) fn sleep_for(word: *const u32, value: u32, timeout: Option<timespec>) {
    const WAIT: usize = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    let timeout = timeout.as_ref().map_or(null(), core::ptr::from_ref);
    // SAFETY: the word is live, and the time is null or live. Every result is allowed.
    unsafe {
        call(libc::SYS_futex as usize, [word.addr(), WAIT, value as usize, timeout.addr(), 0, 0])
    };
}

/// Sleeps while the word has a value: until a time on the clock at most, or until it is woken.
pub(crate) fn sleep_until(word: *const u32, value: u32, until: *const timespec, realtime: bool) {
    const WAIT: c_int = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
    const EVERYONE: usize = u32::MAX as usize;
    let wait = if realtime { WAIT | libc::FUTEX_CLOCK_REALTIME } else { WAIT } as usize;
    let arguments = [word.addr(), wait, value as usize, until.addr(), 0, EVERYONE];
    // SAFETY: as in `sleep_for`.
    unsafe { call(libc::SYS_futex as usize, arguments) };
}

/// Wakes threads that sleep on a word. The memory of the word is not accessed.
pub(crate) fn wake(word: *const u32, count: u32) {
    const WAKE: usize = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    let count = count.min(i32::MAX as u32) as usize;
    if count != 0 {
        // SAFETY: the call uses the address as a key only.
        unsafe { call(libc::SYS_futex as usize, [word.addr(), WAKE, count, 0, 0, 0]) };
    }
}

/// Number of yields of a thread between two looks at its priority.
const YIELDS: u8 = 16;

/// Time for which a thread with a real-time priority sleeps instead of a yield.
static REST: timespec = timespec { tv_sec: 0, tv_nsec: 50_000 };

/// Gives the CPU to another thread. A thread with a real-time priority, which gives it only to
/// threads of at least its priority, sleeps from time to time: it may wait for another one.
pub(crate) fn yield_now() {
    let me = local();
    // SAFETY: the thread's own data; the calls read the running thread's policy and a live time.
    unsafe {
        call(libc::SYS_sched_yield as usize, [0; 6]);
        let yields = (*me).yields.wrapping_add(1);
        (*me).yields = yields;
        if yields.is_multiple_of(YIELDS) && is_real_time(call(POLICY, [0; 6])) {
            call(libc::SYS_nanosleep as usize, [(&raw const REST).addr(), 0, 0, 0, 0, 0]);
        }
    }
}

const POLICY: usize = libc::SYS_sched_getscheduler as usize;

fn is_real_time(policy: isize) -> bool {
    // The policy may have a flag for threads that are created.
    const FLAG: isize = libc::SCHED_RESET_ON_FORK as isize;
    let policy = c_int::try_from(policy & !FLAG);
    matches!(policy, Ok(libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE))
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

/// Ends the process without any further step.
pub(crate) fn exit(code: usize) -> ! {
    loop {
        // SAFETY: the call has no preconditions.
        unsafe { call(libc::SYS_exit_group as usize, [code, 0, 0, 0, 0, 0]) };
    }
}
