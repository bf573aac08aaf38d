//! Programs for the tests, built by the system's compilers, and their profiles.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns a path in the directory of the tests that no other test uses.
pub(crate) fn fresh(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("profile");
    std::fs::create_dir_all(&folder).expect("there is room");
    let path = folder.join(format!("{}-{number}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// Builds a program of the directory `programs`. Returns `None` if there is no such compiler, which
/// the test reports.
pub(crate) fn build(compiler: &str, source: &str, options: &[&str]) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profile/programs");
    let program = fresh(source.split('.').next().expect("a name"));
    let mut command = Command::new(compiler);
    command.arg(folder.join(source)).arg("-o").arg(&program).arg("-pthread").args(options);
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(program)
        }
        Err(error) => {
            lockyard_testing::skip!("{compiler} cannot be run: {error}");
            None
        }
    }
}

/// Returns `locks.c`, built with lines and without optimisation beyond the usual.
pub(crate) fn locks() -> Option<PathBuf> {
    build("cc", "locks.c", &["-O1", "-g"])
}

/// Returns `lockyard profile` with options, before the program.
pub(crate) fn profile(options: &[&str], program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockyard"));
    command.arg("profile").args(options).arg("--").arg(program).args(arguments);
    command.env("LC_ALL", "C.UTF-8").env("COLUMNS", "80").env_remove("TERM");
    command
}

/// Runs a program under `lockyard profile`. Returns the output and the JSON document.
pub(crate) fn json_of(program: &Path, arguments: &[&str]) -> (Output, Value) {
    json_with(&[], program, arguments)
}

/// Does the same with options of the command.
pub(crate) fn json_with(more: &[&str], program: &Path, arguments: &[&str]) -> (Output, Value) {
    let out = fresh("out.json");
    let path = out.to_str().expect("it is text");
    let options = [&["--format", "json", "--out", path], more].concat();
    let output = profile(&options, program, arguments).output().expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let text = std::fs::read_to_string(&out).unwrap_or_else(|error| panic!("{error}: {said}"));
    let _ = std::fs::remove_file(&out);
    (output, serde_json::from_str(&text).expect("it is JSON"))
}

/// Returns the only process of a profile.
pub(crate) fn process(profile: &Value) -> &Value {
    let processes = profile["processes"].as_array().expect("a list");
    assert_eq!(processes.len(), 1, "{profile:#}");
    &processes[0]
}

/// Returns the lock of a name.
pub(crate) fn lock<'v>(process: &'v Value, name: &str) -> &'v Value {
    let locks = process["locks"].as_array().expect("a list");
    let found = locks.iter().find(|lock| lock["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {process:#}"))
}
