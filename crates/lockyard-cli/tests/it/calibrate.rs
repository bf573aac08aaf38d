//! `machines calibrate` writes a file that is usable at once, never replaces another file, and
//! leaves a complete file or none.

#![cfg(target_os = "linux")]

use crate::support::command as lockyard;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A directory of the test. Dropping this value removes it.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let name = format!("lockyard-calibrate-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("it can be made");
        Directory(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("it is there");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.expect("it can be read").file_name().to_string_lossy().into_owned()
        };
        entries.map(name).collect()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(arguments: &[&str]) -> Output {
    lockyard(arguments).output().expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn path(path: &Path) -> &str {
    path.to_str().expect("it is text")
}

#[test]
fn the_file_can_be_used_at_once_and_is_not_replaced_unasked() {
    let directory = Directory::new("used");
    let file = directory.0.join("mine.toml");
    // With `--anyway`, a host with unsteady hand-overs gets a file too.
    let calibrate = [
        "machines",
        "calibrate",
        "--seconds",
        "1",
        "--name",
        "mine",
        "--anyway",
        "--format",
        "json",
    ];
    let first = run(&[&calibrate[..], &["--out", path(&file)]].concat());
    // Warnings about this host come first.
    let error = text(&first.stderr);
    let error: Vec<&str> = error.lines().filter(|line| !line.starts_with("warning: ")).collect();
    if first.status.code() == Some(1) {
        // On a host where nothing can be measured, there is one error line and no file.
        assert_eq!(error.len(), 1, "{error:?}");
        assert!(directory.names().is_empty(), "{error:?}");
        return lockyard_testing::skip!("nothing can be measured here: {}", error[0]);
    }
    assert_eq!(first.status.code(), Some(0), "{error:?}");
    assert!(error.is_empty(), "{error:?}");
    assert_eq!(directory.names(), ["mine.toml"]);
    let written = fs::read_to_string(&file).expect("it is there");
    let json: serde_json::Value = serde_json::from_slice(&first.stdout).expect("it is JSON");
    assert_eq!(json["machine_file"].as_str(), Some(written.as_str()));
    assert!(json["rows"].as_array().is_some_and(|rows| !rows.is_empty()));

    for arguments in [
        &["machines", "show", path(&file)][..],
        &["machines", "check", path(&file)],
        &["predict", "page-ref", "--machine", path(&file), "--threads", "1", "--variant", "xadd"],
    ] {
        let used = run(arguments);
        assert_eq!(used.status.code(), Some(0), "{arguments:?}: {}", text(&used.stderr));
        assert_eq!(text(&used.stderr), "", "{arguments:?}");
        assert!(text(&used.stdout).contains("mine"), "{arguments:?}");
    }

    // The command refuses this before it measures anything.
    let again = run(&[&calibrate[..], &["--out", path(&file)]].concat());
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("mine.toml: exists already; --force replaces it"));
    assert_eq!(fs::read_to_string(&file).expect("it is there"), written);
}

#[test]
fn wrong_arguments_are_one_line_and_exit_code_2() {
    let directory = Directory::new("wrong");
    let nowhere = directory.0.join("no/such/a.toml");
    for (arguments, said) in [
        (&["--seconds", "0.5"][..], "--seconds is 0.5; allowed: 1 to 3600"),
        (&["--seconds", "nan"], "--seconds is NaN; allowed"),
        (&["--seconds", "-3"], "--seconds is -3; allowed"),
        (&["--name", "my host"], "--name is `my host`; allowed"),
        (&["--name", ""], "--name is ``; allowed"),
        (&["--out", path(&directory.0)], "is a directory"),
        (&["--out", path(&nowhere)], "cannot be written"),
        (&["--out", "/dev/full", "--force"], "exists, and is not a file"),
    ] {
        let output = run(&[&["machines", "calibrate"][..], arguments].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(said) && error.lines().count() == 1, "{arguments:?}: {error}");
    }
    let output = run(&["machines", "calibrate", "--force"]);
    assert_eq!(output.status.code(), Some(2), "--force without --out");
    assert!(directory.names().is_empty());
}

#[test]
fn an_interrupt_ends_it_and_no_file_is_there() {
    let directory = Directory::new("interrupted");
    let file = directory.0.join("mine.toml");
    let child = lockyard(&["machines", "calibrate", "--seconds", "3600", "--out", path(&file)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    // The output has the same form whenever the signal arrives.
    std::thread::sleep(Duration::from_millis(700));
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.expect("`kill` runs").success());
    let output = child.wait_with_output().expect("it ends");
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(error.contains("lockyard: interrupted (SIGINT): "), "{error}");
    assert!(directory.names().is_empty(), "{:?}", directory.names());
}
