//! Screen of this process: the terminal on standard output, or defaults for a file or a pipe.
//!
//! The screen is detected once, from the options, the terminal and the environment. Tests supply
//! all three.

use crate::arguments::ColourChoice;
use lockyard_results::render::{LEAST_WIDTH, Screen, USUAL_WIDTH};
use std::io::IsTerminal;
use std::sync::OnceLock;

static SCREEN: OnceLock<Screen> = OnceLock::new();

/// Returns the screen. Before [`detect`] is called, this is the default one.
pub(crate) fn screen() -> Screen {
    SCREEN.get().copied().unwrap_or_default()
}

/// Detects the screen of this process.
pub(crate) fn detect(colour: ColourChoice, quiet: bool, waits: bool) {
    // Ignore the error of a second call, which would detect the same screen.
    let _ = SCREEN.set(Screen { waits, ..look(colour, quiet) });
}

/// Returns the width of this process's screen. It does not depend on options.
pub(crate) fn width() -> usize {
    look(ColourChoice::Never, false).width
}

/// Returns a line for standard error: wrapped between words if that is a terminal. For programs, an
/// error stays one line.
pub(crate) fn wrapped(line: &str) -> String {
    let error = std::io::stderr();
    let size = error.is_terminal().then(|| terminal_size::terminal_size_of(&error)).flatten();
    match size.map(|(width, _)| usize::from(width.0)).filter(|width| *width >= LEAST_WIDTH) {
        Some(width) => wrapped_in(line, width),
        None => line.to_owned(),
    }
}

fn wrapped_in(line: &str, width: usize) -> String {
    let screen = Screen { width: width - INDENT.len(), ..Screen::default() };
    screen.wrap(line).trim_end().replace('\n', &format!("\n{INDENT}"))
}

/// Beginning of the further lines of an error.
const INDENT: &str = "    ";

fn look(colour: ColourChoice, quiet: bool) -> Screen {
    let out = std::io::stdout();
    let terminal = out.is_terminal();
    let size = terminal.then(|| terminal_size::terminal_size_of(&out)).flatten();
    let variable = |name: &str| std::env::var(name).ok();
    let width = size.map(|(width, _)| usize::from(width.0));
    Surroundings { terminal, width, variable: &variable }.screen(colour, quiet)
}

/// Everything that the screen depends on, except the options.
struct Surroundings<'v> {
    /// True if standard output is a terminal.
    terminal: bool,
    /// Width of the terminal.
    width: Option<usize>,
    /// Value of an environment variable.
    variable: &'v dyn Fn(&str) -> Option<String>,
}

impl Surroundings<'_> {
    fn screen(&self, colour: ColourChoice, quiet: bool) -> Screen {
        let dumb = self.set("TERM").as_deref() == Some("dumb");
        let colour = match colour {
            ColourChoice::Always => true,
            ColourChoice::Never => false,
            ColourChoice::Auto => self.terminal && !dumb && self.set("NO_COLOR").is_none(),
        };
        let width = self.width.filter(|width| *width > 0).or_else(|| self.columns());
        let width = width.unwrap_or(USUAL_WIDTH).max(LEAST_WIDTH);
        Screen { width, unicode: self.is_utf8() && !dumb, colour, quiet, waits: false }
    }

    /// Returns the value of a variable that is set and not empty.
    fn set(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn columns(&self) -> Option<usize> {
        // Ignore a value that is wider than any screen.
        self.set("COLUMNS")?.trim().parse().ok().filter(|columns| (1..=1000).contains(columns))
    }

    /// Returns true if the locale's characters are UTF-8. The first variable that is set decides.
    fn is_utf8(&self) -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| self.set(name));
        match locale {
            Some(locale) => {
                let locale = locale.to_ascii_lowercase();
                locale.contains("utf-8") || locale.contains("utf8")
            }
            // Windows has no such variables, and its terminals support Unicode.
            None => cfg!(windows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(
        terminal: bool,
        width: Option<usize>,
        variables: &[(&str, &str)],
        colour: ColourChoice,
    ) -> Screen {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        };
        Surroundings { terminal, width, variable: &variable }.screen(colour, false)
    }

    #[test]
    fn the_width_is_the_terminal_s_or_that_of_columns() {
        let of = |terminal, width, variables: &[_]| {
            screen(terminal, width, variables, ColourChoice::Auto).width
        };
        assert_eq!(of(true, Some(132), &[("COLUMNS", "90")]), 132);
        assert_eq!(of(false, None, &[("COLUMNS", "90")]), 90);
        assert_eq!(of(false, None, &[]), 80);
        assert_eq!(of(true, Some(40), &[]), 60);
        for wrong in ["", "0", "wide", "-3", "100000"] {
            assert_eq!(of(false, None, &[("COLUMNS", wrong)]), 80, "{wrong}");
        }
    }

    #[test]
    fn a_long_error_is_wrapped_between_words() {
        let names: Vec<String> = (0..30).map(|number| format!("scenario-{number}")).collect();
        let line = format!("lockyard: there is no scenario `x`; there are: {}", names.join(", "));
        let wrapped = wrapped_in(&line, 70);
        assert!(wrapped.lines().count() > 4 && wrapped.lines().all(|line| line.len() <= 70));
        assert!(wrapped.lines().skip(1).all(|line| line.starts_with("    scenario-")), "{wrapped}");
        assert_eq!(wrapped.split_whitespace().collect::<Vec<_>>().join(" "), line);
        assert_eq!(wrapped_in("lockyard: short", 70), "lockyard: short");
    }

    #[test]
    fn the_first_variable_of_the_locale_decides_on_unicode() {
        let of = |variables: &[_]| screen(false, None, variables, ColourChoice::Auto).unicode;
        assert!(of(&[("LANG", "en_GB.UTF-8")]) && of(&[("LC_CTYPE", "C.utf8")]));
        assert!(!of(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]));
        assert!(of(&[("LC_ALL", ""), ("LANG", "en_GB.UTF-8")]));
        assert!(!of(&[("LANG", "en_GB.UTF-8"), ("TERM", "dumb")]));
        assert_eq!(of(&[]), cfg!(windows));
    }

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let of =
            |terminal, variables: &[_], choice| screen(terminal, None, variables, choice).colour;
        assert!(of(true, &[], ColourChoice::Auto));
        assert!(!of(false, &[], ColourChoice::Auto));
        assert!(!of(true, &[("NO_COLOR", "1")], ColourChoice::Auto));
        assert!(of(true, &[("NO_COLOR", "")], ColourChoice::Auto));
        assert!(!of(true, &[("TERM", "dumb")], ColourChoice::Auto));
        assert!(of(false, &[("NO_COLOR", "1")], ColourChoice::Always));
        assert!(!of(true, &[], ColourChoice::Never));
    }
}
