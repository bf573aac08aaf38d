//! The property of each error message: one short line that names its place, and that a terminal can
//! show.

/// Name that readers get for the input.
pub(crate) const ORIGIN: &str = "input";

/// Maximum length of a message in bytes. The longest lists all names of something.
const MOST_BYTES: usize = 4_000;

/// Checks a message about a whole text.
pub(crate) fn check(message: &str) {
    assert!(!message.trim().is_empty(), "an empty message");
    assert!(message.len() <= MOST_BYTES, "a message of {} bytes", message.len());
    let control = message.chars().find(|letter| letter.is_control());
    assert_eq!(control, None, "a control character: {message:?}");
}

/// Checks a message that begins with [`ORIGIN`]. If a line follows, `text` has that line.
pub(crate) fn check_in(text: &str, message: &str) {
    check(message);
    let rest = message.strip_prefix(ORIGIN).and_then(|rest| rest.strip_prefix(':'));
    let Some(rest) = rest else { panic!("no place: {message:?}") };
    if let Some((line, _)) = rest.split_once(':')
        && let Ok(line) = line.parse::<usize>()
    {
        let lines = text.matches('\n').count() + 1;
        assert!((1..=lines).contains(&line), "line {line} of {lines}: {message:?}");
    }
}

/// Returns the text of an input. Other readers refuse bytes that are not UTF-8 before these.
pub(crate) fn text(input: &[u8]) -> Option<&str> {
    std::str::from_utf8(input).ok()
}
