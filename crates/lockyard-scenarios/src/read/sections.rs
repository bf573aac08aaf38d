//! Sections of steps that begin and end: under a lock, the branches of a choice, and loops.
//!
//! Checks that the sections nest.

use super::builder::{Builder, Open, Opened, Used};
use super::region_parts;
use super::source::Result;
use super::step_entry::StepEntry;
use super::word_steps;
use crate::model::{Access, LockKind, ObjectKind, Step};
use lockyard::platform::{NEST_LEVELS, Region};
use toml::Spanned;

impl Builder<'_> {
    pub(super) fn lock(
        &mut self,
        used: &Used,
        access: Access,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let (source, entry) = (self.context.source, used.entry.get_ref());
        let is_lock = matches!(used.kind, ObjectKind::Lock { .. } | ObjectKind::LockRef { .. });
        if access == Access::Shared {
            self.check_shared(used)?;
        }
        used.needs(source, is_lock, "a lock or a lockref")?;
        let name = used.found.get_ref();
        if self.is_held(used.object) {
            return Err(source.error(used.found.span(), format!("`{name}` is locked already")));
        }
        if self.keeps_a_node(used.object) {
            let held = self.held().filter(|&held| self.keeps_a_node(held)).count();
            if held == NEST_LEVELS as usize {
                let message = format!(
                    "`{name}` would be the fifth MCS or CLH lock held; a thread has nodes for \
                     {NEST_LEVELS}"
                );
                return Err(source.error(used.found.span(), message));
            }
        }
        let region = region_parts::region(source, entry)?.unwrap_or(Region::LockWait);
        let parts = self.context.names.parts;
        let wait = region_parts::named(entry, parts).unwrap_or_else(|| region.into());
        let before = std::mem::take(steps);
        let what = Opened::Lock { object: used.object, access, wait };
        self.open.push(Open { what, at: used.found.span(), before });
        Ok(())
    }

    /// Rejects a lock without a shared mode.
    fn check_shared(&self, used: &Used) -> Result<()> {
        let source = self.source();
        let ObjectKind::Lock { lock } = used.kind else {
            return used.needs(source, false, "a lock with a shared mode");
        };
        if lock.has_shared() {
            return Ok(());
        }
        let all = LockKind::ALL.iter().filter(|kind| kind.has_shared() && !kind.is_control());
        let all: Vec<&str> = all.map(|kind| kind.name()).collect();
        let message = format!(
            "`{}` steps need a lock with a shared mode; in variant `{}`, `{}` is a lock of kind \
             `{}`; allowed: {}",
            used.step(),
            self.context.variant.get_ref(),
            used.found.get_ref(),
            lock.name(),
            all.join(", ")
        );
        Err(source.error(used.found.span(), message))
    }

    pub(super) fn unlock(&mut self, used: &Used, by: Access, steps: &mut Vec<Step>) -> Result<()> {
        let name = used.found.get_ref();
        let message = match self.open.pop() {
            Some(Open { what: Opened::Lock { object, access, wait }, before, .. })
                if object == used.object && access == by =>
            {
                let inner = std::mem::replace(steps, before);
                steps.push(Step::Locked { object, access, wait, steps: inner });
                return Ok(());
            }
            Some(Open { what: Opened::Lock { object, access, .. }, .. })
                if object == used.object =>
            {
                let (lock, unlock) = match access {
                    Access::Exclusive => ("lock", "unlock"),
                    Access::Shared => ("lock-shared", "unlock-shared"),
                };
                format!("`{name}` was taken by `{lock}`; allowed: release it by `{unlock}`")
            }
            Some(Open { what: Opened::Loop, .. }) => {
                format!("`{name}` is unlocked in a loop; locks and loops nest")
            }
            Some(Open { what: Opened::Branch { .. }, .. }) => {
                format!("`{name}` is unlocked in an `either` that began later; they nest")
            }
            Some(Open { what: Opened::Lock { object, .. }, .. }) => {
                let last = &self.objects()[object].name;
                format!("`{name}` is unlocked, but `{last}` was locked last; locks nest")
            }
            None => format!("`{name}` is unlocked, but not locked"),
        };
        Err(self.source().error(used.found.span(), message))
    }

    fn keeps_a_node(&self, object: usize) -> bool {
        match self.objects()[object].kind {
            ObjectKind::Lock { lock } | ObjectKind::LockRef { lock, .. } => lock.keeps_a_node(),
            _ => false,
        }
    }

    /// Begins a choice.
    pub(super) fn either(
        &mut self,
        spanned: &Spanned<StepEntry>,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let source = self.context.source;
        let Some(found) = &spanned.get_ref().percent else {
            let message = "`either` needs `percent`, the share of the operations that do the steps \
                           up to `or`";
            return Err(source.error(spanned.span(), message));
        };
        let percent = *found.get_ref();
        if !(0.0..=100.0).contains(&percent) {
            let message = format!("`percent` is {percent}; allowed: 0 to 100");
            return Err(source.error(found.span(), message));
        }
        let what = Opened::Branch { percent, is_first: true };
        self.open.push(Open { what, at: spanned.span(), before: std::mem::take(steps) });
        Ok(())
    }

    /// Begins the other branch of a choice.
    pub(super) fn or(&mut self, spanned: &Spanned<StepEntry>, steps: &mut Vec<Step>) -> Result<()> {
        self.end_of_branch(spanned, true, steps)
    }

    /// Ends a choice.
    pub(super) fn end(
        &mut self,
        spanned: &Spanned<StepEntry>,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        self.end_of_branch(spanned, false, steps)
    }

    /// Ends a branch by `or`, which begins the other branch, or by `end`.
    fn end_of_branch(
        &mut self,
        spanned: &Spanned<StepEntry>,
        or: bool,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let name = spanned.get_ref().r#do.get_ref();
        let message = match self.open.pop() {
            Some(Open { what: Opened::Branch { percent, is_first }, at, before }) => {
                if or && !is_first {
                    "an `either` has at most one `or`".to_owned()
                } else {
                    let inner = std::mem::replace(steps, before);
                    let share = percent / 100.0;
                    let range = if is_first { (0.0, share) } else { (share, 1.0) };
                    steps.push(Step::Branch { draws: is_first, range, steps: inner });
                    if or {
                        let what = Opened::Branch { percent, is_first: false };
                        self.open.push(Open { what, at, before: std::mem::take(steps) });
                    }
                    return Ok(());
                }
            }
            Some(Open { what: Opened::Lock { object, .. }, .. }) => {
                let lock = &self.objects()[object].name;
                format!("`{name}` ends a branch, but `{lock}` was locked last; they nest")
            }
            Some(Open { what: Opened::Loop, .. }) => {
                format!("`{name}` ends a branch, but a loop began last; they nest")
            }
            None => format!("`{name}` without `either`"),
        };
        Err(self.source().error(spanned.span(), message))
    }

    /// Begins a loop.
    pub(super) fn repeat(
        &mut self,
        spanned: &Spanned<StepEntry>,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let before = std::mem::take(steps);
        self.open.push(Open { what: Opened::Loop, at: spanned.span(), before });
        Ok(())
    }

    /// Ends the loop that began last.
    pub(super) fn until(
        &mut self,
        spanned: &Spanned<StepEntry>,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
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
        let looks = |step: &Step| usize::from(step.looks_at_a_word());
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
}
