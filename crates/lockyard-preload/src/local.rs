//! Data of the running thread, without a call (`lockyard-interpose`).

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

lockyard_interpose::thread_data! {
    /// Returns the data of the running thread.
    pub(crate) fn local() -> *mut Local, "lockyard_local", 16
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
