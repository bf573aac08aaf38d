//! Reads the project's sources, for tests of their contents.

use std::fs;
use std::ops::Range;
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
            let path = entry.expect("an entry of a directory can be read").path();
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
    for tests in test_modules(code) {
        let blank: String =
            kept[tests.clone()].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        kept.replace_range(tests, &blank);
    }
    kept
}

/// Returns the places of the test modules in `code`.
fn test_modules(code: &str) -> Vec<Range<usize>> {
    let mut modules = Vec::new();
    let mut from = 0;
    while let Some(start) = code[from..].find("#[cfg(test)]").map(|at| from + at) {
        let body = code[start..].find(['{', ';']).map_or(code.len(), |open| start + open);
        let mut depth = 0;
        let mut end = code.len();
        for (offset, byte) in code[body..].bytes().enumerate() {
            depth += i32::from(byte == b'{') - i32::from(byte == b'}');
            if depth == 0 {
                end = body + offset + 1;
                break;
            }
        }
        modules.push(start..end);
        from = end;
    }
    modules
}

/// Character at the start of a doc comment in [`prose_of`].
pub const DOC_STARTS: char = '\u{2}';
/// Character in the place of code in [`prose_of`].
pub const CODE: char = '\u{1}';

/// Returns the prose of a source file: the text of its comments. With `strings`, the literals
/// outside of test modules are prose too.
///
/// Lines keep their numbers. [`DOC_STARTS`] stands at the start of each doc comment, and [`CODE`]
/// in the place of code, of words in backticks, and of arguments in braces.
pub fn prose_of(text: &str, strings: bool) -> String {
    let bytes = text.as_bytes();
    let tests = test_modules(&code_of(text));
    let mut prose = Vec::with_capacity(bytes.len());
    let mut at = 0;
    // End of the last doc comment.
    let mut doc_end = None;
    while at < bytes.len() {
        let end = at + literal_or_comment(&bytes[at..], at > 0 && is_name(bytes[at - 1]));
        if end == at {
            prose.push(if bytes[at].is_ascii_whitespace() { bytes[at] } else { CODE as u8 });
            at += 1;
            continue;
        }
        let part = &text[at..end];
        if part.starts_with("//") {
            let is_doc = part.starts_with("///") || part.starts_with("//!");
            let follows = doc_end.is_some_and(|end: usize| text[end..at].trim().is_empty());
            let marker = if is_doc { 3 } else { 2 };
            prose.push(if is_doc && !follows { DOC_STARTS as u8 } else { b' ' });
            prose.extend(std::iter::repeat_n(b' ', marker - 1));
            prose.extend(without_code(&part[marker..], '`', '`').bytes());
            doc_end = is_doc.then_some(end);
        } else if part.starts_with("/*") || (strings && !tests.iter().any(|t| t.contains(&at))) {
            let part = part.replace("\\\n", " \n");
            let part = without_code(&part, '`', '`');
            prose.extend(without_code(&part, '{', '}').bytes());
        } else {
            prose.extend(part.bytes().map(|byte| if byte == b'\n' { byte } else { CODE as u8 }));
        }
        at = end;
    }
    String::from_utf8(prose).expect("it was made of whole characters")
}

/// Returns `text` with [`CODE`] in place of the text between `open` and `close` on one line.
pub fn without_code(text: &str, open: char, close: char) -> String {
    let mut prose = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        prose.push_str(before);
        match after.split_once(close) {
            Some((code, after)) if !code.contains('\n') => {
                prose.push(CODE);
                rest = after;
            }
            _ => {
                prose.push(open);
                rest = after;
            }
        }
    }
    prose + rest
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

    #[test]
    fn prose_is_kept_and_code_is_not() {
        let text = "/// One `2`.\n/// three\nfn f() { 'ä'; five(\"six {seven} \\\n eight\"); } // \
                    nine\n#[cfg(test)]\nmod t { /* ten */ fn e() { \"eleven\"; } }";
        for (strings, kept) in
            [(true, "one three six eight nine ten"), (false, "one three nine ten")]
        {
            let prose = prose_of(text, strings);
            let words = prose.to_lowercase();
            let words = words.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
            assert_eq!(words.collect::<Vec<_>>().join(" "), kept);
            assert_eq!(prose.matches(DOC_STARTS).count(), 1, "one doc comment: {prose:?}");
            assert_eq!(prose.lines().count(), text.lines().count());
        }
    }
}
