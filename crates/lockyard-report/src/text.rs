//! Text for HTML and SVG: escaped, and numbers in few characters.

/// Escapes a text for content and for attributes in quotes. Control characters, which XML cannot
/// represent, and characters of direction are shown as escapes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let shown = text.split_inclusive(['\n', '\t']).flat_map(|part| {
        let end = part.chars().last().filter(|end| ['\n', '\t'].contains(end));
        let line = &part[..part.len() - end.map_or(0, char::len_utf8)];
        lockyard_support::escaped(line).chars().chain(end).collect::<Vec<char>>()
    });
    for character in shown {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Numbers of characters of a long name that are shown: of its beginning, and of its end, where a
/// call site has its line.
const SHOWN: [usize; 2] = [52, 27];

/// Returns a name in one line, without its middle if it is long.
pub(crate) fn short(name: &str) -> String {
    let [first, last] = SHOWN;
    let letters = name.chars().count();
    if letters <= first + last + 1 {
        return lockyard_support::escaped(name);
    }
    let begin: String = name.chars().take(first).collect();
    let end: String = name.chars().skip(letters - last).collect();
    lockyard_support::escaped(&format!("{begin}…{end}"))
}

/// Formats a share in per cent, with its sign.
pub(crate) fn percent(value: f64) -> String {
    format!("{:+.1} %", value * 100.0)
}

pub(crate) use lockyard_support::{grouped, share};

/// Formats nanoseconds with a unit that leaves one to three digits before the point.
pub(crate) fn nanoseconds(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = format!("{value:.1}");
    format!("{} {unit}", digits.strip_suffix(".0").unwrap_or(&digits))
}

/// Returns an identifier for a part of a page: letters, digits and dashes.
pub(crate) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        assert_eq!(
            escape("<a b=\"c\" d='e'>&\u{1b}\u{202e}\n"),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\\u{1b}\\u{202e}\n"
        );
    }

    #[test]
    fn a_long_name_is_one_line_with_its_beginning_and_its_end() {
        assert_eq!(short("nl\nline"), "nl\\nline");
        let long = short(&format!("f{} (a.c:7)", "q".repeat(5000)));
        assert!(long.starts_with("fqq") && long.ends_with("qq (a.c:7)"), "{long}");
        assert_eq!(long.chars().count(), 80);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([7, 999, 2931, 1_234_567].map(grouped), ["7", "999", "2,931", "1,234,567"]);
        assert_eq!(
            [1.0, 1500.0, 2e6, 3.25e9].map(nanoseconds),
            ["1 ns", "1.5 µs", "2 ms", "3.2 s"]
        );
        assert_eq!((percent(-0.0312), share(0.5)), ("-3.1 %".to_owned(), "50.0 %".to_owned()));
    }

    #[test]
    fn identifiers_have_no_blanks() {
        assert_eq!(slug("spin-loop/same node: CPU (%)"), "spin-loop-same-node-cpu");
    }
}
