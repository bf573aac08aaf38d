//! Text from outside, shown as text: names of files, symbols, programs and recordings.
//!
//! A terminal obeys control characters, and characters of direction reorder what stands beside
//! them. Both are shown as escapes, and so are invisible characters. Everything else
//! stays as it is: letters, marks and brackets of all scripts, quotes, backslashes. So a text that
//! is escaped already is not changed again, and each output may escape what it prints.

use std::fmt::Write;
use std::path::Path;

/// Number of characters of a name that an error shows.
const LONGEST: usize = 80;

/// Returns true for a character that must not be printed as it is. The joiners U+200C and U+200D
/// are not among them: Persian and the scripts of India need them inside words.
fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'
                | '\u{ffff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Appends a character, or its escape.
fn push(text: &mut String, letter: char) {
    match letter {
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        letter if is_unprintable(letter) => {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\u{{{:x}}}", u32::from(letter));
        }
        letter => text.push(letter),
    }
}

/// Returns all of a text as one line, with control characters and characters of direction escaped.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|letter| push(&mut shown, letter));
    shown
}

/// Returns a text of several lines, with the same characters escaped but for its line ends.
pub fn escaped_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\n' { shown.push(letter) } else { push(&mut shown, letter) }
    }
    shown
}

/// Returns the beginning of a text as [`escaped`] returns all of it, so that an error can show it.
pub fn printable(text: &str) -> String {
    escaped(&text.chars().take(LONGEST).collect::<String>())
}

/// Returns JSON with the same characters escaped as JSON does: the texts mean the same. Line ends
/// stay.
pub fn escaped_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter != '\n' && is_unprintable(letter) {
            // These characters occur only in the texts of JSON.
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
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

/// Returns a name for a Markdown document, also for a cell of a table: nothing in it is markup.
pub fn markdown_name(name: &str) -> String {
    let letters: Vec<char> = escaped(name).chars().collect();
    let mut text = String::with_capacity(name.len());
    for (at, &letter) in letters.iter().enumerate() {
        let is_word = |at: Option<usize>| {
            at.and_then(|at| letters.get(at)).is_some_and(|letter| letter.is_alphanumeric())
        };
        let is_inside = is_word(at.checked_sub(1)) && is_word(Some(at + 1));
        match letter {
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '&' => text.push_str("&amp;"),
            '_' if is_inside => text.push('_'),
            // Before a letter it is no markup, as in the escapes above.
            '\\' if letters.get(at + 1).is_some_and(|next| next.is_alphanumeric()) => {
                text.push('\\');
            }
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '~' => text.extend(['\\', letter]),
            letter => text.push(letter),
        }
    }
    text
}

/// Returns a sentence for a Markdown document, as one line. It may have names in it, so no part of
/// it is HTML. What the sentence itself marks as code stays marked.
pub fn markdown_text(sentence: &str) -> String {
    let sentence = escaped(sentence);
    let mut text = String::with_capacity(sentence.len());
    let mut letters = sentence.chars().peekable();
    while let Some(letter) = letters.next() {
        let begins_a_tag = |next: &char| next.is_ascii_alphabetic() || "/!?".contains(*next);
        if letter == '<' && letters.peek().is_some_and(begins_a_tag) {
            text.push_str("&lt;");
        } else {
            text.push(letter);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_short_and_harmless() {
        assert_eq!(printable("a\u{1b}[31m"), "a\\u{1b}[31m");
        assert_eq!(printable(&"x".repeat(1000)).len(), 80);
        assert_eq!(escaped("a\nb\tc\rd\u{7f}\u{9b}"), "a\\nb\\tc\\rd\\u{7f}\\u{9b}");
        assert_eq!(escaped_lines("a\n\u{1b}b\n"), "a\n\\u{1b}b\n");
    }

    #[test]
    fn characters_of_direction_and_unseen_ones_are_escaped() {
        let all = (0x202a..=0x202e)
            .chain(0x2066..=0x2069)
            .chain([0x200e, 0x200f, 0x61c, 0x200b, 0x2060, 0xfeff, 0xad, 0x2028, 0xe0041]);
        for letter in all.map(|code| char::from_u32(code).expect("a character")) {
            let code = u32::from(letter);
            assert_eq!(escaped(&format!("a{letter}b")), format!("a\\u{{{code:x}}}b"));
            let json = escaped_json(&format!("\"{letter}\""));
            assert!(json.is_ascii() && json.starts_with("\"\\u"), "{json}");
        }
    }

    #[test]
    fn letters_marks_and_brackets_of_all_scripts_stay() {
        for name in [
            "mine（1）.toml",
            "\u{301}e\u{301}",
            "ملف (نسخة)",
            "﴿ملف﴾",
            "「錠」【1】",
            "क्‍ष",
            "می‌خواهم",
            "ключ «один»",
            "lock \"a\" of 'b' \\ c",
            "🔒\u{fe0f}",
        ] {
            assert_eq!(escaped(name), name);
            assert_eq!(escaped_json(name), name);
        }
    }

    #[test]
    fn what_is_escaped_is_not_changed_again() {
        let once = escaped("\u{1b}]0;x\u{7}\\\"\u{202e}");
        assert_eq!(escaped(&once), once);
    }

    #[test]
    fn control_characters_in_json_are_escaped_and_mean_the_same() {
        let json = "{\n  \"a\": \"\u{7f}\u{9b}31m\u{e9}\"\n}\n";
        let shown = escaped_json(json);
        assert_eq!(shown, "{\n  \"a\": \"\\u007f\\u009b31m\u{e9}\"\n}\n");
        assert_eq!(escaped_json("\"\u{e0041}\""), "\"\\udb40\\udc41\"");
    }

    #[test]
    fn no_name_is_markup_in_markdown() {
        assert_eq!(
            markdown_name("B|x\n<script>`*a*`[b](c) a_b __d"),
            "B\\|x\\n&lt;script&gt;\\`\\*a\\*\\`\\[b\\](c) a_b \\_\\_d"
        );
        assert_eq!(markdown_name("cascade-lake-2s24c2t"), "cascade-lake-2s24c2t");
        assert_eq!(markdown_name("std::map<int, A>&"), "std::map&lt;int, A&gt;&amp;");
        let sentence = "rows marked `a < b` have <0.1 %, <b>\u{1b}";
        assert_eq!(markdown_text(sentence), "rows marked `a < b` have <0.1 %, &lt;b>\\u{1b}");
    }
}
