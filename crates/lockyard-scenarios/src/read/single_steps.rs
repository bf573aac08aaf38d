//! Builders of the steps that stand alone: work, references, accesses, and table operations.

use super::builder::{Builder, Inserted, Used};
use super::region_parts;
use super::source::{Result, Source};
use super::step_entry::StepEntry;
use crate::model::{
    GetOperation, KeyChoice, ObjectKind, PutOperation, Step, Table, TableOperation,
};
use lockyard::platform::Region;
use toml::Spanned;

/// Maximum work of a step in nanoseconds: ten milliseconds.
const MAX_WORK_NS: f64 = 1e7;

/// Maximum `one_in` of a step.
const MAX_ONE_IN: u32 = 1_000_000;

const GET_OPERATIONS: [(&str, GetOperation); 3] = [
    ("get", GetOperation::Get),
    ("get-not-zero", GetOperation::GetNotZero),
    ("get-not-dead", GetOperation::GetNotDead),
];

const PUT_OPERATIONS: [(&str, PutOperation); 3] = [
    ("put-return", PutOperation::PutReturn),
    ("put-not-zero", PutOperation::PutNotZero),
    ("put-or-lock", PutOperation::PutOrLock),
];

/// Builds local work.
pub(super) fn work(builder: &Builder, spanned: &Spanned<StepEntry>) -> Result<Step> {
    let entry = spanned.get_ref();
    let source = builder.source();
    let usual = if builder.held().next().is_none() { Region::System } else { Region::LockHold };
    let region = region_parts::region(source, entry)?.unwrap_or(usual);
    let parts = builder.context.names.parts;
    let activity = region_parts::named(entry, parts).unwrap_or_else(|| region.into());
    let ahead = entry.ahead.as_ref().is_some_and(|ahead| *ahead.get_ref());
    match (&entry.share, &entry.ns) {
        (Some(share), None) => {
            let share = source.positive("share", share, 1e6, 1e6)?;
            Ok(Step::CalibratedWork { share, activity, ahead })
        }
        (None, Some(ns)) => {
            let nanoseconds = source.positive("ns", ns, MAX_WORK_NS, MAX_WORK_NS)?;
            Ok(Step::Work { nanoseconds, activity, ahead })
        }
        _ => Err(source.error(
            spanned.span(),
            "`work` steps need either `share` (of the calibrated work) or `ns`",
        )),
    }
}

/// Builds a wait for the other tasks of a guest.
pub(super) fn wait_for_others(builder: &Builder, spanned: &Spanned<StepEntry>) -> Result<Step> {
    let one_in = match &spanned.get_ref().one_in {
        Some(one_in) => builder.source().count("one_in", one_in, 1, MAX_ONE_IN)? as u32,
        None => 1,
    };
    Ok(Step::WaitForOthers { one_in })
}

/// Builds a step that takes a reference.
pub(super) fn get(builder: &mut Builder, used: &Used, steps: &mut Vec<Step>) -> Result<()> {
    builder.check_reference(used)?;
    let operation = match &used.entry.get_ref().operation {
        Some(found) => builder.source().choose("get operation", found, &GET_OPERATIONS)?,
        None => GetOperation::Get,
    };
    steps.push(Step::Get { object: used.object, operation });
    Ok(())
}

/// Builds a step that drops a reference.
pub(super) fn put(builder: &mut Builder, used: &Used, steps: &mut Vec<Step>) -> Result<()> {
    builder.check_reference(used)?;
    let operation = match &used.entry.get_ref().operation {
        Some(found) => builder.source().choose("put operation", found, &PUT_OPERATIONS)?,
        None => PutOperation::PutReturn,
    };
    steps.push(Step::Put { object: used.object, operation });
    Ok(())
}

/// Builds a load of a word or data, or a read of a table's entry.
pub(super) fn read(builder: &mut Builder, used: &Used, steps: &mut Vec<Step>) -> Result<()> {
    if builder.is_on_table(used, TableOperation::Read, steps)? {
        return Ok(());
    }
    used.needs(
        builder.source(),
        used.is_word() || used.kind == ObjectKind::Data,
        "a word or data",
    )?;
    steps.push(Step::Read { object: used.object });
    Ok(())
}

/// Builds a store to a word, or an increment of data.
pub(super) fn write(builder: &mut Builder, used: &Used, steps: &mut Vec<Step>) -> Result<()> {
    used.needs(
        builder.source(),
        used.is_word() || used.kind == ObjectKind::Data,
        "a word or data",
    )?;
    steps.push(Step::Write { object: used.object });
    Ok(())
}

/// Builds an atomic addition.
pub(super) fn add(builder: &mut Builder, used: &Used, steps: &mut Vec<Step>) -> Result<()> {
    used.needs(builder.source(), used.is_word(), "a word")?;
    let value = added(builder.source(), used.entry.get_ref())?;
    steps.push(Step::Add { object: used.object, value });
    Ok(())
}

/// Reads the number that an addition adds.
fn added(source: &Source, entry: &StepEntry) -> Result<i32> {
    let Some(found) = &entry.value else { return Ok(1) };
    let number = found.get_ref().as_integer().and_then(|number| i32::try_from(number).ok());
    number.ok_or_else(|| {
        let text = lockyard_support::printable(&found.get_ref().to_string());
        let message = format!("`value` is {text}; allowed: {} to {}", i32::MIN, i32::MAX);
        source.error(found.span(), message)
    })
}

impl Builder<'_> {
    /// Checks that an object has references, and that the task does not hold the object's lock.
    /// Otherwise the task would wait for itself.
    fn check_reference(&self, used: &Used) -> Result<()> {
        let source = self.source();
        if let ObjectKind::Page { .. } = used.kind {
            return match &used.entry.get_ref().operation {
                Some(found) => {
                    let message = "pages have no `operation`; their `page` says how references \
                                   are taken";
                    Err(source.error(found.span(), message))
                }
                None => Ok(()),
            };
        }
        let is_lockref = matches!(used.kind, ObjectKind::LockRef { .. });
        used.needs(source, is_lockref, "a lockref or a page")?;
        if self.is_held(used.object) {
            let name = used.found.get_ref();
            let message = format!("`{name}` is locked: the task would wait for itself");
            return Err(source.error(used.found.span(), message));
        }
        Ok(())
    }

    /// Adds a step that only tables have.
    pub(super) fn use_table(
        &mut self,
        used: &Used,
        operation: TableOperation,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        if self.is_on_table(used, operation, steps)? {
            return Ok(());
        }
        used.needs(self.source(), false, "a table")
    }

    /// Adds the step and returns `true` if its object is a table. Rejects a `key` of other objects.
    fn is_on_table(
        &mut self,
        used: &Used,
        operation: TableOperation,
        steps: &mut Vec<Step>,
    ) -> Result<bool> {
        if let ObjectKind::Table { table } = used.kind {
            self.check_operation(used, table, operation)?;
            steps.push(self.table(used, operation)?);
            return Ok(true);
        }
        if let Some(key) = &used.entry.get_ref().key {
            let message = format!("`{}` has no `key`; only tables have one", used.found.get_ref());
            return Err(self.source().error(key.span(), message));
        }
        Ok(false)
    }

    /// Rejects an operation that the table does not have.
    fn check_operation(&self, used: &Used, table: Table, operation: TableOperation) -> Result<()> {
        if table.operations().contains(&operation) {
            return Ok(());
        }
        let all: Vec<&str> = table.operations().iter().map(|o| o.name()).collect();
        let message = format!(
            "`{}` has no `{}` steps, because its kind is `{}`; allowed: {}",
            used.found.get_ref(),
            used.step(),
            table.kind(),
            all.join(", ")
        );
        Err(self.source().error(used.found.span(), message))
    }

    /// Builds a step that uses a table. Checks that the operation has inserted every entry that it
    /// removes or uses as `inserted`.
    fn table(&mut self, used: &Used, operation: TableOperation) -> Result<Step> {
        let (spanned, object) = (used.entry, used.object);
        let key = match &spanned.get_ref().key {
            Some(key) => self.source().choose("key", key, &KeyChoice::ALL)?,
            None => KeyChoice::default(),
        };
        let last = self.inserted.iter().rposition(|inserted| inserted.table == object);
        let name = &self.context.objects[object].name;
        match operation {
            TableOperation::Insert => {
                self.inserted.push(Inserted { table: object, at: spanned.span() });
            }
            TableOperation::Remove => match last {
                Some(last) => {
                    self.inserted.remove(last);
                }
                None => {
                    let message =
                        format!("nothing is left in `{name}` that this operation inserted");
                    return Err(self.source().error(spanned.span(), message));
                }
            },
            _ if key == KeyChoice::Inserted && last.is_none() => {
                let message = format!("this operation has inserted nothing into `{name}`");
                return Err(self.source().error(spanned.span(), message));
            }
            _ => {}
        }
        Ok(Step::Table { object, operation, key })
    }
}
