//! The settings of a table, checked against the settings of its kind.
//!
//! A script gives the settings in `with = { ... }`, so a new kind of table needs no new field of
//! objects.

use super::source::{Result, Source};
use crate::model::{Allowed, Setting, Table};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// `with = { ... }` of an object or of a variant's `set`.
pub(super) type TableEntry = BTreeMap<Spanned<String>, Spanned<Value>>;

/// A value in a [`TableEntry`].
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Value {
    Number(u64),
    Name(String),
    Other(toml::Value),
}

/// Returns the table with the settings that a script gives.
pub(super) fn with(mut table: Table, source: &Source, entry: Option<&TableEntry>) -> Result<Table> {
    let settings = table.settings();
    let names: Vec<(&str, usize)> = settings.iter().enumerate().map(|(i, s)| (s.name, i)).collect();
    let what = format!("`{}` setting", table.kind());
    for (name, value) in entry.into_iter().flatten() {
        let index = source.choose(&what, name, &names)?;
        table.set(index, value_of(source, &settings[index], value)?);
    }
    Ok(table)
}

/// Returns the value of a setting, as the table stores it.
fn value_of(source: &Source, setting: &Setting, found: &Spanned<Value>) -> Result<u64> {
    let name = setting.name;
    match (&setting.allowed, found.get_ref()) {
        (Allowed::Names(names), Value::Name(value)) => {
            let table: Vec<(&str, u64)> =
                names.iter().enumerate().map(|(i, name)| (*name, i as u64)).collect();
            let value = Spanned::new(found.span(), value.clone());
            source.choose(&format!("`{name}`"), &value, &table)
        }
        (Allowed::Names(names), _) => {
            let message = format!("`{name}` must be a name; allowed: {}", names.join(", "));
            Err(source.error(found.span(), message))
        }
        (Allowed::Numbers(least, most), Value::Number(value))
            if (least..=most).contains(&value) =>
        {
            Ok(*value)
        }
        (Allowed::Numbers(least, most), value) => {
            let found_is = match value {
                Value::Number(number) => number.to_string(),
                Value::Name(name) => format!("`{}`", lockyard_support::printable(name)),
                Value::Other(other) => lockyard_support::printable(&other.to_string()),
            };
            let message = format!("`{name}` is {found_is}; allowed: {least} to {most}");
            Err(source.error(found.span(), message))
        }
    }
}
