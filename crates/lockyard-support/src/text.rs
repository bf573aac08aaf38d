//! Words of errors: positions in a text, misspelt names, and hints. Machine files, scripts, tables
//! and arguments use this module. All errors therefore have the same form: one line that says where
//! the error is, what is wrong, and what is allowed.

use crate::count;

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
    count(number, "thread")
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
}
