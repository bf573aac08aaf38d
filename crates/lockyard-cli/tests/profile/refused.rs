//! Programs that cannot be profiled, and reports that cannot be written: one line, before the
//! program runs if it is known by then.

use crate::support::{build, fresh, locks, profile};
use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Returns the one line with which a command is refused.
fn refusal(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let said = String::from_utf8(output.stderr).expect("it is text");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty() && said.lines().count() == 1, "{said}");
    said
}

#[test]
fn a_command_that_is_not_there_is_one_line() {
    let said = refusal(&mut profile(&[], Path::new("no-such-command"), &[]));
    assert!(said.contains("no-such-command is not a command"), "{said}");
    let said = refusal(&mut profile(&[], Path::new("/no/such"), &[]));
    assert!(said.contains("/no/such cannot be run"), "{said}");
    let said = refusal(Command::new(env!("CARGO_BIN_EXE_lockyard")).arg("profile"));
    assert!(said.contains("`profile` needs"), "{said}");
}

#[test]
fn a_static_program_is_refused() {
    let Some(program) = build("cc", "locks.c", &["-static", "-w"]) else { return };
    let said = refusal(&mut profile(&[], &program, &["output"]));
    assert!(said.contains("statically linked"), "{said}");
}

#[test]
fn a_program_under_the_thread_sanitizer_is_refused() {
    let Some(program) = build("cc", "locks.c", &["-fsanitize=thread", "-w"]) else { return };
    let said = refusal(&mut profile(&[], &program, &["output"]));
    assert!(said.contains("thread sanitizer"), "{said}");
}

#[test]
fn a_program_under_the_address_sanitizer_is_refused() {
    let Some(program) = build("cc", "locks.c", &["-fsanitize=address", "-w"]) else { return };
    let said = refusal(&mut profile(&[], &program, &["output"]));
    assert!(said.contains("address sanitizer"), "{said}");
}

#[test]
fn a_program_with_other_rights_is_refused() {
    let Some(program) = locks() else { return };
    // Only the superuser can give a file away.
    if std::os::unix::fs::chown(&program, Some(65534), None).is_err() {
        lockyard_testing::skip!("files cannot be given to another user");
        return;
    }
    std::fs::set_permissions(&program, Permissions::from_mode(0o4755)).expect("it is allowed");
    let said = refusal(&mut profile(&[], &program, &["output"]));
    // No set-uid program stays in the directory of the tests.
    let _ = std::fs::remove_file(&program);
    assert!(said.contains("set-uid"), "{said}");
}

#[test]
fn json_needs_a_file_and_a_device_is_none() {
    let Some(program) = locks() else { return };
    let said = refusal(&mut profile(&["--format", "json"], &program, &["output"]));
    assert!(said.contains("needs --out FILE"), "{said}");
    let said = refusal(&mut profile(&["--out", "/dev/full"], &program, &["output"]));
    assert!(said.contains("/dev/full: exists, and is not a file"), "{said}");
    let none = fresh("none").join("report.txt");
    let path = none.to_str().expect("it is text");
    let said = refusal(&mut profile(&["--out", path], &program, &["output"]));
    assert!(said.contains("cannot be written"), "{said}");
}

#[test]
fn a_report_that_cannot_be_printed_is_a_failure() {
    let Some(program) = locks() else { return };
    let full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output = profile(&[], &program, &["counts", "1", "1", "1"]).stderr(full).output();
    assert_eq!(output.expect("it runs").status.code(), Some(1));
}

#[test]
fn a_library_that_is_named_must_be_there() {
    let Some(program) = locks() else { return };
    let mut command = profile(&[], &program, &["output"]);
    let output = command.env("LOCKYARD_PRELOAD", "/no/such.so").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("LOCKYARD_PRELOAD=/no/such.so"), "{said}");
}

#[test]
fn a_sample_of_none_is_refused() {
    let Some(program) = locks() else { return };
    for every in ["0", "-1", "x", "9999999999"] {
        let said = refusal(&mut profile(&["--every", every], &program, &["output"]));
        assert!(said.contains(&format!("--every is {every}; allowed: 1 to 1048576")), "{said}");
    }
}

#[test]
fn a_table_of_no_number_of_lines_is_refused() {
    let Some(program) = locks() else { return };
    let said = refusal(&mut profile(&["--top", "x"], &program, &["output"]));
    assert!(said.contains("--top is x; allowed: 1 to 1000000"), "{said}");
}

#[test]
fn what_the_system_does_not_execute_is_refused() {
    let Some(program) = locks() else { return };
    let said = refusal(&mut profile(&[], Path::new(""), &[]));
    assert!(said.contains("the name of the program is empty"), "{said}");
    let bytes = std::fs::read(&program).expect("it is there");
    for content in [&b"echo no first line\n"[..], &bytes[..100]] {
        let file = fresh("no-program");
        std::fs::write(&file, content).expect("there is room");
        std::fs::set_permissions(&file, Permissions::from_mode(0o755)).expect("it is ours");
        let said = refusal(&mut profile(&[], &file, &[]));
        assert!(said.contains("neither a complete program nor a script"), "{said}");
        let _ = std::fs::remove_file(file);
    }
}
