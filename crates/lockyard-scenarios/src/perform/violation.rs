//! Faults of a run.

use std::fmt;

/// A condition that is false after a run, because the primitives did not do their work. Or a step
/// that no script may do, with its place in the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub(super) String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}
