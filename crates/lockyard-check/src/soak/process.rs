//! Copies of this program that it starts as processes: for code that ends the process, and for code
//! that leaks.

use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time after which a process counts as stuck.
const LIMIT: Duration = Duration::from_secs(60);

/// Starts this program again, with two arguments, and returns its exit status.
///
/// # Errors
///
/// If it cannot be started, or does not end within a minute: then it is killed.
pub fn again(what: &str, number: u64) -> Result<ExitStatus, String> {
    let started = std::env::current_exe().and_then(|program| {
        Command::new(program).args([what, &number.to_string()]).stdin(Stdio::null()).spawn()
    });
    let mut child = started.map_err(|error| format!("a process cannot be started: {error}"))?;
    let began = Instant::now();
    while began.elapsed() < LIMIT {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(format!("a process cannot be waited for: {error}")),
        }
    }
    // The process hangs: kill it, and report that.
    drop(child.kill());
    drop(child.wait());
    Err(format!("a process did not end within {} s: {what} {number}", LIMIT.as_secs()))
}
