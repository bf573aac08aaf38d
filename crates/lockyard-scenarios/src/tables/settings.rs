//! What a script sets of a table: names and numbers, checked against the table's [`Row`].
//!
//! In a script they stand in `with = { ... }`, so that a new kind of table needs no new field of an object.

use super::{Operation, ROWS, Row};
use crate::file::{Result, Source};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

/// A kind of table has at most so many settings.
pub(crate) const MAX_SETTINGS: usize = 8;

/// Something that a script may set.
pub(crate) struct Setting {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it may be.
    pub(crate) allowed: Allowed,
    /// What it is if it is not set: a number, or the place of a name among those that are allowed.
    pub(crate) default: u64,
}

/// What a setting may be.
pub(crate) enum Allowed {
    /// One of these names.
    Names(&'static [&'static str]),
    /// A number from the first to the second.
    Numbers(u64, u64),
}

/// `with = { ... }` of an object or of a variant's `set`.
pub(crate) type TableEntry = BTreeMap<Spanned<String>, Spanned<Value>>;

/// A value in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Number(u64),
    Name(String),
    Other(toml::Value),
}

/// A table of a script: its kind, and what was set.
#[derive(Clone, Copy)]
pub struct Table {
    row: &'static Row,
    values: [u64; MAX_SETTINGS],
}

impl Table {
    /// The kinds of tables.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        ROWS.iter().map(|row| row.kind)
    }

    /// The name of its kind.
    pub fn kind(&self) -> &'static str {
        self.row.kind
    }

    /// How many entries it has before tasks run.
    pub fn entries(&self) -> u64 {
        (self.row.entries)(self)
    }

    /// At most so many bytes are in use before tasks run, and while each holds a few more entries.
    pub fn bytes(&self) -> usize {
        (self.row.bytes)(self)
    }

    /// The steps that it has.
    pub(crate) fn operations(&self) -> &'static [Operation] {
        self.row.operations
    }

    pub(crate) fn is_of(&self, row: &Row) -> bool {
        self.row.kind == row.kind
    }

    fn index(&self, name: &str) -> usize {
        let index = self.row.settings.iter().position(|setting| setting.name == name);
        index.expect("a kind asks for settings of its row")
    }

    /// A setting that is a number.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.values[self.index(name)]
    }

    /// A setting that is a name.
    pub(crate) fn name(&self, name: &str) -> &'static str {
        let index = self.index(name);
        match self.row.settings[index].allowed {
            Allowed::Names(names) => names[self.values[index] as usize],
            Allowed::Numbers(..) => unreachable!("`{name}` is a number"),
        }
    }

    /// A table of the kind with this name, as it is if nothing is set; `None` if there is no such kind.
    pub(crate) fn of_kind(kind: &str) -> Option<Table> {
        let row = ROWS.iter().find(|row| row.kind == kind)?;
        let mut values = [0; MAX_SETTINGS];
        for (value, setting) in values.iter_mut().zip(row.settings) {
            *value = setting.default;
        }
        Some(Table { row, values })
    }

    /// The same with what a script sets.
    pub(crate) fn with(mut self, source: &Source, entry: Option<&TableEntry>) -> Result<Table> {
        for (name, value) in entry.into_iter().flatten() {
            let table: Vec<(&str, usize)> =
                self.row.settings.iter().enumerate().map(|(i, s)| (s.name, i)).collect();
            let what = format!("setting of an object of kind `{}`", self.row.kind);
            let index = source.choose(&what, name, &table)?;
            self.values[index] = value_of(source, &self.row.settings[index], value)?;
        }
        Ok(self)
    }
}

/// The value of a setting.
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
            let message = format!("`{name}` is a name; allowed: {}", names.join(", "));
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

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        self.is_of(other.row) && self.values == other.values
    }
}

impl Eq for Table {}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(self.row.kind);
        for (setting, value) in self.row.settings.iter().zip(self.values) {
            match setting.allowed {
                Allowed::Names(names) => out.field(setting.name, &names[value as usize]),
                Allowed::Numbers(..) => out.field(setting.name, &value),
            };
        }
        out.finish()
    }
}
