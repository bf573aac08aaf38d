//! Panic handler and unwinding symbol of a library without the standard library.

use core::arch::global_asm;
use core::panic::PanicInfo;

#[link(name = "c")]
unsafe extern "C" {}

/// Ends the process with the exit code of an abort: a success would hide the defect. No code here
/// is meant to panic.
#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    crate::system::exit(134)
}

// The unwind information of `core` names this function. It is hidden, so that a program's own one
// stays in its place, and is never called, because nothing here unwinds.
global_asm!(
    ".pushsection .text.rust_eh_personality,\"ax\",@progbits",
    ".globl rust_eh_personality",
    ".hidden rust_eh_personality",
    ".type rust_eh_personality, @function",
    "rust_eh_personality:",
    "ud2",
    ".popsection",
);
