//! Support for the tests: the command, directories for its files, its output, and random changes of
//! a text by seed.

pub(crate) mod folders;
pub(crate) mod outcomes;

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::process::{Command, Output};

/// Returns the command with its arguments. Its output is UTF-8 in very wide lines, independent of
/// the test's terminal and locale. `screens.rs` tests other settings.
pub(crate) fn command(arguments: &[&str]) -> Command {
    command_in(env!("CARGO_BIN_EXE_lockyard").as_ref(), arguments)
}

/// Returns the command's file: the optimised build that `LOCKYARD_OPTIMISED` names, or else the
/// build of the tests. Tests that simulate much use this file. All other tests use the build of the
/// tests, which checks for overflow.
pub(crate) fn optimised_file() -> OsString {
    std::env::var_os("LOCKYARD_OPTIMISED").unwrap_or_else(|| env!("CARGO_BIN_EXE_lockyard").into())
}

/// Runs the [optimised command](optimised_file) to its end.
pub(crate) fn optimised(arguments: &[&str]) -> Output {
    command_in(&optimised_file(), arguments).output().expect("the command runs")
}

fn command_in(file: &OsStr, arguments: &[&str]) -> Command {
    let mut command = Command::new(file);
    command.args(arguments).env("LC_ALL", "C.UTF-8").env("COLUMNS", "1000");
    command.env_remove("TERM");
    command
}

/// Runs the command to its end.
pub(crate) fn lockyard(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the command runs")
}

/// Converts output of the command to text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it is text")
}

/// Returns the lines of standard error that are neither warnings about the host nor notes.
pub(crate) fn complaints(stderr: &str) -> impl Iterator<Item = &str> {
    let is_expected = |line: &&str| line.starts_with("warning: ") || line.starts_with("note: ");
    stderr.lines().filter(move |line| !is_expected(line))
}

/// Splitmix64 (Steele, Lea, Flood, 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    /// Returns a range of at most about a dozen bytes of `text`, at character boundaries.
    pub(crate) fn some_of(&mut self, text: &str) -> Range<usize> {
        let mut begin = self.below(text.len() + 1);
        while !text.is_char_boundary(begin) {
            begin -= 1;
        }
        let mut end = (begin + self.below(12)).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        begin..end
    }
}
