//! Recorded hosts: `tests/hosts/*.txt`, unpacked to directories.
//!
//! A recording has one line for each line of each file, `path:line`, as printed by `grep -r ''`.
//! `\xNN` stands for a byte, and a line that begins with `#` is a comment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Files of a recording.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Returns the recording with this name.
pub(crate) fn recording(name: &str) -> Files {
    let path = format!("{}/tests/hosts/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut files = Files::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (path, content) = line.split_once(':').expect("a line is `path:line`");
        let file = files.entry(path.to_owned()).or_default();
        file.extend(bytes(content));
        file.push(b'\n');
    }
    files
}

fn bytes(content: &str) -> Vec<u8> {
    let mut parts = content.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).expect("two hexadecimal digits"));
        bytes.extend(rest.as_bytes());
    }
    bytes
}

/// Writes `files` into a separate directory, because tests run in parallel.
pub(crate) fn unpack(name: &str, files: &Files) -> PathBuf {
    static UNPACKED: AtomicUsize = AtomicUsize::new(0);
    let name = format!("{name}-{}", UNPACKED.fetch_add(1, Ordering::Relaxed));
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hosts").join(name);
    if root.exists() {
        std::fs::remove_dir_all(&root).expect("an earlier run made it");
    }
    for (path, content) in files {
        write(&root, path, content);
    }
    root
}

/// Writes one file below `root`.
pub(crate) fn write(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("it is below the root")).expect("there is room");
    std::fs::write(path, content).expect("there is room");
}
