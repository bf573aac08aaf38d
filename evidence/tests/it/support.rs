//! Support for the tests: the command of the studies, and its output.

use serde_json::Value;
use std::process::{Command, Output};

/// Runs `evidence` to its end, with output in UTF-8 and in very wide lines.
pub(crate) fn evidence(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evidence"));
    command.args(arguments).env("LC_ALL", "C.UTF-8").env("COLUMNS", "1000").env_remove("TERM");
    command.output().expect("the command runs")
}

/// Returns the document of a successful run.
pub(crate) fn json(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// Returns the line of a refusal: exit code 2, nothing on standard output, one line.
pub(crate) fn refusal(output: Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let stderr = String::from_utf8(output.stderr).expect("it is text");
    let is_expected = |line: &&str| line.starts_with("warning: ") || line.starts_with("note: ");
    let lines: Vec<&str> = stderr.lines().filter(|line| !is_expected(line)).collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    lines[0].to_owned()
}
