//! Data of the running thread, by the initial-exec model: an offset that the loader fills in, and
//! no call.
//!
//! The model cannot be chosen in Rust, so the variable and its access are assembly.

use core::arch::{asm, global_asm};
use core::ptr::{read_volatile, write_volatile};
use core::sync::atomic::{Ordering, compiler_fence};
use lockyard_records::Thread;

/// Data of a thread. All zeros is the state of a thread that has recorded nothing.
#[repr(C)]
pub(crate) struct Local {
    /// Records of the thread; null before the first.
    pub(crate) thread: *mut Thread,
    /// 1 while the thread changes its records.
    inside: u64,
}

global_asm!(
    ".pushsection .tbss.lockyard_local,\"awT\",@nobits",
    ".p2align 4",
    ".globl lockyard_local",
    ".hidden lockyard_local",
    ".type lockyard_local, @object",
    ".size lockyard_local, 16",
    "lockyard_local:",
    ".zero 16",
    ".popsection",
);

const _: () = assert!(size_of::<Local>() == 16);

/// Returns the data of the running thread.
#[inline(always)]
pub(crate) fn local() -> *mut Local {
    let address: *mut Local;
    // SAFETY: the word at fs:[0] is the thread's base by the ABI, and the variable's offset from it
    // is fixed when the library is loaded.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + lockyard_local@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) address,
            options(pure, nomem, nostack)
        );
    }
    address
}

/// Marks the running thread as inside the recorder. Returns false if it already is: this call
/// comes from a signal handler, or from the recorder itself.
#[inline(always)]
pub(crate) fn begin() -> bool {
    let inside = local().wrapping_byte_add(core::mem::offset_of!(Local, inside)).cast::<u64>();
    // SAFETY: the thread's own data. Volatile, because a signal handler of this thread reads it.
    unsafe {
        if read_volatile(inside) != 0 {
            return false;
        }
        write_volatile(inside, 1);
    }
    compiler_fence(Ordering::SeqCst);
    true
}

/// Ends what [`begin`] began.
#[inline(always)]
pub(crate) fn end() {
    compiler_fence(Ordering::SeqCst);
    let inside = local().wrapping_byte_add(core::mem::offset_of!(Local, inside)).cast::<u64>();
    // SAFETY: as in `begin`.
    unsafe { write_volatile(inside, 0) };
}
