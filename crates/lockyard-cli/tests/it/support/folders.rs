//! Directories of the tests.

use std::path::{Path, PathBuf};

/// Makes an empty directory `name` within the directory of `test`.
pub(crate) fn directory(test: &str, name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("there is room");
    path
}

/// Returns the names of the files in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("it is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("it is there").file_name().into_string().expect("it is text"))
        .collect();
    names.sort();
    names
}
