//! Actions of steps, the names that scripts use, and the fields that each has.

use super::source::{Result, Source};
use super::step_entry::StepEntry;
use super::word_steps::WordStep;
use crate::model::{Access, TableOperation};
use std::ops::Range;
use toml::Spanned;

/// The action of a step.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Do {
    Work,
    Pause,
    WaitForOthers,
    Lock(Access),
    Unlock(Access),
    Either,
    Or,
    End,
    Get,
    Put,
    Read,
    Write,
    Add,
    Word(WordStep),
    Repeat,
    Until,
    Table(TableOperation),
}

/// All actions, with the names that scripts use.
pub(super) const DO: [(&str, Do); 26] = [
    ("work", Do::Work),
    ("pause", Do::Pause),
    ("wait-for-others", Do::WaitForOthers),
    ("lock", Do::Lock(Access::Exclusive)),
    ("unlock", Do::Unlock(Access::Exclusive)),
    ("lock-shared", Do::Lock(Access::Shared)),
    ("unlock-shared", Do::Unlock(Access::Shared)),
    ("either", Do::Either),
    ("or", Do::Or),
    ("end", Do::End),
    ("get", Do::Get),
    ("put", Do::Put),
    ("read", Do::Read),
    ("write", Do::Write),
    ("add", Do::Add),
    ("load", Do::Word(WordStep::Load)),
    ("store", Do::Word(WordStep::Store)),
    ("fetch-add", Do::Word(WordStep::FetchAdd)),
    ("compare-exchange", Do::Word(WordStep::CompareExchange)),
    ("set", Do::Word(WordStep::Set)),
    ("repeat", Do::Repeat),
    ("until", Do::Until),
    ("look-up", Do::Table(TableOperation::LookUp)),
    ("update", Do::Table(TableOperation::Update)),
    ("insert", Do::Table(TableOperation::Insert)),
    ("remove", Do::Table(TableOperation::Remove)),
];

impl Do {
    /// Returns `true` if the step may be in a loop and have a condition. The lab checks how often
    /// an operation does the others.
    pub(super) fn may_be_repeated(self) -> bool {
        matches!(self, Do::Word(_) | Do::Work | Do::Pause)
    }

    /// Returns `true` if the step may be in a branch. The lab checks how often an operation does
    /// the others.
    pub(super) fn may_be_in_a_branch(self) -> bool {
        self.may_be_repeated()
            || matches!(self, Do::Lock(_) | Do::Unlock(_) | Do::Read | Do::Write | Do::Repeat)
    }

    /// Returns `true` if a step with this action has the field.
    fn has(self, field: &str) -> bool {
        match field {
            "share" | "ns" | "ahead" => self == Do::Work,
            "region" | "name" => matches!(self, Do::Work | Do::Lock(_)),
            "percent" => self == Do::Either,
            "one_in" => self == Do::WaitForOthers,
            "operation" => matches!(self, Do::Get | Do::Put),
            "key" => self == Do::Read || matches!(self, Do::Table(table) if table.has_key()),
            "when" => self.may_be_repeated() || self == Do::Until,
            "value" if self == Do::Add => true,
            "object" => match self {
                Do::Work | Do::Pause | Do::WaitForOthers | Do::Repeat | Do::Until => false,
                Do::Either | Do::Or | Do::End => false,
                Do::Word(step) => step != WordStep::Set,
                _ => true,
            },
            _ => matches!(self, Do::Word(step) if step.has(field)),
        }
    }

    /// Rejects fields of an entry that its step does not have.
    pub(super) fn check_fields(self, source: &Source, entry: &StepEntry) -> Result<()> {
        for (field, span) in [
            ("share", span(&entry.share)),
            ("ns", span(&entry.ns)),
            ("ahead", span(&entry.ahead)),
            ("region", span(&entry.region)),
            ("name", span(&entry.name)),
            ("value", span(&entry.value)),
            ("into", span(&entry.into)),
            ("expect", span(&entry.expect)),
            ("new", span(&entry.new)),
            ("result", span(&entry.result)),
            ("at", span(&entry.at)),
            ("when", span(&entry.when)),
            ("percent", span(&entry.percent)),
            ("one_in", span(&entry.one_in)),
            ("operation", span(&entry.operation)),
            ("key", span(&entry.key)),
            ("object", span(&entry.object)),
        ] {
            if let Some(span) = span
                && !self.has(field)
            {
                let name = entry.r#do.get_ref();
                return Err(source.error(span, format!("`{name}` steps have no `{field}`")));
            }
        }
        Ok(())
    }
}

fn span<T>(field: &Option<Spanned<T>>) -> Option<Range<usize>> {
    field.as_ref().map(Spanned::span)
}
