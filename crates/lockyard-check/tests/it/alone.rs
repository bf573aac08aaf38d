//! Tests that run in their own process.
//!
//! A lock that is broken on purpose may treat another thread's queue node as its own. In a shared
//! process that thread may belong to another test.

use std::process::Command;

/// Environment variable that marks the process of a single test.
const ALONE: &str = "LOCKYARD_ALONE";

/// Runs `body` in its own process. `test` is the name of the calling test.
///
/// # Panics
///
/// Panics if it fails there, with its output.
pub(crate) fn alone(test: &str, body: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return body();
    }
    let program = std::env::current_exe().expect("this test has a file");
    let output = Command::new(program)
        .args([test, "--exact", "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("this program can be started");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    print!("{stdout}");
    assert!(output.status.success(), "{test}, in a process of its own:\n{stdout}{stderr}");
    assert!(stdout.contains("1 passed"), "there is no test {test}:\n{stdout}");
}
