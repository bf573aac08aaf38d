//! System calls by instruction, without the C library, so that the program's `errno` does not
//! change.

use core::arch::asm;

/// Performs a system call. Returns its result: a negative result is an error number.
///
/// # Safety
///
/// The arguments must be right for the call.
#[cfg(target_arch = "x86_64")]
#[inline]
pub unsafe fn call(number: usize, a: [usize; 6]) -> isize {
    let result;
    // SAFETY: the caller's arguments are right; the instruction changes only rax, rcx and r11.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2],
            in("r10") a[3], in("r8") a[4], in("r9") a[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// Performs a system call. Returns its result: a negative result is an error number.
///
/// # Safety
///
/// The arguments must be right for the call.
#[cfg(target_arch = "aarch64")]
#[inline]
pub unsafe fn call(number: usize, a: [usize; 6]) -> isize {
    let result;
    // SAFETY: the caller's arguments are right; the instruction changes only x0.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a[0] => result,
            in("x1") a[1], in("x2") a[2], in("x3") a[3], in("x4") a[4], in("x5") a[5],
            options(nostack)
        );
    }
    result
}
