//! Errors that end a command, and lines on standard error.

use std::io::Write;

/// Reason why a command fails.
#[derive(Debug)]
pub enum Failure {
    /// Bad usage or bad input: exit code 2.
    Input(String),
    /// Anything else: exit code 1.
    Run(String),
    /// A signal arrived: exit with its code. The message says which work was finished.
    Interrupted(String),
}

impl Failure {
    /// Returns the message.
    pub(crate) fn message(&self) -> &str {
        match self {
            Failure::Input(message) | Failure::Run(message) | Failure::Interrupted(message) => {
                message
            }
        }
    }
}

/// Returns the first failure of several steps, all of which were done. Each further one gets its
/// line here.
pub(crate) fn first(results: impl IntoIterator<Item = Result<(), Failure>>) -> Result<(), Failure> {
    let mut failures = results.into_iter().filter_map(Result::err);
    let Some(first) = failures.next() else { return Ok(()) };
    failures.for_each(|further| complain(&format!("lockyard: {}", further.message())));
    Err(first)
}

impl From<lockyard_support::InputError> for Failure {
    fn from(error: lockyard_support::InputError) -> Self {
        Failure::Input(error.to_string())
    }
}

impl From<lockyard_predict::failure::Failure> for Failure {
    fn from(failure: lockyard_predict::failure::Failure) -> Self {
        match failure {
            lockyard_predict::failure::Failure::Input(error) => Failure::Input(error.to_string()),
            lockyard_predict::failure::Failure::Run(message) => Failure::Run(message),
        }
    }
}

/// Writes a line to standard error, and ignores a failure to do so. Names in it may come from
/// outside: the terminal obeys none of their characters.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", lockyard_support::escaped_lines(line));
}
