//! Filters of system calls (seccomp). The C library's locks make only one kind of system call, so a
//! filter may end the program at another kind. The kinds of locks that yield look for a filter when
//! the library starts, and when the program is about to set one.

use crate::choice::Lock;
use crate::{real, system};
use core::ffi::{c_int, c_ulong};

/// Beginning of the line in the process's status that shows its filter mode, and the number for no
/// filter.
const NONE: &[u8] = b"\nSeccomp:\t0\n";

/// Finds whether this process has a filter. `lock` is the kind of lock that the process uses.
pub(crate) fn find(lock: Lock) {
    let mut room = [0; 4096];
    // A mutex sleeps, and its few yields can be replaced.
    let yields = lock != Lock::Mutex;
    if yields
        && system::read_file(c"/proc/self/status", &mut room)
            .windows(NONE.len())
            .any(|line| line == NONE)
    {
        system::allow_yields();
    }
}

/// Controls the process. A program does not yield any more after it sets a filter, or gives up new
/// privileges (as an unprivileged program must before it sets a filter).
///
/// # Safety
///
/// The requirements of the system's manual.
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
    // SAFETY: the program's arguments. The function reads as many arguments as the option has.
    unsafe { real::five(&real::CONTROL, option as usize, a, b, c, d) }
}
