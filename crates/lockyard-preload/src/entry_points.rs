//! The entries under the C library's names (`functions.rs`). They are assembly: most pass on the
//! return address of the call as one more argument, in a register that is free; and a reference's
//! version is an assembler's directive.

use crate::calls;
use crate::conditions::{wait_begins, wait_ends};
use crate::functions::functions;
use crate::signals::{take_begins, take_ends};
use crate::{notes, programs, real, signals, unseen};
use core::arch::global_asm;

/// Defines an entry under its name in each of its versions, given its instructions and operands.
macro_rules! entry {
    ($slot:ident, $name:literal, [$($version:literal),*], [$($body:expr),*], $($operands:tt)*) => {
        global_asm!(
            concat!(".pushsection .text.lockyard.", stringify!($slot), ",\"ax\",@progbits"),
            ".p2align 4",
            concat!(".globl lockyard.", stringify!($slot)),
            concat!(".type lockyard.", stringify!($slot), ", @function"),
            $(concat!(".symver lockyard.", stringify!($slot), ", ", $name, $version),)*
            concat!("lockyard.", stringify!($slot), ":"),
            ".cfi_startproc",
            $($body,)*
            ".cfi_endproc",
            concat!(".size lockyard.", stringify!($slot), ", . - lockyard.", stringify!($slot)),
            ".popsection",
            $($operands)*
        );
    };
}

/// Instructions that put the address of the real function into a free register. It is null while
/// this thread searches for the functions: the search itself has come here. Then it is that of a
/// function that does nothing (`real.rs`).
macro_rules! real {
    () => {
        "mov r11, [rip + {real}]\ntest r11, r11\njne 3f\nlea r11, [rip + {nothing}]\n3:"
    };
}

macro_rules! entries {
    ($($slot:ident, $name:literal, $versions:tt, $real:expr, $how:tt;)*) => {
        $(entries!(@ $how, $slot, $name, $versions);)*
    };
    // A function that takes the return address of the call too, in a register.
    (@ (site $register:literal $function:ident), $slot:ident, $name:literal, $versions:tt) => {
        entry!(
            $slot, $name, $versions,
            [concat!("mov ", $register, ", [rsp]"), "jmp {function}"],
            function = sym calls::$function,
        );
    };
    (@ (signal $register:literal $function:ident), $slot:ident, $name:literal, $versions:tt) => {
        entry!(
            $slot, $name, $versions,
            [concat!("mov ", $register, ", [rsp]"), "jmp {function}"],
            function = sym signals::$function,
        );
    };
    (@ (plain $function:ident), $slot:ident, $name:literal, $versions:tt) => {
        entry!($slot, $name, $versions, ["jmp {function}"], function = sym calls::$function,);
    };
    (@ (instead $function:ident), $slot:ident, $name:literal, $versions:tt) => {
        entry!($slot, $name, $versions, ["jmp {function}"], function = sym programs::$function,);
    };
    // A wait for a condition: a release of the mutex, and an acquisition, both inside the C
    // library. A waiting thread may be cancelled, and is then unwound through here. So there is
    // unwind information, and no frame of Rust is below the C library's.
    (@ (waits), $slot:ident, $name:literal, $versions:tt) => {
        entry!(
            $slot, $name, $versions,
            [
                "sub rsp, 56",
                ".cfi_def_cfa_offset 64",
                // The arguments: condition, mutex, and up to two of a timeout.
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov rdi, rsi",
                "mov rsi, [rsp]",
                "mov rdx, [rsp + 56]",
                "call {begins}",
                "mov [rsp + 32], rax",
                "mov rdi, [rsp]",
                "mov rsi, [rsp + 8]",
                "mov rdx, [rsp + 16]",
                "mov rcx, [rsp + 24]",
                real!(),
                "call r11",
                "mov [rsp + 40], eax",
                "mov rdi, [rsp + 8]",
                "mov rsi, [rsp + 56]",
                "mov rdx, [rsp + 32]",
                "mov rcx, [rsp]",
                "mov r8d, eax",
                "call {ends}",
                "mov eax, [rsp + 40]",
                "add rsp, 56",
                ".cfi_def_cfa_offset 8",
                "ret"
            ],
            begins = sym wait_begins,
            ends = sym wait_ends,
            real = sym real::$slot,
            nothing = sym real::nothing,
        );
    };
    // A call that takes a unit of a semaphore. A thread that waits in it may be cancelled, too.
    (@ (takes), $slot:ident, $name:literal, $versions:tt) => {
        entry!(
            $slot, $name, $versions,
            [
                "sub rsp, 40",
                ".cfi_def_cfa_offset 48",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "call {begins}",
                "mov [rsp + 24], rax",
                "mov rdi, [rsp]",
                "mov rsi, [rsp + 8]",
                "mov rdx, [rsp + 16]",
                real!(),
                "call r11",
                "mov [rsp + 32], eax",
                "mov rdi, [rsp]",
                "mov rsi, [rsp + 40]",
                "mov rdx, [rsp + 24]",
                "mov ecx, eax",
                "call {ends}",
                "mov eax, [rsp + 32]",
                "add rsp, 40",
                ".cfi_def_cfa_offset 8",
                "ret"
            ],
            begins = sym take_begins,
            ends = sym take_ends,
            real = sym real::$slot,
            nothing = sym real::nothing,
        );
    };
    // The call is noted. Then the function itself gets the arguments and the return address, by
    // which the loader knows who calls.
    (@ (noted $module:ident $function:ident), $slot:ident, $name:literal, $versions:tt) => {
        entry!(
            $slot, $name, $versions,
            [
                // All registers of arguments; rax has the number of those in vector registers.
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                ".cfi_def_cfa_offset 64",
                "mov rcx, [rsp + 56]",
                "call {function}",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                ".cfi_def_cfa_offset 8",
                real!(),
                "jmp r11"
            ],
            function = sym $module::$function,
            real = sym real::$slot,
            nothing = sym real::nothing,
        );
    };
    // The first call is noted; the others cost a load and a branch.
    (@ (once $mark:ident), $slot:ident, $name:literal, $versions:tt) => {
        entry!(
            $slot, $name, $versions,
            [
                "cmp dword ptr [rip + {mark}], 0",
                "je 2f",
                real!(),
                "jmp r11",
                "2:",
                "push rdi", "push rsi", "push rdx",
                ".cfi_def_cfa_offset 32",
                "lea rdi, [rip + {mark}]",
                "call {function}",
                "pop rdx", "pop rsi", "pop rdi",
                ".cfi_def_cfa_offset 8",
                real!(),
                "jmp r11"
            ],
            mark = sym notes::$mark,
            function = sym unseen::uses,
            real = sym real::$slot,
            nothing = sym real::nothing,
        );
    };
}

functions!(entries);
