//! Waits for other processors on this host, by a system call that interrupts all CPUs on which
//! threads of this process run.
//!
//! Linux has `membarrier(2)` with the command "private expedited". It interrupts each CPU that runs
//! a thread of this process, and returns when each has executed a barrier. That is a script's step
//! `wait-for-others`, except for threads that are off their CPU. The system call does not wait for
//! these, because a context switch is already a barrier. The cost of waiting for virtual CPUs that
//! do not run is therefore not measured here; the simulated machine has it.

use std::sync::OnceLock;

/// Result of registering this process for the system call; if that failed, the reason.
static REGISTERED: OnceLock<Result<(), String>> = OnceLock::new();

#[cfg(target_os = "linux")]
fn membarrier(command: libc::c_int) -> std::io::Result<libc::c_long> {
    // SAFETY: `membarrier` takes numbers only and changes no memory of this process.
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
/// The reason why they cannot, for people.
pub fn available() -> Result<(), String> {
    REGISTERED.get_or_init(register).clone()
}

/// Interrupts all CPUs on which threads of this process run, and waits until each has answered.
///
/// # Panics
///
/// If this is not [`available`].
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
