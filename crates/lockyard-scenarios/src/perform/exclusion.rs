//! Checks that readers and writers of a lock are not inside together.
//!
//! There are two checks. On a stage that [sees every access](crate::Stage::SEES_INSIDE), the lab
//! counts the tasks inside each reader-writer lock. The counts are not memory of the experiment, so
//! they take no simulated time. On the other stages a count would be one more line that all readers
//! change. There a task compares the values of two reads of data under one shared access.

use super::inside::Seen;
use super::prepared::Prepared;
use super::stage::Stage;
use super::task::Task;
use super::violation::Violation;
use crate::model::{Access, ObjectKind};

impl<S: Stage> Prepared<S> {
    /// Records that a task has entered a lock.
    pub(super) fn entered(&self, object: usize, access: Access, task: &mut Task) {
        task.shared += u32::from(access == Access::Shared);
        if S::SEES_INSIDE
            && self.is_read_write(object)
            && let Some(wrong) = self.objects[object].inside.enter(access)
        {
            self.excludes_not(object, wrong);
        }
    }

    /// Records that a task is about to leave a lock.
    pub(super) fn leaves(&self, object: usize, access: Access, task: &mut Task) {
        if access == Access::Shared {
            task.shared -= 1;
            task.seen = None;
        }
        if S::SEES_INSIDE && self.is_read_write(object) {
            self.objects[object].inside.leave(access);
        }
    }

    /// Compares a value of data with the value that the task read before, under the same access.
    pub(super) fn compare(&self, (object, value): Seen, task: &mut Task) {
        if task.shared == 0 {
            return;
        }
        match task.seen {
            Some((before, seen)) if before == object && seen != value => {
                self.excludes_not(object, "changed while a reader was inside its lock");
            }
            _ => task.seen = Some((object, value)),
        }
    }

    fn is_read_write(&self, object: usize) -> bool {
        matches!(self.objects[object].kind, ObjectKind::Lock { lock } if lock.has_shared())
    }

    /// Records the first violation of the run. The tasks continue.
    fn excludes_not(&self, object: usize, wrong: &str) {
        let name = &self.objects[object].name;
        let what = format!("`{name}`: {wrong}: its lock did not exclude");
        let _ = self.not_excluded.set(Violation(what));
    }
}
