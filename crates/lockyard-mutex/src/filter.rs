//! Filters of system calls (seccomp). The C library's locks make one system call, so a filter may
//! end the program at another one. The kinds of locks that yield look for a filter when the library
//! starts, and when the program is about to set one.

use crate::choice::Lock;
use crate::{real, system};
use core::ffi::{c_int, c_ulong};

/// Beginning of the line of the process's status that says which filter there is, and the number
/// for none.
const NONE: &[u8] = b"\nSeccomp:\t0\n";

/// Finds whether this process has a filter. `lock` is the kind that it uses.
pub(crate) fn find(lock: Lock) {
    let mut room = [0; 4096];
    // A mutex sleeps, and yields where it does not matter.
    let yields = lock != Lock::Mutex;
    if yields
        && system::read_file(c"/proc/self/status", &mut room)
            .windows(NONE.len())
            .any(|line| line == NONE)
    {
        system::allow_yields();
    }
}

/// Controls the process. A program that gives up new privileges, as it must to set a filter without
/// the right to do so, or that sets one, does not yield from then on.
///
/// # Safety
///
/// As the system's manual has it.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn prctl(
    option: c_int,
    a: c_ulong,
    b: c_ulong,
    c: c_ulong,
    d: c_ulong,
) -> c_int {
    if matches!(option, libc::PR_SET_SECCOMP | libc::PR_SET_NO_NEW_PRIVS) {
        system::forbid_yields();
    }
    let [a, b, c, d] = [a, b, c, d].map(|argument| argument as usize);
    // SAFETY: the program's arguments. The function reads as many of them as the option has.
    unsafe { real::five(&real::CONTROL, option as usize, a, b, c, d) }
}
