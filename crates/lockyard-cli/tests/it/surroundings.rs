//! Hostile surroundings: arguments that are not UTF-8, no home directory, no environment at all, a
//! tiny terminal, a reader that closes the pipe early, too little memory.

#![cfg(target_os = "linux")]

use crate::support::folders::{directory, names};
use crate::support::{command, text};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output, Stdio};

const CLX: &str = "cascade-lake-2s24c2t";

fn one_line(output: &Output, code: i32) -> String {
    let why = text(&output.stderr);
    assert_eq!((output.status.code(), why.lines().count()), (Some(code), 1), "{why}");
    assert!(why.starts_with("lockyard: "), "{why}");
    why
}

#[test]
fn arguments_that_are_no_text_are_refused() {
    let wrong = OsStr::from_bytes(b"\xff\xfe");
    for before in [
        &[][..],
        &["predict"],
        &["scenarios", "show"],
        &["scenarios", "new", "--name"],
        &["completions"],
        &["machines", "show"],
        &["predict", "fstat2", "-t", "1", "-m"],
        &["measure", "page-ref", "-t"],
    ] {
        let output = command(before).arg(wrong).output().expect("the command runs");
        one_line(&output, 2);
    }
    // A file may have such a name.
    let file = directory("surroundings", "names").join(wrong);
    let made = command(&["scenarios", "new", "--out"]).arg(&file).output().expect("it runs");
    assert!(made.status.success() && file.exists(), "{}", text(&made.stderr));
}

#[test]
fn neither_a_home_nor_any_variable_is_needed() {
    let place = directory("surroundings", "empty");
    for arguments in [
        &["scenarios"][..],
        &["predict", "fstat2", "-m", CLX, "-t", "1,2", "-v", "lockref"],
        &["predict", "fstat2", "-m", CLX, "-t", "1", "-v", "lockref", "--save", "a"],
        &["machines", "detect"],
        &["completions", "zsh"],
    ] {
        let mut command = command(arguments);
        let output = command.env_clear().current_dir(&place).output().expect("the command runs");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        assert!(!output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_tiny_screen_gets_sixty_columns() {
    for columns in ["1", "10", "0", "-1", "x"] {
        let arguments = ["predict", "fstat2", "-m", CLX, "-t", "1,2,4,8", "-v", "lockref"];
        let output = command(&arguments).env("COLUMNS", columns).output().expect("it runs");
        assert!(output.status.success(), "{columns}: {}", text(&output.stderr));
        let printed = text(&output.stdout);
        let widest = printed.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= 80, "{columns}: {widest}");
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    for arguments in [
        "scenarios",
        "scenarios show fstat2",
        "completions bash",
        "help predict",
        "machines show cascade-lake-2s24c2t",
        "predict fstat2 -m cascade-lake-2s24c2t -t 1-4 -v lockref --explain",
    ] {
        let script = format!("{} {arguments} | true", env!("CARGO_BIN_EXE_lockyard"));
        let output = Command::new("sh").args(["-c", &script]).output().expect("there is a shell");
        assert_eq!(text(&output.stderr), "", "{arguments}");
    }
}

#[test]
fn memory_that_ends_is_one_line_and_leaves_no_file() {
    let place = directory("surroundings", "memory");
    let run = |kilobytes: u64| {
        let script = format!(
            "ulimit -v {kilobytes}; exec {} predict dbench/loaded-guest -m {CLX} -t 1-16 -j 1 \
             --explain --report page.html",
            env!("CARGO_BIN_EXE_lockyard")
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(&place).stdin(Stdio::null());
        shell.env("COLUMNS", "80").output().expect("there is a shell")
    };
    // The minimum with which the command starts is unknown, because it depends on the linker and
    // the C library.
    let mut refused = 0;
    for kilobytes in [24_000, 32_000, 40_000, 48_000, 64_000, 80_000, 96_000, 128_000] {
        let output = run(kilobytes);
        let why = text(&output.stderr);
        assert!(!why.contains("panicked"), "{kilobytes}: {why}");
        if why.contains("lockyard: out of memory: ") {
            assert_eq!(output.status.code(), Some(1), "{kilobytes}: {why}");
            refused += 1;
        }
        let left: Vec<String> = names(&place).into_iter().filter(|n| n != "page.html").collect();
        assert!(left.is_empty(), "{kilobytes}: {left:?}: {why}");
        let _ = std::fs::remove_file(place.join("page.html"));
    }
    println!("{refused} of 8 limits ended in the command's own line");
}
