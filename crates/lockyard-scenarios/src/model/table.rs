//! Tables as objects of scenarios: their settings, and the operations on them.

use std::fmt;

/// An operation on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableOperation {
    /// Finds an entry, reads it, and releases it.
    LookUp,
    /// Changes an entry.
    Update,
    /// Reads a whole entry.
    Read,
    /// Inserts a new entry, which stays until the task removes it.
    Insert,
    /// Removes the entry that the task inserted last.
    Remove,
}

impl TableOperation {
    /// All operations, with the names that steps use.
    pub const ALL: [(&'static str, TableOperation); 5] = [
        ("look-up", TableOperation::LookUp),
        ("update", TableOperation::Update),
        ("read", TableOperation::Read),
        ("insert", TableOperation::Insert),
        ("remove", TableOperation::Remove),
    ];

    /// Name that steps use.
    pub fn name(self) -> &'static str {
        let row = Self::ALL.iter().find(|(_, operation)| *operation == self);
        row.map_or("", |(name, _)| name)
    }
}

/// The entry that a step uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyChoice {
    /// An entry that belongs to the task. Tasks have different entries if there are enough.
    #[default]
    Own,
    /// A random entry, drawn anew for each step.
    Random,
    /// The entry that the task inserted last in the same operation.
    Inserted,
}

impl KeyChoice {
    /// All choices, with the names that steps use.
    pub const ALL: [(&'static str, KeyChoice); 3] =
        [("own", KeyChoice::Own), ("random", KeyChoice::Random), ("inserted", KeyChoice::Inserted)];
}

/// Maximum number of settings for one kind of table.
pub(crate) const MAX_SETTINGS: usize = 8;

/// A setting that a script may change.
pub(crate) struct Setting {
    /// Name of the setting.
    pub(crate) name: &'static str,
    /// Allowed values.
    pub(crate) allowed: Allowed,
    /// Value if a script does not set one: a number, or the index of an allowed name.
    pub(crate) default: u64,
}

/// Allowed values of a setting.
pub(crate) enum Allowed {
    /// One of these names.
    Names(&'static [&'static str]),
    /// A number from the first to the second, both included.
    Numbers(u64, u64),
}

/// Kinds of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableKind {
    IdTable,
    HandleTable,
    Statistics,
    ConnectionTable,
    BufferCache,
}

/// Description of a kind of table.
pub(crate) struct Row {
    /// The kind.
    pub(crate) kind: TableKind,
    /// Name of the kind, which is the `kind` of an object in a script.
    pub(crate) name: &'static str,
    /// Settings of the kind, at most [`MAX_SETTINGS`].
    pub(crate) settings: &'static [Setting],
    /// Operations on tables of this kind.
    pub(crate) operations: &'static [TableOperation],
    /// Number of entries before tasks run.
    pub(crate) entries: fn(&Table) -> u64,
    /// Upper limit for the bytes in use, before tasks run and while each task has a few more
    /// entries.
    pub(crate) bytes: fn(&Table) -> usize,
}

/// A table of a script, with its kind and its settings.
#[derive(Clone, Copy)]
pub struct Table {
    row: &'static Row,
    values: [u64; MAX_SETTINGS],
}

impl Table {
    /// Returns a table of the kind in `row`, with default settings.
    pub(super) fn with_defaults(row: &'static Row) -> Table {
        let mut values = [0; MAX_SETTINGS];
        for (value, setting) in values.iter_mut().zip(row.settings) {
            *value = setting.default;
        }
        Table { row, values }
    }

    /// Name of the table's kind.
    pub fn kind(&self) -> &'static str {
        self.row.name
    }

    pub(crate) fn table_kind(&self) -> TableKind {
        self.row.kind
    }

    /// Number of entries before tasks run.
    pub fn entries(&self) -> u64 {
        (self.row.entries)(self)
    }

    /// Upper limit for the bytes in use, before tasks run and while each task has a few more
    /// entries.
    pub fn bytes(&self) -> usize {
        (self.row.bytes)(self)
    }

    /// Operations on the table.
    pub(crate) fn operations(&self) -> &'static [TableOperation] {
        self.row.operations
    }

    /// Settings of the table's kind.
    pub(crate) fn settings(&self) -> &'static [Setting] {
        self.row.settings
    }

    /// Sets the setting at `index` to `value`, which must be allowed.
    pub(crate) fn set(&mut self, index: usize, value: u64) {
        self.values[index] = value;
    }

    fn index(&self, name: &str) -> usize {
        let index = self.row.settings.iter().position(|setting| setting.name == name);
        index.expect("a kind asks for settings of its row")
    }

    /// Returns the value of a numeric setting.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.values[self.index(name)]
    }

    /// Returns the value of a setting whose values are names.
    pub(crate) fn name(&self, name: &str) -> &'static str {
        let index = self.index(name);
        match self.row.settings[index].allowed {
            Allowed::Names(names) => names[self.values[index] as usize],
            Allowed::Numbers(..) => unreachable!("`{name}` is a number"),
        }
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        self.row.kind == other.row.kind && self.values == other.values
    }
}

impl Eq for Table {}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(self.row.name);
        for (setting, value) in self.row.settings.iter().zip(self.values) {
            match setting.allowed {
                Allowed::Names(names) => out.field(setting.name, &names[value as usize]),
                Allowed::Numbers(..) => out.field(setting.name, &value),
            };
        }
        out.finish()
    }
}
