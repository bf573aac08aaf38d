//! Shared parts of the tests: the library and programs that it is preloaded into.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The kinds of locks that replace the C library's.
pub(crate) const KINDS: [&str; 4] = ["mutex", "queued", "ticket", "pv-queued"];

/// Returns the directory of this test, in which cargo has built the library.
fn here() -> PathBuf {
    let test = std::env::current_exe().expect("this test is a file");
    test.parent().expect("it is in a folder").to_owned()
}

/// Returns a built file.
pub(crate) fn built(name: &str) -> PathBuf {
    let file = here().join(name);
    assert!(file.is_file(), "no {}", file.display());
    file
}

/// Returns a built example, which cargo puts beside the directory of tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let file = here().join("../examples").join(name);
    assert!(file.is_file(), "no {}", file.display());
    file
}

/// Returns a command, bounded in time, with the library and a kind, or without the library if no
/// kind is given.
pub(crate) fn command(program: &Path, kind: Option<&str>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "300"]);
    if let Some(kind) = kind {
        let library = built("liblockyard_mutex.so");
        // `timeout` itself runs without the library.
        command.arg("env").arg(format!("LD_PRELOAD={}", library.display()));
        command.arg(format!("LOCKYARD_LOCK={kind}"));
    }
    command.arg(program);
    command
}

/// Runs a command, which must exist.
pub(crate) fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Returns both streams of a command as text.
pub(crate) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}
