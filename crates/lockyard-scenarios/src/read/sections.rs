//! Sections of steps that begin and end: under a lock, and the branches of a choice.
//!
//! Checks that they nest.

use super::actions::{DO, Do};
use super::region_parts;
use super::source::Result;
use super::step_entry::StepEntry;
use super::steps::{Builder, Open, Opened, Used};
use crate::model::{Access, LockKind, ObjectKind, Step};
use lockyard::platform::{NEST_LEVELS, Region};
use toml::Spanned;

impl Builder<'_> {
    pub(super) fn lock(
        &mut self,
        used: &Used,
        access: Access,
        entry: &StepEntry,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let source = self.context.source;
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
            used.step,
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

    fn keeps_a_node(&self, object: usize) -> bool {
        match self.objects()[object].kind {
            ObjectKind::Lock { lock } | ObjectKind::LockRef { lock, .. } => lock.keeps_a_node(),
            _ => false,
        }
    }

    pub(super) fn is_in_branch(&self) -> bool {
        self.open.iter().any(|open| matches!(open.what, Opened::Branch { .. }))
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

    /// Ends a branch by `or`, which begins the other one, or by `end`.
    pub(super) fn end_of_branch(
        &mut self,
        spanned: &Spanned<StepEntry>,
        what: Do,
        steps: &mut Vec<Step>,
    ) -> Result<()> {
        let name = spanned.get_ref().r#do.get_ref();
        let message = match self.open.pop() {
            Some(Open { what: Opened::Branch { percent, is_first }, at, before }) => {
                if what == Do::Or && !is_first {
                    "an `either` has at most one `or`".to_owned()
                } else {
                    let inner = std::mem::replace(steps, before);
                    let share = percent / 100.0;
                    let range = if is_first { (0.0, share) } else { (share, 1.0) };
                    steps.push(Step::Branch { draws: is_first, range, steps: inner });
                    if what == Do::Or {
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

    /// Rejects steps in a branch that the lab counts by operations.
    pub(super) fn check_in_branch(&self, what: Do, entry: &StepEntry) -> Result<()> {
        let source = self.source();
        if let Some(share) = entry.share.as_ref().filter(|_| what == Do::Work) {
            let message = "work in an `either` has no `share`; use `ns`";
            return Err(source.error(share.span(), message));
        }
        if what.may_be_in_a_branch() || matches!(what, Do::Until | Do::Or | Do::End) {
            return Ok(());
        }
        let allowed = DO.iter().filter(|(_, what)| what.may_be_in_a_branch());
        let allowed: Vec<&str> = allowed.map(|(name, _)| *name).collect();
        let message = format!(
            "an `either` has no `{}` steps, because the lab checks how often an operation does \
             them; allowed: {}",
            entry.r#do.get_ref(),
            allowed.join(", ")
        );
        Err(source.error(entry.r#do.span(), message))
    }
}
