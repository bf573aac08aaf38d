//! A profiled program while it runs. Its input and output are those of the command, and so is its
//! process group: a key that interrupts the command interrupts the program too.

use super::running::running;
use crate::errors::complain;
use crate::signals;
use lockyard_support::jobs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Interval of the checks for a signal.
const LOOKS: Duration = Duration::from_millis(20);

/// Time after a signal from which the user is told that the program has not ended.
const SILENCE: Duration = Duration::from_secs(1);

/// End of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// Processor time of the program and of its children that it waited for, in seconds.
    pub(super) cpu_seconds: f64,
}

/// Starts a program, and waits for its end. Signals to the command are passed on.
///
/// # Errors
///
/// The program cannot be started, or not be waited for.
pub(super) fn run(mut command: Command) -> io::Result<Ended> {
    let id = {
        // The lock is held until the number is there, so that a kill does not miss it.
        let mut running = running();
        let id = command.spawn()?.id() as libc::pid_t;
        *running = Some(id);
        id
    };
    let (sender, receiver) = channel();
    let waiter = std::thread::Builder::new().spawn(move || {
        // This fails if the receiver is gone, because the command is about to end.
        let _ = sender.send(has_ended(id));
    });
    if waiter.is_err() {
        return has_ended(id).and_then(|()| reap(id));
    }
    let mut told: Option<Instant> = None;
    let mut has_said = false;
    loop {
        match receiver.recv_timeout(LOOKS) {
            Ok(ended) => return ended.and_then(|()| reap(id)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the waiting thread has ended"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(told) = told {
            if !has_said && told.elapsed() >= SILENCE {
                has_said = true;
                complain(
                    "lockyard: waiting for the program to end, to which the signal was passed on; \
                     a second signal kills it, and nothing is reported",
                );
            }
        } else if jobs::interrupted() {
            told = Some(Instant::now());
            // The program may take its time to end. A second signal ends the command at once.
            signals::end_work();
            if let Some(signal) = signals::number()
                && !(is_of_a_key(signal) && is_in_foreground())
            {
                // SAFETY: the call has no preconditions. The number is still the program's: only
                // this thread reaps it.
                unsafe { libc::kill(id, signal) };
            }
        }
    }
}

/// Returns true for the signals of Ctrl-C and of Ctrl-\.
fn is_of_a_key(signal: libc::c_int) -> bool {
    [libc::SIGINT, libc::SIGQUIT].contains(&signal)
}

/// Waits until a child has ended, and leaves its number to it.
fn has_ended(id: libc::pid_t) -> io::Result<()> {
    // SAFETY: zeros are a valid value of this structure of numbers.
    let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
    loop {
        let flags = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: the call writes to a live variable, and the process is this one's child.
        let done = unsafe { libc::waitid(libc::P_PID, id as libc::id_t, &raw mut about, flags) };
        if done == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Gives the number of a child that has ended back to the system.
fn reap(id: libc::pid_t) -> io::Result<Ended> {
    // From here on the number may be another process's.
    let mut running = running();
    *running = None;
    let mut status = 0;
    // SAFETY: zeros are a valid value of this structure of numbers.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: the call writes to live variables, and the process is this one's child.
        let done = unsafe { libc::wait4(id, &raw mut status, 0, &raw mut used) };
        if done == id {
            let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
            let cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
            return Ok(Ended { status: ExitStatus::from_raw(status), cpu_seconds });
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Returns true if this process is in the foreground of a terminal, which sends the interrupt of a
/// key to the program too.
fn is_in_foreground() -> bool {
    use std::os::fd::AsRawFd;
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    // SAFETY: the calls have no preconditions, and the descriptor is open.
    unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) == libc::getpgrp() }
}
