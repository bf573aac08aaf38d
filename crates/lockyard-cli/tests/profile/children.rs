//! Children without records, and records that the program removes: missing records are named, and
//! then no report calls its counts exact.

use crate::support::{build, fresh, json_of, process, profile};
use std::path::Path;
use std::process::Command;

/// Exit code of the program if the system forbids its attempt.
const CANNOT: Option<i32> = Some(77);

#[test]
fn a_child_that_cannot_make_its_file_is_named() {
    let Some(program) = build("cc", "without_rights.c", &["-O1"]) else { return };
    for how in ["nofile", "fsize", "chroot", "setuid", "mounts"] {
        let (output, profile) = json_of(&program, &[how]);
        if output.status.code() == CANNOT {
            lockyard_testing::skip!("{how} is not allowed here");
            continue;
        }
        let of = process(&profile);
        assert_eq!(of["acquisitions"], 300, "{how}: {profile:#}");
        assert_eq!(profile["recording"]["saw_all"], false, "{how}: {profile:#}");
        let name = program.file_name().and_then(|name| name.to_str()).expect("it is text");
        let said = profile["warnings"].to_string();
        let line = format!("({}), a child of a fork, could not make its file", &name[..15]);
        assert!(said.contains(&line), "{how}: {said}");

        let out = fresh("child.recording");
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
        command.args(["record", "--no-host", "--out"]).arg(&out).arg("--").arg(&program).arg(how);
        let said = command.output().expect("it runs").stderr;
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains(&line), "{how}: {said}");
        let _ = std::fs::remove_file(out);
    }
    // No records are missing for a child that has its own file.
    let (_, profile) = json_of(&program, &["nothing"]);
    assert_eq!(profile["recording"]["saw_all"], true, "{profile:#}");
    let output = self::profile(&[], &program, &["nofile"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("acquisitions that the recorder saw"), "{said}");
}

#[test]
fn many_children_are_few_lines() {
    let Some(program) = build("cc", "without_rights.c", &["-O1"]) else { return };
    let output = profile(&[], &program, &["nothing", "40"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("\n  and 30 more: 600 acquisitions\n"), "{said}");
    assert!(said.lines().count() < 40, "{said}");
}

/// Returns the report about a script that takes locks, and then damages the records.
fn after(program: &Path, does: &str) -> (String, String) {
    let script = format!("{} nothing; echo $LOCKYARD_RECORDS; {does}", program.display());
    let output = profile(&[], Path::new("/bin/sh"), &["-c", &script]).output().expect("it runs");
    let folder = String::from_utf8(output.stdout).expect("it is text").trim().to_owned();
    let said = String::from_utf8(output.stderr).expect("it is text");
    (folder, said.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn records_that_the_program_takes_away_are_named() {
    let Some(program) = build("cc", "without_rights.c", &["-O1"]) else { return };
    for does in ["rm -r $LOCKYARD_RECORDS", "rm -r $LOCKYARD_RECORDS; echo a > $LOCKYARD_RECORDS"] {
        let (folder, said) = after(&program, does);
        assert!(said.contains("was removed or replaced by the program"), "{said}");
        assert!(!said.contains("another C library"), "{said}");
        assert!(std::fs::symlink_metadata(&folder).is_err(), "{folder}");
    }
}

#[test]
fn empty_files_do_not_take_the_place_of_records() {
    let Some(program) = build("cc", "without_rights.c", &["-O1"]) else { return };
    let does = "cd $LOCKYARD_RECORDS; i=0; while [ $i -lt 11000 ]; do : > $i-7.records; \
                i=$((i+1)); done";
    let (_, said) = after(&program, does);
    assert!(said.contains("300 acquisitions"), "{said}");
    assert!(!said.contains("only 10000 are read"), "{said}");
    assert!(said.contains("that the recorder saw"), "{said}");
}

#[test]
fn another_library_in_the_place_of_the_recorder_is_named() {
    let Some(program) = build("cc", "without_rights.c", &["-O1"]) else { return };
    let mut command = profile(&[], &program, &["nothing"]);
    let output = command.env("LOCKYARD_PRELOAD", "/bin/ls").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("is LOCKYARD_PRELOAD=/usr/bin/ls that library?")
            || said.contains("is LOCKYARD_PRELOAD=/bin/ls that library?"),
        "{said}"
    );
    assert!(!said.contains("another C library"), "{said}");
}
