//! What every other crate of the workspace may need: reading small text files and names that may be
//! misspelt, errors of the input, and independent work on several threads with an interrupt.

pub mod jobs;
mod text;

pub use text::{hint, line_of, nearest, printable, read_text};

/// Input that cannot be used, in one line: what, where, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError(pub String);

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InputError {}
