//! The text of a script, and errors with positions in it.

use crate::model::{LockKinds, NAME_RULE, is_name};
use lockyard_support::InputError;
use std::fmt::{self, Display};
use std::ops::Range;
use toml::Spanned;

/// An error in a script, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError(pub(super) String);

impl Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScriptError {}

impl From<ScriptError> for InputError {
    fn from(error: ScriptError) -> Self {
        InputError(error.to_string())
    }
}

pub(super) type Result<T> = std::result::Result<T, ScriptError>;

/// The text of a script, the name of its file, and the kinds of locks that it can name.
pub(super) struct Source<'a> {
    pub(super) origin: &'a str,
    pub(super) text: &'a str,
    pub(super) locks: &'a LockKinds,
}

impl Source<'_> {
    /// Returns an error at a position in the text.
    pub(super) fn error(&self, span: Range<usize>, message: impl Display) -> ScriptError {
        ScriptError(format!("{}:{}: {message}", self.origin, self.line(&span)))
    }

    /// Returns the number of the line where a part of the text begins.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        lockyard_support::line_of(self.text.as_bytes(), span.start)
    }

    /// Returns an error about a name that is not in `allowed`.
    pub(super) fn unknown(
        &self,
        what: &str,
        found: &Spanned<String>,
        allowed: &[&str],
    ) -> ScriptError {
        let name = found.get_ref();
        let hint = lockyard_support::hint(name, allowed, "allowed");
        let name = lockyard_support::printable(name);
        self.error(found.span(), format!("there is no {what} `{name}`; {hint}"))
    }

    /// Returns the entry of `table` that `found` names.
    pub(super) fn choose<T: Copy>(
        &self,
        what: &str,
        found: &Spanned<String>,
        table: &[(&str, T)],
    ) -> Result<T> {
        let choice = table.iter().find(|(name, _)| name == found.get_ref());
        choice.map(|&(_, value)| value).ok_or_else(|| {
            let names: Vec<&str> = table.iter().map(|&(name, _)| name).collect();
            self.unknown(what, found, &names)
        })
    }

    /// Checks and returns one line of text.
    pub(super) fn text(&self, what: &str, found: &Spanned<String>) -> Result<String> {
        let text = found.get_ref();
        if text.is_empty() || text.len() > 400 || text.contains(['\n', '\r']) {
            let message = format!("`{what}` must be one line of 1 to 400 bytes");
            return Err(self.error(found.span(), message));
        }
        Ok(text.clone())
    }

    /// Checks and returns one line of text that a script may leave out.
    pub(super) fn text_or(
        &self,
        what: &str,
        found: Option<&Spanned<String>>,
        or: impl FnOnce() -> String,
    ) -> Result<String> {
        found.map_or_else(|| Ok(or()), |found| self.text(what, found))
    }

    /// Checks and returns a name.
    pub(super) fn name(&self, what: &str, found: &Spanned<String>) -> Result<String> {
        let name = found.get_ref();
        if !is_name(name) {
            return Err(self.error(found.span(), format!("`{what}` must be {NAME_RULE}")));
        }
        Ok(name.clone())
    }

    /// Checks and returns a number above 0 and at most `most`. Messages show `most_text` instead of
    /// `most`.
    pub(super) fn positive(
        &self,
        what: &str,
        found: &Spanned<f64>,
        most: f64,
        most_text: impl Display,
    ) -> Result<f64> {
        match *found.get_ref() {
            value if value > 0.0 && value <= most => Ok(value),
            value => {
                let message = format!("`{what}` is {value}; allowed: above 0, at most {most_text}");
                Err(self.error(found.span(), message))
            }
        }
    }

    /// Checks and returns a whole number from `least` to `most`.
    pub(super) fn count(
        &self,
        what: &str,
        found: &Spanned<u32>,
        least: u32,
        most: u32,
    ) -> Result<usize> {
        match *found.get_ref() {
            count if (least..=most).contains(&count) => Ok(count as usize),
            count => {
                let message = format!("`{what}` is {count}; allowed: {least} to {most}");
                Err(self.error(found.span(), message))
            }
        }
    }

    /// Returns an error if a list has more than `most` entries.
    pub(super) fn limit<T>(&self, what: &str, list: &[Spanned<T>], most: usize) -> Result<()> {
        match list.get(most) {
            Some(first_too_many) => {
                let message = format!("{} {what}; at most {most} are allowed", list.len());
                Err(self.error(first_too_many.span(), message))
            }
            None => Ok(()),
        }
    }
}
