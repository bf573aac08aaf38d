//! The entries `[[objects]]`, and the settings of objects that a variant changes.

use super::source::{Result, ScriptError, Source};
use super::table_settings::{self, TableEntry};
use crate::model::{LockKind, Object, ObjectKind, PageKind, Table};
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

/// Maximum initial number of references, chosen so that a run does not saturate a count.
const MAX_COUNT: u32 = 1 << 20;

/// Maximum number of words of an array. Each takes a line.
const MAX_WORDS: u32 = 1 << 12;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ObjectEntry {
    name: Spanned<String>,
    kind: Spanned<String>,
    lock: Option<Spanned<String>>,
    pause: Option<Spanned<bool>>,
    trywait: Option<Spanned<bool>>,
    count: Option<Spanned<u32>>,
    initial: Option<Spanned<u64>>,
    gains: Option<Spanned<i64>>,
    page: Option<Spanned<String>>,
    with: Option<Spanned<TableEntry>>,
    line: Option<Spanned<String>>,
}

/// An entry of a variant's `set`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetEntry {
    object: Spanned<String>,
    lock: Option<Spanned<String>>,
    page: Option<Spanned<String>>,
    pause: Option<Spanned<bool>>,
    trywait: Option<Spanned<bool>>,
    with: Option<Spanned<TableEntry>>,
}

/// Kinds of objects. All tables have one common kind here.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Lock,
    LockRef,
    Word,
    Words,
    Data,
    Page,
    Table,
}

impl Kind {
    fn of(object: ObjectKind) -> Kind {
        match object {
            ObjectKind::Lock { .. } | ObjectKind::Foreign { .. } => Kind::Lock,
            ObjectKind::LockRef { .. } => Kind::LockRef,
            ObjectKind::Page { .. } => Kind::Page,
            ObjectKind::Word { .. } => Kind::Word,
            ObjectKind::Words { .. } => Kind::Words,
            ObjectKind::Data => Kind::Data,
            ObjectKind::Table { .. } => Kind::Table,
        }
    }

    /// Returns `true` if an object of this kind has the field.
    fn has(self, field: &str) -> bool {
        match field {
            "with" => self == Kind::Table,
            "page" => self == Kind::Page,
            "lock" => matches!(self, Kind::Lock | Kind::LockRef),
            "count" => matches!(self, Kind::LockRef | Kind::Page | Kind::Words),
            "initial" => matches!(self, Kind::Word | Kind::Words),
            "gains" => self == Kind::Word,
            _ => self == Kind::LockRef,
        }
    }
}

fn span<T>(field: &Option<Spanned<T>>) -> Option<Range<usize>> {
    field.as_ref().map(Spanned::span)
}

fn page(source: &Source, found: &Spanned<String>) -> Result<PageKind> {
    let table: Vec<_> = PageKind::ALL.iter().map(|&kind| (kind.name(), kind)).collect();
    source.choose("page reference count", found, &table)
}

fn lock(source: &Source, found: &Spanned<String>) -> Result<LockKind> {
    let names = source.locks.all().map(|kind| (kind.name(), kind));
    let table: Vec<_> = names.chain(LockKind::SECOND_NAMES.iter().copied()).collect();
    source.choose("lock", found, &table)
}

/// Rejects a kind of lock that no lockref can have. `found` is its name in the script.
fn of_lockref(
    source: &Source,
    found: Option<&Spanned<String>>,
    lock: LockKind,
) -> Result<LockKind> {
    match found {
        Some(found) if lock.has_shared() => {
            let message = format!(
                "a lockref cannot have the reader-writer lock `{}`, which is no part of its word; \
                 allowed: a lock without a shared mode",
                lock.name()
            );
            Err(source.error(found.span(), message))
        }
        _ => Ok(lock),
    }
}

/// Reads the objects of a script.
pub(super) fn objects(source: &Source, entries: &[Spanned<ObjectEntry>]) -> Result<Vec<Object>> {
    let mut objects: Vec<Object> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for entry in entries {
        let entry = entry.get_ref();
        let name = source.name("name", &entry.name)?;
        if objects.iter().any(|o| o.name == name) {
            return Err(source.error(entry.name.span(), format!("there are two objects `{name}`")));
        }
        let kind = entry.kind(source)?;
        let line = source.name("line", entry.line.as_ref().unwrap_or(&entry.name))?;
        let line = lines.iter().position(|l| *l == line).unwrap_or_else(|| {
            lines.push(line);
            lines.len() - 1
        });
        let object = Object { name, kind, line };
        if let Some(other) = objects.iter().find(|other| other.line == line) {
            check_arrays(source, entry, &object, other)?;
        }
        objects.push(object);
    }
    Ok(objects)
}

/// Rejects an array of words that shares a line with anything but arrays of the same length.
fn check_arrays(
    source: &Source,
    entry: &ObjectEntry,
    object: &Object,
    other: &Object,
) -> Result<()> {
    let words = |object: &Object| match object.kind {
        ObjectKind::Words { count, .. } => Some(count),
        _ => None,
    };
    if words(object) == words(other) {
        return Ok(());
    }
    let message = format!(
        "`{}` cannot share a line with `{}`: an array of words has a line for each, and shares \
         them with arrays of as many words only",
        object.name, other.name
    );
    Err(source.error(entry.line.as_ref().unwrap_or(&entry.name).span(), message))
}

impl ObjectEntry {
    fn kind(&self, source: &Source) -> Result<ObjectKind> {
        let mut kinds = vec![
            ("lock", Kind::Lock),
            ("lockref", Kind::LockRef),
            ("word", Kind::Word),
            ("words", Kind::Words),
            ("data", Kind::Data),
            ("page", Kind::Page),
        ];
        kinds.extend(Table::kinds().map(|kind| (kind, Kind::Table)));
        let kind = source.choose("object kind", &self.kind, &kinds)?;
        self.check_fields(source, kind)?;
        Ok(match kind {
            Kind::Table => {
                let table = Table::of_kind(self.kind.get_ref()).expect("it is one of the kinds");
                let with = self.with.as_ref().map(Spanned::get_ref);
                ObjectKind::Table { table: table_settings::with(table, source, with)? }
            }
            Kind::Page => {
                let count = self.count(source, 1)?;
                let lacks = "`page`, the way in which references are taken";
                let found = self.page.as_ref().ok_or_else(|| self.lacks(source, lacks))?;
                ObjectKind::Page { page: page(source, found)?, count }
            }
            Kind::Lock => ObjectKind::Lock { lock: self.lock(source)? },
            Kind::LockRef => {
                let count = self.count(source, 0)?;
                ObjectKind::LockRef {
                    lock: of_lockref(source, self.lock.as_ref(), self.lock(source)?)?,
                    pause: self.pause.as_ref().is_some_and(|p| *p.get_ref()),
                    trywait: self.trywait.as_ref().is_none_or(|t| *t.get_ref()),
                    count,
                }
            }
            Kind::Word => ObjectKind::Word {
                initial: self.initial(),
                gains: self.gains.as_ref().map(|found| *found.get_ref()),
            },
            Kind::Words => {
                let lacks = "`count`, the number of its words";
                let found = self.count.as_ref().ok_or_else(|| self.lacks(source, lacks))?;
                let count = source.count("count", found, 1, MAX_WORDS)? as u32;
                ObjectKind::Words { count, initial: self.initial() }
            }
            Kind::Data => ObjectKind::Data,
        })
    }

    /// Rejects fields that a kind does not have.
    fn check_fields(&self, source: &Source, kind: Kind) -> Result<()> {
        for (field, span) in [
            ("with", span(&self.with)),
            ("page", span(&self.page)),
            ("lock", span(&self.lock)),
            ("pause", span(&self.pause)),
            ("trywait", span(&self.trywait)),
            ("count", span(&self.count)),
            ("initial", span(&self.initial)),
            ("gains", span(&self.gains)),
        ] {
            if let Some(span) = span
                && !kind.has(field)
            {
                let kind = self.kind.get_ref();
                let message = format!("objects of kind `{kind}` have no `{field}`");
                return Err(source.error(span, message));
            }
        }
        Ok(())
    }

    fn lacks(&self, source: &Source, what: &str) -> ScriptError {
        let message = format!("the object `{}` lacks {what}", self.name.get_ref());
        source.error(self.name.span(), message)
    }

    fn lock(&self, source: &Source) -> Result<LockKind> {
        match &self.lock {
            Some(found) => lock(source, found),
            None => Err(self.lacks(source, "`lock`, the kind of its lock")),
        }
    }

    /// Returns the initial value of a word. The default is 0.
    fn initial(&self) -> u64 {
        self.initial.as_ref().map_or(0, |found| *found.get_ref())
    }

    /// Reads the initial number of references, at least `least`. The default is 1.
    fn count(&self, source: &Source, least: u32) -> Result<u32> {
        match &self.count {
            Some(found) => source.count("count", found, least, MAX_COUNT).map(|count| count as u32),
            None => Ok(1),
        }
    }
}

/// Changes an object as an entry of a variant's `set` requests.
pub(super) fn apply(source: &Source, set: &SetEntry, objects: &mut [Object]) -> Result<()> {
    let index = object_named(source, &set.object, objects)?;
    let object = &mut objects[index];
    let new_lock = set.lock.as_ref().map(|found| lock(source, found)).transpose()?;
    set.check_fields(source, object)?;
    match &mut object.kind {
        ObjectKind::Page { page: kind, .. } => {
            if let Some(found) = &set.page {
                *kind = page(source, found)?;
            }
        }
        ObjectKind::Lock { lock } => *lock = new_lock.unwrap_or(*lock),
        ObjectKind::LockRef { lock, pause, trywait, .. } => {
            *lock = of_lockref(source, set.lock.as_ref(), new_lock.unwrap_or(*lock))?;
            *pause = set.pause.as_ref().map_or(*pause, |p| *p.get_ref());
            *trywait = set.trywait.as_ref().map_or(*trywait, |t| *t.get_ref());
        }
        ObjectKind::Table { table } => {
            let with = set.with.as_ref().map(Spanned::get_ref);
            *table = table_settings::with(*table, source, with)?;
        }
        ObjectKind::Foreign { .. } => unreachable!("no script names one"),
        ObjectKind::Word { .. } | ObjectKind::Words { .. } | ObjectKind::Data => {
            let message = format!(
                "`{}` has no settings; only locks, lockrefs, pages and tables have them",
                object.name
            );
            return Err(source.error(set.object.span(), message));
        }
    }
    Ok(())
}

impl SetEntry {
    /// Rejects settings that an object does not have.
    fn check_fields(&self, source: &Source, object: &Object) -> Result<()> {
        let kind = Kind::of(object.kind);
        let has_settings = !matches!(kind, Kind::Word | Kind::Words | Kind::Data);
        for (field, span) in [
            ("with", span(&self.with)),
            ("page", span(&self.page)),
            ("lock", span(&self.lock)),
            ("pause", span(&self.pause)),
            ("trywait", span(&self.trywait)),
        ] {
            // `apply` rejects an object without settings as a whole.
            let refused = !kind.has(field) && (has_settings || matches!(field, "with" | "page"));
            if let Some(span) = span
                && refused
            {
                let message = format!("`{}` has no `{field}`", object.name);
                return Err(source.error(span, message));
            }
        }
        Ok(())
    }
}

/// Returns the index of the object with this name.
pub(super) fn object_named(
    source: &Source,
    found: &Spanned<String>,
    objects: &[Object],
) -> Result<usize> {
    objects.iter().position(|o| o.name == *found.get_ref()).ok_or_else(|| {
        let names: Vec<&str> = objects.iter().map(|o| o.name.as_str()).collect();
        source.unknown("object", found, &names)
    })
}
