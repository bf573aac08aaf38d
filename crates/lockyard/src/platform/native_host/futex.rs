//! Parking on Linux: a private futex.
//!
//! The system call takes its timeout as two words of the kernel's `long`. With a 32-bit `long`,
//! some C libraries can be built with 64-bit `time_t` and `timespec`, so this file defines its own
//! type. The newest 32-bit architectures have only the call with 64-bit times.

use super::super::NativeU32;
use core::time::Duration;

/// The system call, and the type of each half of its time.
#[cfg(not(any(
    target_arch = "riscv32",
    target_arch = "m68k",
    all(target_arch = "x86_64", target_pointer_width = "32")
)))]
use libc::{SYS_futex as FUTEX, c_long as Long};
/// The same, for targets with 64-bit times. On `m68k` the C library gives this name to the call
/// with 64-bit times.
#[cfg(any(target_arch = "m68k", all(target_arch = "x86_64", target_pointer_width = "32")))]
use {core::primitive::i64 as Long, libc::SYS_futex as FUTEX};
/// The same, for a target that has only the call with 64-bit times.
#[cfg(target_arch = "riscv32")]
use {core::primitive::i64 as Long, libc::SYS_futex_time64 as FUTEX};

/// A time in the kernel's layout.
#[repr(C)]
struct Time {
    seconds: Long,
    nanoseconds: Long,
}

/// See [`Host::park`](super::super::Host::park).
pub(super) fn park(word: &NativeU32, expected: u32, timeout: Option<Duration>) {
    let timeout = timeout.map(|t| Time {
        // At most 68 years, which 32 bits can hold. Returning early counts as a spurious return,
        // which is allowed.
        seconds: t.as_secs().min(i32::MAX as u64) as Long,
        nanoseconds: t.subsec_nanos() as Long,
    });
    let timeout = timeout.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: `word` is a live, aligned 32-bit word. `timeout` is null or points to a `Time` that
    // lives until the call returns. `park` may return with any result (woken, value differs, timed
    // out, interrupted).
    unsafe {
        libc::syscall(
            FUTEX,
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
        return; // the system call would wake one thread
    }
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    // SAFETY: a private wake uses the address only as a key, and does not access the memory, which
    // may have been freed or unmapped.
    unsafe {
        libc::syscall(FUTEX, word, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, count);
    }
}
