//! Reports of skipped checks, for the tests of all crates. A test that cannot check something on
//! this host reports that by [`skip!`]. Without the report, a pass would look like a completed
//! check.
//!
//! `.ci/run` counts the lines. It fails if a test that is not in `.ci/may-skip` skips a check.

use std::fs::OpenOptions;
use std::io::Write;

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

fn line(package: &str, test: &str, reason: &str) -> String {
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("skipped: {package} {test}: {reason}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_the_test_and_the_reason() {
        let expected = "skipped: lockyard-cli faults::full: no room, and more\n";
        assert_eq!(line("lockyard-cli", "faults::full", "no room,\n  and more"), expected);
        let thread = std::thread::current();
        let names_the_test = thread.name().is_some_and(|name| name.ends_with("and_the_reason"));
        assert!(names_the_test || thread.name() == Some("main"), "{:?}", thread.name());
    }
}
