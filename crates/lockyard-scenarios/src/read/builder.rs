//! The state while the steps of one variant are built: what is open, and what an entry uses.

use super::names::Context;
use super::source::{Result, Source};
use super::step_entry::StepEntry;
use crate::model::{Access, Object, ObjectKind, Step};
use lockyard::platform::Activity;
use std::ops::Range;
use toml::Spanned;

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
pub(super) struct Inserted {
    pub(super) table: usize,
    pub(super) at: Range<usize>,
}

/// The object that a step uses.
pub(super) struct Used<'a> {
    pub(super) object: usize,
    pub(super) kind: ObjectKind,
    /// Name of the object in the entry.
    pub(super) found: &'a Spanned<String>,
    /// The entry of the step.
    pub(super) entry: &'a Spanned<StepEntry>,
}

impl Used<'_> {
    /// Name of the step in the entry.
    pub(super) fn step(&self) -> &str {
        self.entry.get_ref().r#do.get_ref()
    }

    /// Returns `true` if the object is one word.
    pub(super) fn is_word(&self) -> bool {
        matches!(self.kind, ObjectKind::Word { .. })
    }

    /// Rejects an object of the wrong kind.
    pub(super) fn needs(&self, source: &Source, right: bool, what: &str) -> Result<()> {
        if right {
            return Ok(());
        }
        let message =
            format!("`{}` steps need {what}; `{}` is not one", self.step(), self.found.get_ref());
        Err(source.error(self.found.span(), message))
    }
}

/// Builds the steps of one variant.
pub(super) struct Builder<'a> {
    pub(super) context: Context<'a>,
    /// Locks that are held, and loops and branches that have begun, the innermost last.
    pub(super) open: Vec<Open>,
    pub(super) inserted: Vec<Inserted>,
}

impl Builder<'_> {
    pub(super) fn source(&self) -> &Source<'_> {
        self.context.source
    }

    pub(super) fn objects(&self) -> &[Object] {
        self.context.objects
    }

    /// Returns the locks that are held.
    pub(super) fn held(&self) -> impl Iterator<Item = usize> {
        self.open.iter().filter_map(|open| match open.what {
            Opened::Lock { object, .. } => Some(object),
            Opened::Loop | Opened::Branch { .. } => None,
        })
    }

    pub(super) fn is_held(&self, object: usize) -> bool {
        self.held().any(|held| held == object)
    }

    pub(super) fn is_in_loop(&self) -> bool {
        self.open.iter().any(|open| matches!(open.what, Opened::Loop))
    }

    pub(super) fn is_in_branch(&self) -> bool {
        self.open.iter().any(|open| matches!(open.what, Opened::Branch { .. }))
    }
}
