//! Reads the project's sources, for tests of their contents.

use std::fs;
use std::path::{Path, PathBuf};

/// A source file without its comments, strings and test modules. Lines keep their numbers.
#[derive(Debug)]
pub struct Source {
    /// Path from the workspace's root.
    pub path: String,
    /// The remaining text.
    pub code: String,
}

impl Source {
    /// Returns the source of a file with this text.
    pub fn of(path: String, text: &str) -> Source {
        Source { path, code: without_tests(&code_of(text)) }
    }

    /// Returns the numbers of the lines that contain `pattern`, counted from 1.
    pub fn lines_with(&self, pattern: &str) -> Vec<usize> {
        let lines = self.code.lines().enumerate();
        lines.filter(|(_, line)| line.contains(pattern)).map(|(index, _)| index + 1).collect()
    }
}

/// Returns the workspace's root.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the paths of all Rust files below `folder` (a path from the workspace's root), sorted.
///
/// # Panics
///
/// Panics if they cannot be read, or if there are none.
pub fn rust_files(folder: &str) -> Vec<PathBuf> {
    let mut folders = vec![workspace().join(folder)];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let path = entry.expect("an entry of a folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "{folder} has no sources");
    found.sort();
    found
}

/// Returns all Rust files below `folder` (a path from the workspace's root), sorted by path.
///
/// # Panics
///
/// Panics if they cannot be read, or if there are none.
pub fn sources(folder: &str) -> Vec<Source> {
    let root = workspace();
    let source = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a source file is text");
        let from_root = path.strip_prefix(&root).expect("it lies below the root");
        Source::of(from_root.to_string_lossy().replace('\\', "/"), &text)
    };
    let mut found: Vec<Source> = rust_files(folder).into_iter().map(source).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Returns `text` with comments, strings and character literals blanked out.
fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = at + literal_or_comment(&bytes[at..], at > 0 && is_name(bytes[at - 1]));
        if end == at {
            code.push(if bytes[at].is_ascii() { bytes[at] as char } else { ' ' });
            at += 1;
        } else {
            let blank = |&byte: &u8| if byte == b'\n' { '\n' } else { ' ' };
            code.extend(bytes[at..end].iter().map(blank));
            at = end;
        }
    }
    code
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the length of the comment, string or character literal at the start of `rest`, or 0.
fn literal_or_comment(rest: &[u8], within_name: bool) -> usize {
    if rest.starts_with(b"//") {
        return rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        let mut depth = 0;
        let mut at = 0;
        while at < rest.len() {
            if rest[at..].starts_with(b"/*") {
                depth += 1;
                at += 2;
            } else if rest[at..].starts_with(b"*/") {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            } else {
                at += 1;
            }
        }
        return rest.len();
    }
    if rest[0] == b'r' && !within_name {
        let hashes = rest[1..].iter().take_while(|&&b| b == b'#').count();
        if rest.get(1 + hashes) == Some(&b'"') {
            let mut close = vec![b'"'];
            close.resize(1 + hashes, b'#');
            let body = &rest[2 + hashes..];
            let length = body.windows(close.len()).position(|window| window == close);
            return length.map_or(rest.len(), |length| 2 + hashes + length + close.len());
        }
    }
    if rest[0] == b'"' {
        return quoted(rest, b'"');
    }
    // This is a character literal rather than a lifetime.
    if rest[0] == b'\'' && (rest.get(1) == Some(&b'\\') || rest.get(2) == Some(&b'\'')) {
        return quoted(rest, b'\'');
    }
    0
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Returns `code` with the bodies of its test modules blanked out.
fn without_tests(code: &str) -> String {
    let mut kept = String::from(code);
    while let Some(start) = kept.find("#[cfg(test)]") {
        let body = kept[start..].find(['{', ';']).map_or(kept.len(), |open| start + open);
        let mut depth = 0;
        let mut end = kept.len();
        for (offset, byte) in kept[body..].bytes().enumerate() {
            depth += i32::from(byte == b'{') - i32::from(byte == b'}');
            if depth == 0 {
                end = body + offset + 1;
                break;
            }
        }
        let blank: String =
            kept[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        kept.replace_range(start..end, &blank);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_kept_and_everything_else_is_not() {
        let text = "a.load(); // b.load()\n/* c.load() /* d */ */ let s = \"e.load()\";\nlet c = \
                    '\"'; f.load(); let l: &'static str = r#\"g.load()\"#;\n#[cfg(test)]\nmod t \
                    {\n \
                    fn x() { h.load() }\n}\nfn i() { i.load() }";
        let code = without_tests(&code_of(text));
        for (name, kept) in
            [("a", true), ("b", false), ("c", false), ("e", false), ("f", true), ("g", false)]
                .into_iter()
                .chain([("h", false), ("i", true)])
        {
            assert_eq!(code.contains(&format!("{name}.load")), kept, "{name} in {code}");
        }
        assert_eq!(code.lines().count(), text.lines().count());
    }
}
