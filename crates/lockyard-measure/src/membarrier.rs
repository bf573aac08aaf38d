//! Waits for other processors on this host: a system call interrupts every CPU that runs a thread
//! of this process.
//!
//! The system call is Linux's `membarrier(2)` with the command "private expedited". It interrupts
//! each CPU that runs a thread of this process, and returns when each has executed a barrier. So it
//! implements a script's step `wait-for-others`.
//!
//! The call does not wait for preempted threads, because a context switch is already a barrier. The
//! cost of waiting for a virtual CPU that is not running is therefore not measured here. The
//! simulated machine does model it.

use std::sync::OnceLock;

/// Result of registering this process for the system call, or the reason why that failed.
static REGISTERED: OnceLock<Result<(), String>> = OnceLock::new();

#[cfg(target_os = "linux")]
fn membarrier(command: libc::c_int) -> std::io::Result<libc::c_long> {
    // SAFETY: `membarrier` takes only numbers and changes no memory of this process.
    let found = unsafe { libc::syscall(libc::SYS_membarrier, command, 0 as libc::c_uint, 0) };
    if found < 0 { Err(std::io::Error::last_os_error()) } else { Ok(found) }
}

#[cfg(target_os = "linux")]
fn register() -> Result<(), String> {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
        .and_then(|_| membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        .map(|_| ())
        .map_err(|error| format!("the system call membarrier is refused: {error}"))
}

#[cfg(not(target_os = "linux"))]
fn register() -> Result<(), String> {
    Err("this system has no call that interrupts the other CPUs of a process".to_owned())
}

/// Checks that threads of this process can wait for others.
///
/// # Errors
///
/// The reason why they cannot, as a sentence for the user.
pub fn available() -> Result<(), String> {
    REGISTERED.get_or_init(register).clone()
}

/// Interrupts every CPU that runs a thread of this process, and waits until each has answered.
///
/// # Panics
///
/// If the system call is not [`available`].
pub(crate) fn wait() {
    #[cfg(target_os = "linux")]
    let done = membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED).is_ok();
    #[cfg(not(target_os = "linux"))]
    let done = false;
    assert!(done, "waiting for others was available when the run began");
}

#[cfg(test)]
mod tests {
    #[test]
    fn others_are_waited_for_or_there_is_a_reason_why_not() {
        match super::available() {
            Ok(()) => super::wait(),
            Err(why) => assert!(!why.is_empty()),
        }
    }
}
