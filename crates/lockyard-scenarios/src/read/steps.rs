//! Reads the steps of one variant from the entries of a script.
//!
//! Checks that locks nest, that objects are of the right kind, and that each operation removes all
//! entries that it inserts into tables.

use super::actions::{Action, Build, In, STEPS, names_in};
use super::builder::{Builder, Inserted, Open, Opened, Used};
use super::data_locks;
use super::names::Context;
use super::objects;
use super::source::Result;
use super::step_entry::StepEntry;
use super::word_steps;
use crate::model::Step;
use toml::Spanned;

/// Builds the steps of a variant. Checks that locks nest, and that data is accessed under its lock.
pub(super) fn build(context: Context, entries: &[Spanned<StepEntry>]) -> Result<Vec<Step>> {
    let mut builder = Builder { context, open: Vec::new(), inserted: Vec::new() };
    let steps = builder.build(entries)?;
    data_locks::check(context, &steps)?;
    Ok(steps)
}

impl Builder<'_> {
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
        let action = self.source().choose("step", &entry.r#do, STEPS)?;
        self.check_fields(&action, entry)?;
        if self.is_in_loop() {
            self.check_in_loop(&action, entry)?;
        }
        if self.is_in_branch() {
            self.check_in_branch(&action, entry)?;
        }
        let before = steps.len();
        match action.build {
            Build::Section(build) => return build(self, spanned, steps),
            Build::Alone(build) => steps.push(build(self, spanned)?),
            Build::Object(build) => {
                let used = self.used(spanned)?;
                build(self, &used, steps)?;
            }
        }
        if let Some(when) = &entry.when {
            let conditions = word_steps::conditions(self.context, when)?;
            let step = steps.remove(before);
            steps.push(Step::When { conditions, step: Box::new(step) });
        }
        Ok(())
    }

    /// Returns the object that a step uses.
    fn used<'e>(&self, spanned: &'e Spanned<StepEntry>) -> Result<Used<'e>> {
        let (source, entry) = (self.source(), spanned.get_ref());
        let Some(found) = &entry.object else {
            let message = format!("`{}` steps need `object`", entry.r#do.get_ref());
            return Err(source.error(spanned.span(), message));
        };
        let object = objects::object_named(source, found, self.objects())?;
        Ok(Used { object, kind: self.objects()[object].kind, found, entry: spanned })
    }

    /// Rejects fields of an entry that its step does not have.
    fn check_fields(&self, action: &Action, entry: &StepEntry) -> Result<()> {
        let mut given = entry.given();
        let Some((field, span)) = given.find(|(field, _)| !action.has(field)) else {
            return Ok(());
        };
        let message = format!("`{}` steps have no `{field}`", entry.r#do.get_ref());
        Err(self.source().error(span, message))
    }

    /// Rejects steps in a loop that the lab counts by operations.
    fn check_in_loop(&self, action: &Action, entry: &StepEntry) -> Result<()> {
        let source = self.source();
        if let Some(share) = &entry.share {
            let message = "work in a loop has no `share`, because the number of turns is not \
                           known; use `ns`";
            return Err(source.error(share.span(), message));
        }
        if action.may_stand(In::Loop) || action.may_stand(In::NestedInLoop) {
            return Ok(());
        }
        let message = format!(
            "a loop has no `{}` steps, because the lab checks how often an operation does them; \
             allowed: {}",
            entry.r#do.get_ref(),
            names_in(In::Loop).join(", ")
        );
        Err(source.error(entry.r#do.span(), message))
    }

    /// Rejects steps in a branch that the lab counts by operations.
    fn check_in_branch(&self, action: &Action, entry: &StepEntry) -> Result<()> {
        let source = self.source();
        if let Some(share) = &entry.share {
            let message = "work in an `either` has no `share`; use `ns`";
            return Err(source.error(share.span(), message));
        }
        if action.may_stand(In::Branch) || action.may_stand(In::NestedInBranch) {
            return Ok(());
        }
        let message = format!(
            "an `either` has no `{}` steps, because the lab checks how often an operation does \
             them; allowed: {}",
            entry.r#do.get_ref(),
            names_in(In::Branch).join(", ")
        );
        Err(source.error(entry.r#do.span(), message))
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
