//! Reports of skipped checks, for the tests of all crates. A test that cannot check something on
//! this host reports that by [`skip!`]. Without the report, a pass would look like a completed
//! check.
//!
//! `.ci/run` counts the lines. It fails if a test that is not in `.ci/may-skip` skips a check.
//!
//! [`this_program`] starts the running test again, also where it runs under an emulator.
//! [`WRONG_STEP`] is a script for the tests of all back-ends. [`replay`] runs a function on
//! committed inputs. [`has!`] and [`lacks!`] check the traits of types.

pub mod replay;
mod traits;

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;

/// Environment variable with the name of a file to which each line of [`skip!`] is appended.
pub const FILE: &str = "LOCKYARD_SKIPPED";

/// Reports that the running test skips a check on this host. The arguments give the reason, in the
/// form that [`format!`] takes. The caller then returns.
///
/// ```no_run
/// lockyard_testing::skip!("threads cannot be pinned here");
/// ```
#[macro_export]
macro_rules! skip {
    ($($reason:tt)+) => {
        $crate::note(env!("CARGO_PKG_NAME"), module_path!(), &format!($($reason)+))
    };
}

/// Prints `skipped: PACKAGE TEST: REASON`, and appends the line to the file that [`FILE`] names.
/// The name of the thread identifies the test, or its module if the thread has no name.
///
/// # Panics
///
/// Panics if the line cannot be appended, because the skip would not be counted.
pub fn note(package: &str, module: &str, reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main").unwrap_or(module);
    let line = line(package, test, reason);
    print!("{line}");
    let Some(path) = std::env::var_os(FILE) else { return };
    let file = OpenOptions::new().create(true).append(true).open(&path);
    // One write of a short line, so that lines of concurrent tests do not mix.
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// A script whose lock stays held after the fifth operation: its step on line 12 is wrong.
pub const WRONG_STEP: &str = r#"name = "bad"
objects = [
    { name = "slots", kind = "words", count = 4 },
    { name = "lock", kind = "word" },
    { name = "next", kind = "word" },
]
steps = [
    { do = "fetch-add", object = "next", into = "mine" },
    { do = "repeat" },
    { do = "compare-exchange", object = "lock", expect = 0, new = 1 },
    { do = "until", when = "succeeded" },
    { do = "store", object = "slots", at = "mine", value = 1 },
    { do = "store", object = "lock", value = 0 },
]
variants = [{ name = "v" }]
"#;

/// Environment variable with the command that runs this test's program, with its arguments, where
/// the system cannot start it (an emulator for another processor).
pub const RUNNER: &str = "LOCKYARD_RUNNER";

/// Returns the command that starts the running program again, by the command in [`RUNNER`] if that
/// is set.
///
/// # Panics
///
/// Panics if the program has no file.
pub fn this_program() -> Command {
    let program = std::env::current_exe().expect("this test has a file");
    let runner = std::env::var(RUNNER).unwrap_or_default();
    let mut words = runner.split_whitespace();
    let Some(first) = words.next() else { return Command::new(program) };
    let mut command = Command::new(first);
    command.args(words).arg(program);
    command
}

fn line(package: &str, test: &str, reason: &str) -> String {
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("skipped: {package} {test}: {reason}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_this_test() {
        let output = this_program().arg("--list").output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("this_program_is_this_test"), "{said}");
    }

    #[test]
    fn a_line_names_the_test_and_the_reason() {
        let expected = "skipped: lockyard-cli faults::full: no room, and more\n";
        assert_eq!(line("lockyard-cli", "faults::full", "no room,\n  and more"), expected);
        let thread = std::thread::current();
        let names_the_test = thread.name().is_some_and(|name| name.ends_with("and_the_reason"));
        assert!(names_the_test || thread.name() == Some("main"), "{:?}", thread.name());
    }
}
