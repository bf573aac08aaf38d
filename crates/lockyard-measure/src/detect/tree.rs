//! Reads kernel files below any directory: `/` for the running host, or a recording of another
//! host.
//!
//! A missing, unreadable or malformed value is `None`. Malformed files are remembered for the
//! report. Contents are untrusted: reads are bounded, files need not be UTF-8, and printable texts
//! lose their control characters.

use super::list::CpuList;
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Maximum number of bytes to read from a file.
const MOST_BYTES: u64 = 1 << 20;

/// Maximum number of entries to read from a directory.
const MOST_ENTRIES: usize = 1 << 16;

/// Maximum number of malformed files to remember.
const MOST_ODD: usize = 16;

/// A directory with `sys` and `proc`.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    odd: RefCell<Vec<String>>,
}

impl Tree {
    pub(super) fn new(root: &Path) -> Tree {
        Tree { root: root.to_owned(), odd: RefCell::default() }
    }

    /// Returns `path` below the root. `path` may begin with `/`.
    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Returns the whole text of the file at `path`, relative to the root.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let path = self.at(path);
        // Check this before opening, because opening a pipe waits for its other end.
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        // Ignore a file entirely if reading it fails half-way. Some drivers make reads fail by
        // design.
        File::open(&path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns true if `path` exists.
    pub(super) fn exists(&self, path: &str) -> bool {
        self.at(path).exists()
    }

    /// Returns the first line of the file in printable form; `None` if it is empty.
    pub(super) fn line(&self, path: &str) -> Option<String> {
        self.text(path)?.lines().next().and_then(clean)
    }

    /// Applies `parse` to the text of the file, and returns the result.
    pub(super) fn parsed<T>(&self, path: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let text = self.text(path)?;
        let value = parse(&text);
        // An empty file has no value, but is not malformed.
        if value.is_none() && !text.trim().is_empty() {
            self.remember(path, &text);
        }
        value
    }

    /// Returns the number in a file that contains nothing else.
    pub(super) fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.parsed(path, |text| text.trim().parse().ok())
    }

    /// Returns the list of CPUs in the file.
    pub(super) fn list(&self, path: &str) -> Option<CpuList> {
        self.parsed(path, CpuList::parse)
    }

    /// Returns the sorted names of a directory's entries.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.at(path)) else { return Vec::new() };
        let names = entries.take(MOST_ENTRIES).flatten();
        let mut names: Vec<String> =
            names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the numbers of all directory entries named `prefix` plus a number, ascending.
    pub(super) fn numbered(&self, path: &str, prefix: &str) -> Vec<usize> {
        let names = self.names(path);
        let digits = names.iter().filter_map(|name| name.strip_prefix(prefix));
        // The standard library would also accept `+1` as a number.
        let digits = digits.filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        let mut numbers: Vec<usize> = digits.filter_map(|rest| rest.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Remembers that the contents of `path` could not be parsed.
    pub(super) fn remember(&self, path: &str, contents: &str) {
        let mut odd = self.odd.borrow_mut();
        let contents: String = contents.trim().chars().take(40).collect();
        let said = format!("{}: `{}`", printed(path), printed(&contents));
        // A file may be read twice, but is remembered once.
        if odd.len() < MOST_ODD && !odd.contains(&said) {
            odd.push(said);
        }
    }

    /// Returns the malformed files.
    pub(super) fn odd(&self) -> Vec<String> {
        self.odd.borrow().clone()
    }
}

/// Maximum length of a printable text.
const MOST_CHARACTERS: usize = 160;

/// Reduces untrusted text to one line without control characters. Returns `None` if nothing is
/// left.
pub(super) fn clean(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| printed(text))
}

fn printed(text: &str) -> String {
    // These characters reverse the direction of the following text, so they are replaced too.
    let turns = |c| {
        matches!(
            c,
            '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
    };
    let shown = |c: char| if c.is_control() || turns(c) { '?' } else { c };
    text.chars().take(MOST_CHARACTERS).map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_one_harmless_line() {
        assert_eq!(clean("  Intel(R) Xeon(R) \n"), Some("Intel(R) Xeon(R)".to_owned()));
        assert_eq!(clean("a\u{1b}[31mb\nc"), Some("a?[31mb?c".to_owned()));
        assert_eq!(clean("a\u{202e}b"), Some("a?b".to_owned()));
        assert_eq!(clean(" \n "), None);
        assert_eq!(clean(&"x".repeat(100_000)).unwrap().len(), MOST_CHARACTERS);
    }

    #[test]
    fn what_is_no_file_is_none() {
        let tree = Tree::new(Path::new(env!("CARGO_MANIFEST_DIR")));
        assert!(tree.text("Cargo.toml").is_some());
        assert_eq!(tree.text("src"), None, "a directory");
        assert_eq!(tree.text("no-such-file"), None);
        assert!(tree.names("no-such-directory").is_empty());
        assert_eq!(tree.odd(), Vec::<String>::new(), "what is not there is not odd");
        assert_eq!(tree.number::<u32>("Cargo.toml"), None);
        assert!(tree.odd()[0].starts_with("Cargo.toml: `[package]"), "{:?}", tree.odd());
    }
}
