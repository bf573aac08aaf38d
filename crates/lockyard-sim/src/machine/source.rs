//! The text of a machine file or of a family: its entries, and errors that name a line.

use super::parameters::{Field, Spec};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Maximum size of a machine file, in bytes.
pub const MAX_FILE_BYTES: u64 = 256 * 1024;

/// An error in a machine file, as one line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError(pub(super) String);

impl std::fmt::Display for MachineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MachineError {}

impl From<MachineError> for lockyard_support::InputError {
    fn from(error: MachineError) -> Self {
        lockyard_support::InputError(error.to_string())
    }
}

pub(super) type Result<T> = std::result::Result<T, MachineError>;

/// A text to which errors refer.
pub(super) struct Source<'a> {
    pub origin: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    pub(super) fn error(
        &self,
        span: Range<usize>,
        message: impl std::fmt::Display,
    ) -> MachineError {
        let line = lockyard_support::line_of(self.text.as_bytes(), span.start);
        MachineError(format!("{}:{line}: {message}", self.origin))
    }

    /// Returns an error about the whole file.
    pub(super) fn whole_file_error(&self, message: impl std::fmt::Display) -> MachineError {
        MachineError(format!("{}: {message}", self.origin))
    }
}

pub(super) fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

pub(super) fn check_keys(
    source: &Source,
    table: &DeTable,
    allowed: &[&str],
    place: &str,
) -> Result<()> {
    for key in table.keys() {
        let name: &str = key.get_ref();
        if !allowed.contains(&name) {
            let hint = lockyard_support::hint(name, allowed, "allowed");
            let name = lockyard_support::printable(name);
            return Err(source.error(key.span(), format!("{place} has no `{name}`; {hint}")));
        }
    }
    Ok(())
}

pub(super) fn text_of(source: &Source, table: &DeTable, name: &str) -> Result<String> {
    let Some(value) = table.get(name) else {
        return Err(source.whole_file_error(format!("lacks `{name}`, a line of text")));
    };
    match value.get_ref().as_str() {
        Some(text) if text.len() <= 400 && !text.contains(char::is_control) => Ok(text.to_owned()),
        Some(_) => {
            let message = "must be one line of at most 400 bytes, without control characters";
            Err(source.error(value.span(), format!("`{name}` {message}")))
        }
        None => Err(source.error(
            value.span(),
            format!("`{name}` is {}; it must be text in quotes", kind(value.get_ref())),
        )),
    }
}

pub(super) fn section_of<'t, 'i>(
    source: &Source,
    top: &'t DeTable<'i>,
    section: &str,
) -> Result<&'t DeTable<'i>> {
    let Some(value) = top.get(section) else {
        return Err(source.whole_file_error(format!("lacks the section [{section}]")));
    };
    value.get_ref().as_table().ok_or_else(|| {
        source.error(
            value.span(),
            format!("`{section}` is {}; it must be a section, [{section}]", kind(value.get_ref())),
        )
    })
}

pub(super) fn kind(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

pub(super) fn allowed_values(spec: &Spec) -> String {
    let unit = if spec.unit.is_empty() { String::new() } else { format!(" {}", spec.unit) };
    match spec.field {
        Field::Whole { min, max, .. } => format!("allowed: {min} to {max}{unit}"),
        Field::Real { min, max, .. } => format!("allowed: {min} to {max}{unit}"),
        Field::Order => "allowed: \"random\", \"fifo\"".to_owned(),
    }
}

/// The parts of `{ value = ..., source = "...", assumed = "..." }`.
pub(super) struct Entry<'t, 'i> {
    pub value: &'t Spanned<DeValue<'i>>,
    pub source: Option<String>,
    pub assumed: Option<String>,
    pub unit: Option<String>,
    pub is_input: bool,
}

pub(super) fn entry_table<'t, 'i>(
    source: &Source,
    name: &str,
    value: &'t Spanned<DeValue<'i>>,
    with_unit: bool,
) -> Result<Entry<'t, 'i>> {
    let Some(table) = value.get_ref().as_table() else {
        return Err(source.error(
            value.span(),
            format!(
                "`{name}` is {}; it must be {{ value = ..., source = \"...\" }}, or `assumed` \
                 instead of `source`",
                kind(value.get_ref())
            ),
        ));
    };
    let mut allowed = vec!["value", "source", "assumed"];
    if with_unit {
        allowed.extend(["unit", "input"]);
    }
    check_keys(source, table, &allowed, &format!("`{name}`"))?;
    let optional = |key: &str| table.get(key).map(|_| text_of(source, table, key)).transpose();
    let (from, assumed, unit) = (optional("source")?, optional("assumed")?, optional("unit")?);
    if from.is_none() && assumed.is_none() {
        return Err(source.error(
            value.span(),
            format!("`{name}` has neither `source` nor `assumed`; every number needs one of them"),
        ));
    }
    let Some(value) = table.get("value") else {
        return Err(source.error(value.span(), format!("`{name}` lacks `value`")));
    };
    let is_input = match table.get("input") {
        None => false,
        Some(found) => found.get_ref().as_bool().ok_or_else(|| {
            let found_kind = kind(found.get_ref());
            source.error(
                found.span(),
                format!("`input` of `{name}` is {found_kind}; it must be true or false"),
            )
        })?,
    };
    Ok(Entry { value, source: from, assumed, unit, is_input })
}

/// Returns a value as errors show it: a number as written, otherwise the kind of value.
pub(super) fn shown(source: &Source, value: &Spanned<DeValue>) -> String {
    match number(value.get_ref()) {
        Some(_) => written(source, &value.span()).to_owned(),
        None => kind(value.get_ref()).to_owned(),
    }
}

/// The text of the file at `span`, shortened.
pub(super) fn written<'a>(source: &Source<'a>, span: &Range<usize>) -> &'a str {
    let text = source.text.get(span.clone()).unwrap_or("?");
    let end = text.char_indices().nth(40).map_or(text.len(), |(i, _)| i);
    text[..end].lines().next().unwrap_or("?")
}

pub(super) fn number(value: &DeValue) -> Option<f64> {
    match value {
        DeValue::Integer(i) => i128::from_str_radix(i.as_str(), i.radix())
            .ok()
            .map(|i| i as f64)
            .or(Some(f64::INFINITY)),
        DeValue::Float(f) => Some(f.as_str().parse().unwrap_or(f64::NAN)),
        _ => None,
    }
}
