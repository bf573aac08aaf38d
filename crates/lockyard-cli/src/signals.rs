//! Signals that end the command: SIGINT (Ctrl-C), SIGTERM, and each other one that would end the
//! process at once, unless its parent made it ignore that one, as `nohup` does.
//!
//! The exit code is 128 plus the signal's number: 130, 143, 129. The process exits instead of
//! raising the signal again, so that buffers are flushed and temporary directories removed. SIGXFSZ
//! ends nothing: the write beyond the limit fails, and its error is reported.
//!
//! | when | what happens |
//! | --- | --- |
//! | in a command that has no rows to keep ([`begin`]) | the process ends at once |
//! | the first signal in long work | the work ends soon (by [`jobs`]), finished rows are printed |
//! | a second signal | it kills the program and ends at once, with the code of the first one |
//! | the program of `profile` or `record` has ended | its records are read and reported |
//! | the work has not ended after [`PATIENCE`] | the same |

use crate::errors::complain;
use crate::{child, temporary};
use lockyard_support::jobs;
use std::io;
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// Number of the first signal that arrived; 0 if none has.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// State of the command: one of the following constants.
static COMMAND: AtomicI32 = AtomicI32::new(NOT_READ);
const NOT_READ: i32 = 0;
const KEEPS_ROWS: i32 = 1;
const ENDS_AT_ONCE: i32 = 2;

/// Maximum time to read the arguments.
const LONGEST_READING: Duration = Duration::from_millis(500);

/// True once the work has ended, and only printing and writing remain.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Maximum time between the first signal and the end of the work. Work usually ends in less than a
/// second, except on an overloaded host.
const PATIENCE: Duration = Duration::from_secs(10);

/// A signal within this time after the first one counts as the same request. For example, `timeout`
/// signals its child, and then the child's group.
const SAME: Duration = Duration::from_millis(100);

/// Records that the arguments have been read. If the command `keeps_rows`, the first signal ends
/// the work, and finished rows are printed.
pub(crate) fn begin(keeps_rows: bool) {
    COMMAND.store(if keeps_rows { KEEPS_ROWS } else { ENDS_AT_ONCE }, Ordering::Relaxed);
}

/// Records that the work has ended, and that its rows are about to be printed.
pub(crate) fn end_work() {
    ENDED.store(true, Ordering::Relaxed);
}

/// Returns the number of the signal that arrived.
#[cfg(target_os = "linux")]
pub(crate) fn number() -> Option<i32> {
    Some(CAUGHT.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// Records that a signal was meant for a program that has ended since. The command goes on until
/// what the program left is reported, and its exit code is the program's.
#[cfg(target_os = "linux")]
pub(crate) fn passed_on() {
    end_work();
    CAUGHT.store(0, Ordering::Relaxed);
}

/// Returns the name of the signal that arrived, and the exit code for it.
pub(crate) fn caught() -> Option<(&'static str, u8)> {
    let signal = CAUGHT.load(Ordering::Relaxed);
    (signal != 0).then(|| (name(signal).unwrap_or("a signal"), 128 + signal as u8))
}

/// Returns the name of a signal.
#[cfg(unix)]
pub(crate) fn name(signal: i32) -> Option<&'static str> {
    signal_hook::low_level::signal_name(signal)
}

/// Returns the name of a signal.
#[cfg(not(unix))]
fn name(signal: i32) -> Option<&'static str> {
    (signal == 2).then_some("SIGINT")
}

/// Ends the process with the first signal's code, and leaves no program and no temporary file.
fn end() -> ! {
    child::kill_all();
    #[cfg(target_os = "linux")]
    crate::profile::kill_program();
    temporary::remove_all();
    #[cfg(target_os = "linux")]
    lockyard_measure::syscalls::remove_all();
    #[cfg(target_os = "linux")]
    crate::profile::remove_all();
    exit(caught().map_or(1, |(_, code)| i32::from(code)));
}

/// Handles a signal, on the thread that waits for signals. `first` is the time of the first signal.
fn handle(signal: i32, first: &mut Option<Instant>) {
    match first {
        Some(first) if first.elapsed() < SAME || is_repeated(signal) => return,
        Some(_) => end(),
        None => *first = Some(Instant::now()),
    }
    CAUGHT.store(signal, Ordering::Relaxed);
    let came = Instant::now();
    while COMMAND.load(Ordering::Relaxed) == NOT_READ && came.elapsed() < LONGEST_READING {
        std::thread::sleep(Duration::from_millis(1));
    }
    if COMMAND.load(Ordering::Relaxed) != KEEPS_ROWS {
        if let Some((name, _)) = caught() {
            complain(&format!("lockyard: interrupted ({name}): nothing was finished"));
        }
        end();
    }
    jobs::interrupt();
    let too_late = || {
        std::thread::sleep(PATIENCE);
        if !ENDED.load(Ordering::Relaxed) {
            complain("lockyard: interrupted: the work did not end in time; its rows are lost");
            end();
        }
    };
    // If the thread cannot be started, a second signal still ends the process.
    let _ = std::thread::Builder::new().spawn(too_late);
}

/// Returns true for a signal that the system itself sends again each second.
#[cfg(unix)]
fn is_repeated(signal: i32) -> bool {
    signal == signal_hook::consts::SIGXCPU
}

/// Returns false: no signal is sent again.
#[cfg(not(unix))]
fn is_repeated(_: i32) -> bool {
    false
}

/// Starts a thread that waits for signals.
///
/// # Errors
///
/// If the system does not allow it.
#[cfg(unix)]
pub(crate) fn install() -> io::Result<()> {
    use signal_hook::consts::{
        SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
        SIGXFSZ,
    };
    let ignored = ignored();
    let is_heeded = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
    let mut wanted = vec![SIGINT, SIGTERM];
    let others = [SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU];
    wanted.extend(others.into_iter().filter(is_heeded));
    if is_heeded(&SIGXFSZ) {
        // A handler and not `SIG_IGN`, which a program that is started would inherit.
        let reached = std::sync::Arc::<AtomicBool>::default();
        signal_hook::flag::register(SIGXFSZ, reached)?;
    }
    let mut signals = signal_hook::iterator::Signals::new(wanted)?;
    std::thread::Builder::new().spawn(move || {
        let mut first = None;
        signals.forever().for_each(|signal| handle(signal, &mut first));
    })?;
    Ok(())
}

/// Starts to handle Ctrl-C.
///
/// # Errors
///
/// If the system does not allow it.
#[cfg(not(unix))]
pub(crate) fn install() -> io::Result<()> {
    const SIGINT: i32 = 2;
    let mut first = None;
    ctrlc::set_handler(move || handle(SIGINT, &mut first)).map_err(io::Error::other)
}

/// Returns the signals with which the process was started ignored, for example by `nohup`: the
/// first one is the lowest bit. Without a system that tells, there are none.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// A program that got the signal may have ended before it was told of it, and its report may
    /// take long. Nothing is lost then.
    #[test]
    fn the_report_of_a_program_that_has_ended_is_never_too_late() {
        passed_on();
        assert!(ENDED.load(Ordering::Relaxed) && caught().is_none());
    }
}
