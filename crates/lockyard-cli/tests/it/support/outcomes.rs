//! Output of the command: a document, or the line of a refusal.

use serde_json::Value;
use std::process::Output;

/// Returns the document of a run that succeeded.
pub(crate) fn json(output: &Output) -> Value {
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{why}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// Returns the one line with which bad input is refused.
pub(crate) fn refusal(output: Output) -> String {
    let why = String::from_utf8(output.stderr).expect("it is text");
    assert_eq!(output.status.code(), Some(2), "{why}");
    assert!(output.stdout.is_empty(), "{why}");
    assert_eq!(why.lines().count(), 1, "{why}");
    why.trim_end().to_owned()
}
