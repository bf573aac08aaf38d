//! Input from outside: small text files, misspelt names, and positions of errors in a text. Machine
//! files, scripts, tables and arguments are read with this module. All errors therefore have the
//! same form: one line that says where the error is, what is wrong, and what is allowed.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Reads a file of at most `max_bytes` bytes.
///
/// # Errors
///
/// Fails with a line that begins with the path. It says that the file cannot be read, is not a
/// regular file, or is too large. If the path is not a regular file, for example a pipe, it is
/// refused without waiting.
pub fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, String> {
    let origin = shown(path);
    let unreadable = |error: std::io::Error| format!("{origin}: cannot be read: {error}");
    // Check before opening, because opening a pipe waits for its other end.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(format!("{origin}: is not a file"));
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(max_bytes + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > max_bytes {
        return Err(format!("{origin}: is larger than {max_bytes} bytes"));
    }
    Ok(bytes)
}

/// Reads the text of a file of at most `max_bytes` bytes. `what` says what the file should be, for
/// example "a machine file is TOML".
///
/// # Errors
///
/// Fails as [`read_file`] does, or if the file is not UTF-8. The error then names the line.
pub fn read_text(path: &Path, max_bytes: u64, what: &str) -> Result<String, String> {
    String::from_utf8(read_file(path, max_bytes)?).map_err(|error| {
        let line = line_of(error.as_bytes(), error.utf8_error().valid_up_to());
        format!("{}:{line}: not UTF-8 text; {what}", shown(path))
    })
}

/// Returns the number of the line, counted from 1, that contains the byte at `offset`.
pub fn line_of(text: &[u8], offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// Returns the entry of `allowed` that `name` was probably meant to be. The entry begins with
/// `name`, or differs from it in at most a third of its letters. Hyphens and underscores do not
/// count, and neither does the case of letters.
pub fn nearest<'a>(name: &str, allowed: &[&'a str]) -> Option<&'a str> {
    if name.is_empty() || name.len() > 64 {
        return None;
    }
    let name = letters(name);
    allowed
        .iter()
        .map(|a| (letters(a), *a))
        .map(|(letters, a)| (strsim::damerau_levenshtein(&name, &letters), letters, a))
        .filter(|(distance, letters, _)| {
            *distance <= letters.len().max(3) / 3 || letters.starts_with(&name)
        })
        .min()
        .map(|(_, _, near)| near)
}

/// Returns a name without hyphens and underscores, in small letters. A name of nothing else stays.
fn letters(name: &str) -> String {
    let letters: String = name.chars().filter(|c| !"-_".contains(*c)).collect();
    if letters.is_empty() { name.to_owned() } else { letters.to_lowercase() }
}

/// Returns a hint for a wrong name: "did you mean ...?", or `otherwise` and all allowed names.
pub fn hint(name: &str, allowed: &[&str], otherwise: &str) -> String {
    match nearest(name, allowed) {
        Some(near) => format!("did you mean `{near}`?"),
        None if allowed.is_empty() => "there is none".to_owned(),
        None => format!("{otherwise}: {}", allowed.join(", ")),
    }
}

/// Returns a number of threads in words, for example `1 thread`.
pub fn threads(number: usize) -> String {
    if number == 1 { "1 thread".to_owned() } else { format!("{number} threads") }
}

/// Returns a number of things in words, for example `1 class` or `2 classes`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Returns the beginning of a text with its control characters escaped, so that an error can show
/// it.
pub fn printable(text: &str) -> String {
    escaped(&text.chars().take(80).collect::<String>())
}

/// Returns all of a text with its control characters escaped, for one line of an error.
pub fn escaped(text: &str) -> String {
    text.escape_debug().to_string()
}

/// Returns JSON with its control characters escaped: JSON allows those above U+007E as they are,
/// and a terminal may obey them. Line ends stay.
pub fn escaped_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_control() && letter != '\n' {
            // Control characters are below U+00A0, and occur only in the texts of JSON.
            shown.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Returns a path with its control characters escaped, for one line of an error.
pub fn shown(path: &Path) -> String {
    escaped(&path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_answered_with_the_right_one() {
        let names = ["open3", "fstat2", "access2"];
        assert_eq!(nearest("fsatt2", &names), Some("fstat2"));
        assert_eq!(nearest("open", &names), Some("open3"));
        let machines = ["cascade-lake-2s24c2t", "sapphire-rapids"];
        assert_eq!(nearest("cascadelake", &machines), Some("cascade-lake-2s24c2t"));
        assert_eq!(nearest("Sapphire_Rapids", &machines), Some("sapphire-rapids"));
        assert_eq!(nearest("-", &machines), None);
        assert_eq!(nearest("zzz", &names), None);
        assert_eq!(nearest("", &names), None);
        assert_eq!(hint("zzz", &names, "allowed"), "allowed: open3, fstat2, access2");
        assert_eq!(nearest(&"x".repeat(100_000), &names), None);
    }

    #[test]
    fn one_thread_is_no_threads() {
        assert_eq!([0, 1, 2].map(threads), ["0 threads", "1 thread", "2 threads"]);
    }

    #[test]
    fn lines_are_counted_from_one() {
        assert_eq!(line_of(b"a\nb\nc", 0), 1);
        assert_eq!(line_of(b"a\nb\nc", 4), 3);
        assert_eq!(line_of(b"a\nb\nc", 400), 3);
    }

    #[test]
    fn what_is_printed_is_short_and_harmless() {
        assert_eq!(printable("a\u{1b}[31m"), "a\\u{1b}[31m");
        assert_eq!(printable(&"x".repeat(1000)).len(), 80);
    }

    #[test]
    fn control_characters_in_json_are_escaped_and_mean_the_same() {
        let json = "{\n  \"a\": \"\u{7f}\u{9b}31m\u{e9}\"\n}\n";
        let shown = escaped_json(json);
        assert_eq!(shown, "{\n  \"a\": \"\\u007f\\u009b31m\u{e9}\"\n}\n");
    }
}
