//! Runs another program until it ends or times out.
//!
//! The program gets a process group of its own where there are groups. When the program ends, the
//! rest of its group is killed: children that a script has left in the background too. A signal
//! that ends this process ends the program first ([`kill_all`]). A process that has left the group
//! is not found.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum size of standard output in bytes: the maximum size of a result file.
const MOST_OUTPUT: u64 = lockyard_results::compare::read::MAX_FILE_BYTES;

/// Maximum number of bytes that are read from standard error.
const MOST_ERRORS: u64 = 1 << 20;

/// Interval of the checks for the end of a program that has closed its output.
const LOOKS: Duration = Duration::from_millis(2);

/// Maximum time to wait for standard error after the program has failed.
const LAST_LINE: Duration = Duration::from_millis(500);

/// Process id of the program that is running.
static RUNNING: Mutex<Option<u32>> = Mutex::new(None);

fn running() -> MutexGuard<'static, Option<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reason why a run has no output.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The program cannot be started.
    NotStarted(io::Error),
    /// The program was started and failed. The text continues a sentence whose subject is the
    /// program.
    Ended(String),
}

/// A program that has been started. Dropping this value kills and reaps the program.
struct Running(Child);

impl Running {
    fn start(mut command: Command) -> io::Result<Running> {
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        // The lock is held until the process is registered, so that [`kill_all`] does not miss it.
        let mut running = running();
        let child = command.spawn()?;
        *running = Some(child.id());
        Ok(Running(child))
    }

    /// Waits for the end until `deadline`, and kills what is left of the group. Returns `None` if
    /// it has not ended by then.
    fn wait_until(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        loop {
            let mut running = running();
            if has_ended(&mut self.0)? {
                // It has not been reaped, so the number of its group is still its own.
                kill(self.0.id());
                *running = None;
                return self.0.wait().map(Some);
            }
            drop(running);
            if Instant::now() >= deadline {
                return Ok(None);
            }
            std::thread::sleep(LOOKS);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = running();
        if running.take().is_some() {
            kill(self.0.id());
            // Ignore errors: the program may have ended by itself, and nothing more can be done.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// Returns true if the process has ended. It is not reaped.
#[cfg(unix)]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    // SAFETY: zeros are a valid value of this structure of numbers.
    let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the call writes to a live structure, and to nothing else.
    if unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut found, flags) } != 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) };
    }
    // Without a process that has ended, the structure stays as it is.
    Ok(found.si_signo == libc::SIGCHLD)
}

/// Returns true if the process has ended.
#[cfg(not(unix))]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    Ok(child.try_wait()?.is_some())
}

/// Kills the process and its group.
fn kill(id: u32) {
    #[cfg(unix)]
    if let Ok(group) = i32::try_from(id)
        && group > 1
    {
        // SAFETY: the call has no preconditions. The process has not been reaped, so its group
        // number has not been reused.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    #[cfg(not(unix))]
    let _ = id;
}

/// Kills the running program, and blocks the start of another one, because this process is about to
/// end.
pub(crate) fn kill_all() {
    let running = running();
    if let Some(id) = *running {
        kill(id);
    }
    std::mem::forget(running);
}

/// Runs a program, and returns its standard output.
///
/// # Errors
///
/// If the program cannot be started, fails, or does not end within `limit`. No program is running
/// after an error.
pub(crate) fn run(
    program: &Path,
    arguments: &[OsString],
    limit: Duration,
) -> Result<String, Failed> {
    let begin = Instant::now();
    let deadline = begin + limit;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Running::start(command).map_err(Failed::NotStarted)?;
    let output = read(child.0.stdout.take(), MOST_OUTPUT + 1);
    let errors = read(child.0.stderr.take(), MOST_ERRORS);
    let too_long = || {
        let seconds = limit.as_secs_f64();
        Failed::Ended(format!("did not end within {seconds} s, and was killed (--timeout)"))
    };
    let output = output.recv_timeout(limit).map_err(|_| too_long())?;
    if output.len() as u64 > MOST_OUTPUT {
        let most = MOST_OUTPUT >> 20;
        return Err(Failed::Ended(format!("printed more than {most} MiB, and was killed")));
    }
    let status = child.wait_until(deadline);
    let status = status.map_err(|error| Failed::Ended(format!("cannot be waited for: {error}")))?;
    let Some(status) = status else { return Err(too_long()) };
    if !status.success() {
        let errors = errors.recv_timeout(LAST_LINE).unwrap_or_default();
        let errors = String::from_utf8_lossy(&errors).into_owned();
        let last = errors.lines().map(str::trim).rfind(|line| !line.is_empty());
        let said = last.map(|line| format!(": {}", lockyard_support::printable(line)));
        return Err(Failed::Ended(format!("failed ({status}){}", said.unwrap_or_default())));
    }
    String::from_utf8(output)
        .map_err(|_| Failed::Ended("printed bytes that are not UTF-8".to_owned()))
}

/// Reads at most `most` bytes from a pipe, on a separate thread. The thread ends when the pipe
/// does.
fn read(pipe: Option<impl Read + Send + 'static>, most: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    if let Some(mut pipe) = pipe {
        let work = move || {
            let mut bytes = Vec::new();
            // After an error, send the bytes that were read before it.
            let _ = (&mut pipe).take(most).read_to_end(&mut bytes);
            // This fails if the receiver has stopped waiting and no longer needs the bytes.
            let _ = sender.send(bytes);
        };
        // If the thread cannot be started, the sender is dropped, which the receiver notices.
        let _ = std::thread::Builder::new().spawn(work);
    }
    receiver
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The tests take turns, because only one program can run at a time.
    static TURN: Mutex<()> = Mutex::new(());

    fn shell(script: &str, limit: Duration) -> Result<String, String> {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let arguments = ["-c".into(), script.into()];
        run(Path::new("/bin/sh"), &arguments, limit).map_err(|failed| match failed {
            Failed::NotStarted(error) => error.to_string(),
            Failed::Ended(what) => what,
        })
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_it_prints_is_returned_and_a_failure_has_its_last_line() {
        assert_eq!(shell("echo one; echo two >&2", LONG).as_deref(), Ok("one\n"));
        let failed = shell("echo one; echo first >&2; echo 'last' >&2; exit 3", LONG);
        assert_eq!(failed, Err("failed (exit status: 3): last".to_owned()));
        let failed = shell("kill -SEGV $$", LONG).expect_err("it fails");
        assert!(failed.contains("signal: 11"), "{failed}");
        assert_eq!(
            shell("printf '\\377'", LONG),
            Err("printed bytes that are not UTF-8".to_owned())
        );
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_with_its_children() {
        let file = std::env::temp_dir().join(format!("lockyard-child-{}", std::process::id()));
        let script = format!("sleep 600 & echo $! > {}; wait", file.display());
        let begin = Instant::now();
        let failed = shell(&script, Duration::from_millis(500)).expect_err("it does not end");
        assert!(failed.starts_with("did not end within 0.5 s"), "{failed}");
        assert!(begin.elapsed() < Duration::from_secs(30));
        ends(&file);
    }

    #[test]
    fn a_program_that_ends_leaves_no_child_in_the_background() {
        let file = std::env::temp_dir().join(format!("lockyard-left-{}", std::process::id()));
        let script = format!("sleep 600 >/dev/null 2>&1 & echo $! > {}; echo x", file.display());
        assert_eq!(shell(&script, LONG).as_deref(), Ok("x\n"));
        ends(&file);
    }

    /// Waits for the end of the process whose number is in a file.
    fn ends(file: &Path) {
        let id = std::fs::read_to_string(file).expect("the script wrote it");
        let _ = std::fs::remove_file(file);
        let id: i32 = id.trim().parse().expect("a number");
        // The process is an orphan now. Its new parent reaps it soon, or it stays a zombie.
        let begin = Instant::now();
        while is_alive(id) {
            assert!(begin.elapsed() < Duration::from_secs(30), "{id} is alive");
            std::thread::sleep(LOOKS);
        }
    }

    fn is_alive(id: i32) -> bool {
        // SAFETY: the call has no preconditions, and signal 0 only checks that the process exists.
        let there = unsafe { libc::kill(id, 0) } == 0;
        let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        there && !status.contains(") Z ")
    }
}
