//! Parking on Linux: a private futex.

use super::super::NativeU32;
use core::time::Duration;

/// See [`Host::park`](super::super::Host::park).
pub(super) fn park(word: &NativeU32, expected: u32, timeout: Option<Duration>) {
    let timeout = timeout.map(|t| libc::timespec {
        // At most 68 years, which every `time_t` holds; a spurious return is allowed.
        tv_sec: t.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: t.subsec_nanos() as libc::c_long,
    });
    let timeout = timeout.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: `word` is a live, aligned 32-bit word; `timeout` is null or points to a `timespec`
    // that lives until the call returns. Every result (woken, value differs, timed out, interrupted)
    // is an allowed return of `park`.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            core::ptr::from_ref(word),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            timeout,
        );
    }
}

/// See [`Host::unpark`](super::super::Host::unpark).
pub(super) fn unpark(word: *const NativeU32, count: u32) {
    if count == 0 {
        return; // the system call would wake one
    }
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    // SAFETY: a private wake uses the address as a key and does not access the memory, so it may have
    // been freed, or unmapped.
    unsafe {
        libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, count);
    }
}
