//! Properties of the screen for which text is laid out: width, characters, colours.
//!
//! The command detects them once. All terminal output for readers is laid out accordingly.

use super::document::Format;
use comfy_table::{TableStyle, presets};
use textwrap::{Options, WordSplitter};

/// Minimum width in columns. Lines for narrower terminals still have this width.
pub const LEAST_WIDTH: usize = 60;

/// Width of an output that does not report its width.
pub const USUAL_WIDTH: usize = 80;

/// A terminal, or any other output for readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Number of columns.
    pub width: usize,
    /// True if the output can show characters beyond ASCII.
    pub unicode: bool,
    /// True if the output can show colours.
    pub colour: bool,
    /// True if the user wants only figures, without curves and notes.
    pub quiet: bool,
    /// True for tables of fairness and waits too.
    pub waits: bool,
}

impl Default for Screen {
    fn default() -> Screen {
        Screen { width: USUAL_WIDTH, unicode: true, colour: false, quiet: false, waits: false }
    }
}

impl Screen {
    /// Returns a screen with this width, or the minimum width if that is greater.
    pub fn of_width(width: usize) -> Screen {
        Screen { width: width.max(LEAST_WIDTH), ..Screen::default() }
    }

    /// Replaces characters that the screen cannot show.
    pub fn characters(&self, text: &str) -> String {
        if self.unicode || text.is_ascii() {
            return text.to_owned();
        }
        let mut ascii = String::with_capacity(text.len());
        for character in text.chars() {
            match character {
                '\u{b1}' => ascii.push_str("+/-"),
                '\u{b5}' | '\u{3bc}' => ascii.push('u'),
                '\u{2026}' => ascii.push_str("..."),
                '\u{2013}' | '\u{2014}' | '\u{2500}' | '\u{2550}' => ascii.push('-'),
                '\u{2502}' | '\u{2506}' => ascii.push('|'),
                '\u{250c}'..='\u{254b}' | '\u{2551}'..='\u{256c}' => ascii.push('+'),
                other if other.is_ascii() => ascii.push(other),
                _ => ascii.push('?'),
            }
        }
        ascii
    }

    /// Wraps lines wider than the screen. Continuation lines keep the indent. A word wider than the
    /// screen, such as a URL, stays whole.
    pub fn wrap(&self, text: &str) -> String {
        let text = self.characters(text);
        let mut wrapped = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let (content, end) = match line.strip_suffix('\n') {
                Some(content) => (content, "\n"),
                None => (line, ""),
            };
            if content.chars().count() <= self.width {
                wrapped.push_str(content);
            } else {
                wrapped.push_str(&self.wrap_line(content));
            }
            wrapped.push_str(end);
        }
        wrapped
    }

    fn wrap_line(&self, line: &str) -> String {
        let content = line.trim_start();
        let indent = &line[..line.len() - content.len()];
        let indent = &indent[..indent.len().min(self.width / 3)];
        let more = format!("{indent}{}", if content.starts_with("- ") { "  " } else { "" });
        // Keep a unit on the line of its number.
        let units = [" %", " ns", " M op/s", " k op/s", " op/s"];
        let keep = |text: String, unit: &str| text.replace(unit, &unit.replace(' ', "\u{a0}"));
        let kept = units.into_iter().fold(content.to_owned(), keep);
        let options = Options::new(self.width)
            .break_words(false)
            .word_splitter(WordSplitter::NoHyphenation)
            .initial_indent(indent)
            .subsequent_indent(&more);
        textwrap::fill(&kept, options).replace('\u{a0}', " ")
    }

    /// Returns a heading.
    pub fn heading(&self, text: &str) -> String {
        let text = self.wrap(text);
        if self.colour { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text }
    }

    /// Returns the borders for tables of words.
    pub fn style(&self) -> &'static TableStyle {
        match self.unicode {
            true => &presets::UTF8_FULL_CONDENSED,
            false => &presets::ASCII_FULL_CONDENSED,
        }
    }

    /// Wraps text of a format for people. Lines of Markdown stay as they are.
    pub fn wrap_in(&self, text: String, format: Format) -> String {
        if format == Format::Markdown { text } else { self.wrap(&text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_with_their_indent_and_long_words_stay() {
        let screen = Screen::of_width(60);
        let text = format!("  {}\nshort\n", "word ".repeat(20).trim_end());
        let wrapped = screen.wrap(&text);
        assert!(wrapped.lines().all(|line| line.chars().count() <= 60), "{wrapped}");
        assert!(wrapped.lines().take(2).all(|line| line.starts_with("  word")), "{wrapped}");
        assert!(wrapped.ends_with("\nshort\n"));
        let address = format!("https://{}", "a".repeat(80));
        assert_eq!(screen.wrap(&address), address);
        assert_eq!(Screen::of_width(20).width, LEAST_WIDTH);
    }

    #[test]
    fn a_screen_without_unicode_gets_ascii() {
        let screen = Screen { unicode: false, ..Screen::default() };
        assert_eq!(screen.characters("5 \u{b1} 1 \u{b5}s \u{2502} \u{e9}"), "5 +/- 1 us | ?");
    }
}
