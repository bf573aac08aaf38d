//! Tools for all other crates of the workspace: files and names from outside, misspelt names,
//! shares, errors in the input, and independent work on several threads that can be interrupted.

mod escape;
pub mod files;
pub mod jobs;
mod numbers;
mod pipe;
mod range;
mod text;

pub use escape::{
    escaped, escaped_json, escaped_lines, markdown_name, markdown_text, printable, shown,
};
pub use files::{RECORDING, RECORDINGS, open_regular, read_file, read_text};
pub use numbers::{count, grouped, share};
pub use pipe::read_pipe;
pub use range::Range;
pub use text::{hint, line_of, nearest, threads};

/// Error in the input, in one line: what is wrong, where, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError(pub String);

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InputError {}
