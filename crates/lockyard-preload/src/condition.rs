//! Waits for a condition: a release of the mutex, and an acquisition, both inside the C library.
//!
//! A waiting thread may be cancelled, and is then unwound through these functions. So they are
//! assembly with unwind information, and no frame of Rust is below the C library's.

use crate::calls::{wait_begins, wait_ends};
use crate::real;
use core::arch::naked_asm;

macro_rules! waiting {
    ($($name:ident, $slot:ident;)*) => { $(
        #[doc = concat!("`", stringify!($name), "`, recorded.")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "sub rsp, 56",
                ".cfi_def_cfa_offset 64",
                // The arguments: condition, mutex, and up to two of a timeout.
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov rdi, rsi",
                "call {begins}",
                "mov [rsp + 32], rax",
                "mov rdi, [rsp]",
                "mov rsi, [rsp + 8]",
                "mov rdx, [rsp + 16]",
                "mov rcx, [rsp + 24]",
                "call qword ptr [rip + {real}]",
                "mov [rsp], eax",
                "mov rdi, [rsp + 8]",
                "mov rsi, [rsp + 56]",
                "mov rdx, [rsp + 32]",
                "call {ends}",
                "mov eax, [rsp]",
                "add rsp, 56",
                ".cfi_def_cfa_offset 8",
                "ret",
                ".cfi_endproc",
                begins = sym wait_begins,
                ends = sym wait_ends,
                real = sym real::$slot,
            )
        }
    )* };
}

waiting! {
    pthread_cond_wait, CONDITION_WAIT;
    pthread_cond_timedwait, CONDITION_TIMEDWAIT;
    pthread_cond_clockwait, CONDITION_CLOCKWAIT;
}
