//! `pthread_exit` in a signal handler that interrupts a wait: the thread leaves the wait first.
//!
//! The handler's frames are above the wait's frames, so the wait cannot continue beneath them. But
//! a thread that sleeps in a wait is in the wait's only system call. That call records its return
//! address. `pthread_exit` drops the handler's frames and returns there, with a mark that ends the
//! wait. At its end the wait calls `pthread_exit` again.

use crate::local::local;
use crate::{note, real, start};

/// Ends the running thread.
///
/// # Safety
///
/// The requirements of POSIX for this function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn pthread_exit(value: usize) -> ! {
    start::state();
    let me = local();
    // SAFETY: the thread's own data. No frame above has anything to drop.
    unsafe {
        let place = &raw mut (*me).note;
        if note::is_in_call(place) {
            (*me).wait.exits = true;
            (*me).wait.stop |= !(*me).wait.stays;
            (*me).value = value;
            note::go_back(place);
        }
        real::one(&real::EXIT, value);
    }
    crate::system::exit(134)
}

/// Ends the running thread, whose wait has ended at the request of a handler.
///
/// # Safety
///
/// No frame above has anything to drop.
pub(crate) unsafe fn exit() -> ! {
    // SAFETY: the thread's own data; the caller's promise.
    unsafe { pthread_exit((*local()).value) }
}
