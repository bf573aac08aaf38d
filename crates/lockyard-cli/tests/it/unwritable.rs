//! Output that cannot be written. A full device gives one line and exit code 1. A reader that
//! closes the pipe is not an error. An error that cannot be printed keeps its exit code. Nothing
//! panics.

#![cfg(target_os = "linux")]

use crate::support::command as lockyard;
use std::fs::OpenOptions;
use std::process::{Command, Output, Stdio};

/// Opens a device on which every write fails for lack of space.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").expect("Linux has it").into()
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the command runs")
}

const PREDICT: [&str; 8] = [
    "predict",
    "fstat2",
    "--machine",
    "cascade-lake-2s24c2t",
    "--threads",
    "1",
    "--variant",
    "lockref",
];

/// Writes a result file. Returns its path.
fn results() -> String {
    let path = format!("{}/unwritable.json", env!("CARGO_TARGET_TMPDIR"));
    let output = run(lockyard(&PREDICT).args(["--format", "json"]));
    std::fs::write(&path, output.stdout).expect("there is room");
    path
}

#[test]
fn a_full_device_is_one_line_and_exit_code_1() {
    let results = results();
    let commands: [&[&str]; 8] = [
        &[],
        &["machines"],
        &["machines", "show", "cascade-lake-2s24c2t"],
        &PREDICT,
        &["reproduce", "access2", "--no-measure", "--format", "json"],
        &["measure", "controls", "--threads", "1", "--variant", "ticket", "--seconds", "0.01"],
        &["compare", &results, &results],
        &["machines", "check", "zen4-7840u"],
    ];
    for arguments in commands {
        let output = run(lockyard(arguments).stdout(full()));
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let stderr = String::from_utf8(output.stderr).expect("it is text");
        // Warnings about this host may precede the error.
        let mut said = stderr.lines().filter(|line| !line.starts_with("warning: "));
        let line = said.next().expect("it says why");
        assert!(line.starts_with("lockyard: standard output cannot be written: "), "{stderr}");
        assert_eq!(said.next(), None, "{stderr}");
    }
}

#[test]
fn an_error_that_cannot_be_printed_still_has_its_exit_code() {
    let refused = run(lockyard(&["reproduce", "no-such-experiment"]).stderr(full()));
    assert_eq!(refused.status.code(), Some(2));
    let usage = run(lockyard(&["no-such-command"]).stderr(full()));
    assert_eq!(usage.status.code(), Some(2));
    let failed = run(lockyard(&["machines"]).stdout(full()).stderr(full()));
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn a_reader_that_has_gone_away_is_no_error() {
    for arguments in [&["machines", "show", "cascade-lake-2s24c2t"][..], &PREDICT] {
        // The pipe's reading end is closed before the command begins.
        let (reader, writer) = std::io::pipe().expect("there are descriptors");
        drop(reader);
        let output = run(lockyard(arguments).stdout(writer));
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}
