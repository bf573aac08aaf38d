//! The text of a plan, and errors with their line and column.

use lockyard_support::{InputError, hint, line_of, printable};
use std::fmt::Display;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(crate) type Result<T> = std::result::Result<T, InputError>;
pub(crate) type Value<'i> = Spanned<DeValue<'i>>;

/// A text to which errors refer.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    /// Name of the file.
    pub(crate) origin: &'a str,
    pub(crate) text: &'a str,
}

impl Source<'_> {
    /// Returns an error at a position in the text.
    pub(crate) fn error(&self, span: Range<usize>, message: impl Display) -> InputError {
        let at = span.start.min(self.text.len());
        let line = line_of(self.text.as_bytes(), at);
        let before = self.text.get(..at).unwrap_or(self.text);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        InputError(format!("{}:{line}:{column}: {message}", self.origin))
    }

    /// Returns an error about the whole file.
    pub(crate) fn whole(&self, message: impl Display) -> InputError {
        InputError(format!("{}: {message}", self.origin))
    }

    /// Checks that a table has only allowed keys.
    pub(crate) fn check_keys(&self, table: &DeTable, allowed: &[&str], what: &str) -> Result<()> {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !allowed.contains(&name) {
                let hint = hint(name, allowed, "allowed");
                let name = printable(name);
                return Err(self.error(key.span(), format!("{what} has no `{name}`; {hint}")));
            }
        }
        Ok(())
    }

    /// Returns an error about a value of the wrong kind.
    pub(crate) fn wrong(&self, name: &str, value: &Value, allowed: &str) -> InputError {
        let found = match value.get_ref() {
            DeValue::String(text) => format!("`{}`", printable(text)),
            DeValue::Integer(_) | DeValue::Float(_) => {
                self.text.get(value.span()).unwrap_or("a number").to_owned()
            }
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Datetime(_) => "a date".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        };
        self.error(value.span(), format!("`{name}` is {found}; allowed: {allowed}"))
    }

    /// Returns one text, or several in a list.
    pub(crate) fn texts<'t>(
        &self,
        name: &str,
        value: &'t Value,
    ) -> Result<Vec<(&'t str, Range<usize>)>> {
        const ALLOWED: &str = "text in quotes, or a list of one or more";
        let one = |value: &'t Value| match value.get_ref().as_str() {
            Some(text) => Ok((text, value.span())),
            None => Err(self.wrong(name, value, ALLOWED)),
        };
        match value.get_ref() {
            DeValue::Array(list) if !list.is_empty() => list.iter().map(one).collect(),
            _ => Ok(vec![one(value)?]),
        }
    }

    /// Returns the choice that a text names.
    pub(crate) fn choice<T: Copy>(
        &self,
        table: &DeTable,
        name: &str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>> {
        let Some(value) = table.get(name) else { return Ok(None) };
        let text = value.get_ref().as_str().unwrap_or_default();
        let found = choices.iter().find(|(choice, _)| *choice == text);
        found.map(|&(_, choice)| Some(choice)).ok_or_else(|| {
            let names: Vec<String> =
                choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            self.wrong(name, value, &names.join(", "))
        })
    }

    /// Returns true or false.
    pub(crate) fn flag(&self, table: &DeTable, name: &str) -> Result<bool> {
        let Some(value) = table.get(name) else { return Ok(false) };
        value.get_ref().as_bool().ok_or_else(|| self.wrong(name, value, "true or false"))
    }
}

/// Returns the number that a value is.
pub(crate) fn number(value: &DeValue) -> Option<f64> {
    let number = match value {
        DeValue::Integer(whole) => i128::from_str_radix(whole.as_str(), whole.radix()).ok()? as f64,
        DeValue::Float(real) => real.as_str().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}
