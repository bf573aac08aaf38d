//! A child process that is a copy of the test process.

/// Runs `child` in a forked process, and returns its wait status.
pub(crate) fn forked(child: impl FnOnce() -> bool) -> libc::c_int {
    // SAFETY: the child runs `child`, which takes and releases locks in static memory and makes
    // system calls. Then it ends without returning from this function. It allocates nothing.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork fails");
    if pid == 0 {
        let right = child();
        // SAFETY: the call ends the process immediately.
        unsafe { libc::_exit(i32::from(!right)) };
    }
    let mut status = 0;
    // SAFETY: `status` is a live variable; `pid` is this process's child.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    status
}
