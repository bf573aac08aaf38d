//! Reads the steps of one variant from the entries of a script.
//!
//! Checks that locks nest, that objects are of the right kind, and that each operation removes all
//! entries that it inserts into tables.

use super::actions::{DO, Do};
use super::data_locks;
use super::names::Context;
use super::objects;
use super::region_parts;
use super::source::{Result, Source};
use super::step_entry::StepEntry;
use super::word_steps::{self, WordStep};
use crate::model::{
    Access, GetOperation, KeyChoice, Object, ObjectKind, PutOperation, Step, Table, TableOperation,
};
use lockyard::platform::{Activity, Region};
use std::ops::Range;
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

/// Builds the steps of a variant. Checks that locks nest, and that data is accessed under its lock.
pub(super) fn build(context: Context, entries: &[Spanned<StepEntry>]) -> Result<Vec<Step>> {
    let mut builder = Builder { context, open: Vec::new(), inserted: Vec::new() };
    let steps = builder.build(entries)?;
    data_locks::check(context, &steps)?;
    Ok(steps)
}

/// A lock that is held, or a loop or branch that has begun.
pub(super) struct Open {
    pub(super) what: Opened,
    pub(super) at: Range<usize>,
    /// Steps before the lock was taken, or the loop or branch began.
    pub(super) before: Vec<Step>,
}

pub(super) enum Opened {
    Lock {
        object: usize,
        access: Access,
        /// Kind of waiting for the lock.
        wait: Activity,
    },
    Loop,
    /// A branch, which at least `percent` of 100 operations perform, if it is the first.
    Branch {
        percent: f64,
        is_first: bool,
    },
}

/// An entry that was inserted into a table and not removed.
struct Inserted {
    table: usize,
    at: Range<usize>,
}

/// The object that a step uses.
pub(super) struct Used<'a> {
    pub(super) object: usize,
    pub(super) kind: ObjectKind,
    /// Name of the object in the entry.
    pub(super) found: &'a Spanned<String>,
    /// Name of the step in the entry.
    pub(super) step: &'a str,
}

impl Used<'_> {
    /// Rejects an object of the wrong kind.
    pub(super) fn needs(&self, source: &Source, right: bool, what: &str) -> Result<()> {
        if right {
            return Ok(());
        }
        let message =
            format!("`{}` steps need {what}; `{}` is not one", self.step, self.found.get_ref());
        Err(source.error(self.found.span(), message))
    }
}

/// Builds the steps of one variant.
pub(super) struct Builder<'a> {
    pub(super) context: Context<'a>,
    /// Locks that are held, and loops and branches that have begun, the innermost last.
    pub(super) open: Vec<Open>,
    inserted: Vec<Inserted>,
}

impl Builder<'_> {
    pub(super) fn source(&self) -> &Source<'_> {
        self.context.source
    }

    pub(super) fn objects(&self) -> &[Object] {
        self.context.objects
    }

    fn build(&mut self, entries: &[Spanned<StepEntry>]) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        for entry in entries {
            if self.is_present(entry.get_ref())? {
                self.add(entry, &mut steps)?;
            }
        }
        if let Some(Open { what, at, .. }) = self.open.pop() {
            let message = match what {
                Opened::Lock { object, .. } => {
                    format!("`{}` is locked and never unlocked", self.objects()[object].name)
                }
                Opened::Loop => "`repeat` begins a loop that no `until` ends".to_owned(),
                Opened::Branch { .. } => "`either` has no `end`".to_owned(),
            };
            return Err(self.source().error(at, message));
        }
        if let Some(Inserted { table, at }) = self.inserted.pop() {
            let name = &self.objects()[table].name;
            let message = format!(
                "entries inserted into `{name}` stay there, and a run would fill the memory; add \
                 a `remove` step"
            );
            return Err(self.source().error(at, message));
        }
        let total = Step::sum(&steps, &|step| match step {
            Step::CalibratedWork { share, .. } => *share,
            _ => 0.0,
        });
        if total > 0.0 {
            scale_shares(&mut steps, total);
        }
        Ok(steps)
    }

    /// Returns `true` if the variant has the step.
    fn is_present(&self, entry: &StepEntry) -> Result<bool> {
        let Some(only) = &entry.only else { return Ok(true) };
        for name in only {
            self.context.names.variant(self.source(), name)?;
        }
        Ok(only.iter().any(|name| name.get_ref() == self.context.variant.get_ref()))
    }

    /// Adds the step of an entry to `steps`.
    fn add(&mut self, spanned: &Spanned<StepEntry>, steps: &mut Vec<Step>) -> Result<()> {
        let entry = spanned.get_ref();
        let what = self.source().choose("step", &entry.r#do, &DO)?;
        what.check_fields(self.source(), entry)?;
        if self.is_in_loop() {
            self.check_in_loop(what, entry)?;
        }
        if self.is_in_branch() {
            self.check_in_branch(what, entry)?;
        }
        let before = steps.len();
        match what {
            Do::Work => steps.push(self.work(spanned)?),
            Do::Pause => steps.push(Step::Pause),
            Do::WaitForOthers => steps.push(self.wait_for_others(entry)?),
            Do::Word(WordStep::Set) => {
                steps.push(word_steps::build(self.context, spanned, WordStep::Set, 0)?);
            }
            Do::Repeat => {
                let before = std::mem::take(steps);
                self.open.push(Open { what: Opened::Loop, at: spanned.span(), before });
                return Ok(());
            }
            Do::Until => return self.until(spanned, steps),
            Do::Either => return self.either(spanned, steps),
            Do::Or | Do::End => return self.end_of_branch(spanned, what, steps),
            _ => self.add_with_object(spanned, what, steps)?,
        }
        if let Some(when) = &entry.when {
            let conditions = word_steps::conditions(self.context, when)?;
            let step = steps.remove(before);
            steps.push(Step::When { conditions, step: Box::new(step) });
        }
        Ok(())
    }

    fn is_in_loop(&self) -> bool {
        self.open.iter().any(|open| matches!(open.what, Opened::Loop))
    }

    /// Rejects steps in a loop that the lab counts by operations.
    fn check_in_loop(&self, what: Do, entry: &StepEntry) -> Result<()> {
        let source = self.source();
        if let Some(share) = entry.share.as_ref().filter(|_| what == Do::Work) {
            let message = "work in a loop has no `share`, because the number of turns is not \
                           known; use `ns`";
            return Err(source.error(share.span(), message));
        }
        if what.may_be_repeated() || matches!(what, Do::Repeat | Do::Until | Do::Unlock(_)) {
            return Ok(());
        }
        let allowed = DO.iter().filter(|(_, what)| what.may_be_repeated());
        let allowed: Vec<&str> = allowed.map(|(name, _)| *name).collect();
        let message = format!(
            "a loop has no `{}` steps, because the lab checks how often an operation does them; \
             allowed: {}, repeat, until",
            entry.r#do.get_ref(),
            allowed.join(", ")
        );
        Err(source.error(entry.r#do.span(), message))
    }

    /// Ends the loop that began last.
    fn until(&mut self, spanned: &Spanned<StepEntry>, steps: &mut Vec<Step>) -> Result<()> {
        let source = self.context.source;
        let error = |message: String| Err(source.error(spanned.span(), message));
        let before = match self.open.pop() {
            Some(Open { what: Opened::Loop, before, .. }) => before,
            Some(Open { what: Opened::Lock { object, .. }, .. }) => {
                let name = &self.objects()[object].name;
                return error(format!(
                    "`until` ends a loop, but `{name}` was locked last; locks and loops nest"
                ));
            }
            Some(Open { what: Opened::Branch { .. }, .. }) => {
                return error("`until` ends a loop, but `either` came last; they nest".to_owned());
            }
            None => return error("`until` ends a loop that no `repeat` began".to_owned()),
        };
        let Some(when) = &spanned.get_ref().when else {
            return error("`until` steps need `when`, the conditions that end the loop".to_owned());
        };
        let until = word_steps::conditions(self.context, when)?;
        let inner = std::mem::replace(steps, before);
        let looks = |step: &Step| {
            usize::from(matches!(
                step,
                Step::Load { .. } | Step::FetchAdd { .. } | Step::CompareExchange { .. }
            ))
        };
        if Step::sum(&inner, &looks) == 0 {
            return error(
                "the loop looks at no word, so it ends at once or never; allowed in it: load, \
                 fetch-add or compare-exchange, at least one"
                    .to_owned(),
            );
        }
        let outermost = !self.is_in_loop();
        let line = source.line(&when.span());
        steps.push(Step::Repeat { steps: inner, until, outermost, line });
        Ok(())
    }

    /// Adds a step that uses an object.
    fn add_with_object(
        &mut self,
        spanned: &Spanned<StepEntry>,
        what: Do,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let source = self.context.source;
        let entry = spanned.get_ref();
        let step = entry.r#do.get_ref().as_str();
        let Some(found) = &entry.object else {
            return Err(source.error(spanned.span(), format!("`{step}` steps need `object`")));
        };
        let object = objects::object_named(source, found, self.objects())?;
        let kind = self.objects()[object].kind;
        let used = Used { object, kind, found, step };
        let operation = match what {
            Do::Read => Some(TableOperation::Read),
            Do::Table(operation) => Some(operation),
            _ => None,
        };
        if let (ObjectKind::Table { table }, Some(operation)) = (kind, operation) {
            self.check_operation(&used, table, operation)?;
            steps.push(self.table(spanned, object, operation)?);
            return Ok(());
        }
        if let Some(key) = &entry.key {
            let message = format!("`{}` has no `key`; only tables have one", found.get_ref());
            return Err(source.error(key.span(), message));
        }
        let is_word = matches!(kind, ObjectKind::Word { .. });
        let is_word_or_data = is_word || kind == ObjectKind::Data;
        match what {
            Do::Lock(access) => self.lock(&used, access, entry, steps)?,
            Do::Unlock(access) => self.unlock(&used, access, steps)?,
            Do::Get | Do::Put => {
                self.check_reference(&used, entry)?;
                steps.push(self.reference(what == Do::Get, object, entry)?);
            }
            Do::Read => {
                used.needs(source, is_word_or_data, "a word or data")?;
                steps.push(Step::Read { object });
            }
            Do::Write => {
                used.needs(source, is_word_or_data, "a word or data")?;
                steps.push(Step::Write { object });
            }
            Do::Add => {
                used.needs(source, is_word, "a word")?;
                let value = self.added(entry)?;
                steps.push(Step::Add { object, value });
            }
            Do::Word(step) => steps.push(word_steps::build(self.context, spanned, step, object)?),
            Do::Table(_) => used.needs(source, false, "a table")?,
            Do::Work
            | Do::Pause
            | Do::WaitForOthers
            | Do::Repeat
            | Do::Until
            | Do::Either
            | Do::Or
            | Do::End => {
                unreachable!("they use no object")
            }
        }
        Ok(())
    }

    /// Reads the number that an addition adds.
    fn added(&self, entry: &StepEntry) -> Result<i32> {
        let Some(found) = &entry.value else { return Ok(1) };
        let number = found.get_ref().as_integer().and_then(|number| i32::try_from(number).ok());
        number.ok_or_else(|| {
            let text = lockyard_support::printable(&found.get_ref().to_string());
            let message = format!("`value` is {text}; allowed: {} to {}", i32::MIN, i32::MAX);
            self.source().error(found.span(), message)
        })
    }

    fn work(&self, spanned: &Spanned<StepEntry>) -> Result<Step> {
        let entry = spanned.get_ref();
        let source = self.source();
        let usual = if self.held().next().is_none() { Region::System } else { Region::LockHold };
        let region = region_parts::region(source, entry)?.unwrap_or(usual);
        let parts = self.context.names.parts;
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

    fn wait_for_others(&self, entry: &StepEntry) -> Result<Step> {
        let one_in = match &entry.one_in {
            Some(one_in) => self.source().count("one_in", one_in, 1, MAX_ONE_IN)? as u32,
            None => 1,
        };
        Ok(Step::WaitForOthers { one_in })
    }

    /// Checks that an object has references, and that the task does not hold the object's lock.
    /// Otherwise the task would wait for itself.
    fn check_reference(&self, used: &Used, entry: &StepEntry) -> Result<()> {
        let source = self.source();
        if let ObjectKind::Page { .. } = used.kind {
            return match &entry.operation {
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

    fn reference(&self, get: bool, object: usize, entry: &StepEntry) -> Result<Step> {
        let source = self.source();
        let found = entry.operation.as_ref();
        if get {
            let operation = match found {
                Some(found) => source.choose("get operation", found, &GET_OPERATIONS)?,
                None => GetOperation::Get,
            };
            Ok(Step::Get { object, operation })
        } else {
            let operation = match found {
                Some(found) => source.choose("put operation", found, &PUT_OPERATIONS)?,
                None => PutOperation::PutReturn,
            };
            Ok(Step::Put { object, operation })
        }
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
            used.step,
            table.kind(),
            all.join(", ")
        );
        Err(self.source().error(used.found.span(), message))
    }

    /// Builds a step that uses a table. Checks that the operation has inserted every entry that it
    /// removes or uses as `inserted`.
    fn table(
        &mut self,
        spanned: &Spanned<StepEntry>,
        object: usize,
        operation: TableOperation,
    ) -> Result<Step> {
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

fn scale_shares(steps: &mut [Step], total: f64) {
    for step in steps {
        match step {
            Step::CalibratedWork { share, .. } => *share /= total,
            step => {
                if let Some(steps) = step.inner_mut() {
                    scale_shares(steps, total);
                }
            }
        }
    }
}
