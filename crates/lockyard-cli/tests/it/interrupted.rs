//! Ctrl-C: what is finished is printed, and the exit code says that not everything was. Files are not touched.

#![cfg(unix)]

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn an_interrupted_run_prints_what_is_finished() {
    let out = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("interrupted");
    std::fs::create_dir_all(&out).expect("there is room");
    std::fs::write(out.join("results.json"), "old").expect("there is room");
    let mut child = Command::new(env!("CARGO_BIN_EXE_lockyard"))
        .args(["reproduce", "--jobs", "1", "--format", "csv", "--out"])
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    // Whenever the signal comes, from before the first cell to the last measurement, the answer has
    // the same form.
    std::thread::sleep(Duration::from_millis(1500));
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.expect("`kill` runs").success());
    let mut stdout = String::new();
    let mut stderr = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut stdout).expect("it is text");
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("it is text");
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "{stderr}");
    assert!(stderr.contains("lockyard: interrupted: "), "{stderr}");
    assert!(stdout.starts_with("experiment,machine,"), "{stdout}");
    // The reader refuses rows of different lengths.
    let mut rows = csv::Reader::from_reader(stdout.as_bytes());
    assert_eq!(rows.headers().expect("there are headers").len(), 16);
    assert!(rows.records().all(|row| row.is_ok()), "whole rows: {stdout}");
    let left: Vec<_> = std::fs::read_dir(&out)
        .expect("it is there")
        .map(|entry| entry.expect("it is there").file_name())
        .collect();
    assert_eq!(left, ["results.json"], "no other file, whole or half");
    assert_eq!(std::fs::read_to_string(out.join("results.json")).expect("it is there"), "old");
}
