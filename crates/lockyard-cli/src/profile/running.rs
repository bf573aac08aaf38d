//! Number of the program that `profile` or `record` runs, so that the end of the command kills it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of the program that is running.
static RUNNING: Mutex<Option<libc::pid_t>> = Mutex::new(None);

/// Returns the number of the program that is running, locked.
pub(super) fn running() -> MutexGuard<'static, Option<libc::pid_t>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills the running program, and blocks the start of another one, because this process is about to
/// end.
pub(crate) fn kill_program() {
    let running = running();
    if let Some(id) = *running {
        // SAFETY: the call has no preconditions. The program has not been reaped, so its number is
        // still its own.
        unsafe { libc::kill(id, libc::SIGKILL) };
    }
    std::mem::forget(running);
}
