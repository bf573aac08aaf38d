//! Checks of a table that finds objects by numbers (`id-table`, `handle-table`): every requested
//! object was found, none was lost, and each has all its changes.

use super::tally::Tally;
use crate::model::TableOperation;

/// The objects of a table, and counts of faults with them.
#[derive(Debug)]
pub(super) struct Objects {
    /// Number of objects that exist before and after all tasks run.
    number: u64,
    /// Number of look-ups and removals that found no object, or the wrong one. Written only on such
    /// a fault.
    missed: Tally,
    /// Number of refused insertions.
    refused: Tally,
}

impl Objects {
    pub(super) fn new(number: u64) -> Self {
        Objects { number, missed: Tally::default(), refused: Tally::default() }
    }

    /// Checks the owner that a look-up found. Any owner is right for an object that a task
    /// inserted.
    #[inline]
    pub(super) fn found(&self, found: Option<u64>, owner: Option<u64>) {
        if found.is_none() || owner.is_some() && found != owner {
            self.missed.note();
        }
    }

    /// Checks that an insertion was not refused, and returns its result.
    pub(super) fn inserted<T>(&self, inserted: Option<T>) -> Option<T> {
        if inserted.is_none() {
            self.refused.note();
        }
        inserted
    }

    /// Checks that a removal found the object.
    pub(super) fn removed(&self, is_removed: bool) {
        if !is_removed {
            self.missed.note();
        }
    }

    /// Checks all objects after the run: see [`verify`](super::table_object::TableObject::verify).
    /// `changes` returns the number of changes of an object.
    pub(super) fn verify(
        &self,
        len: usize,
        changes: impl FnMut(u64) -> Option<u64>,
        performed: &dyn Fn(TableOperation) -> u64,
    ) -> Result<(), String> {
        self.missed.never(|missed| format!("found nothing, or another object, {missed} times"))?;
        self.refused.no_refusal()?;
        if len as u64 != self.number {
            return Err(format!("has {len} entries at the end, not {}", self.number));
        }
        let changed: u64 = (0..self.number).filter_map(changes).sum();
        let expected = performed(TableOperation::Update);
        if changed != expected {
            return Err(format!("was updated {changed} times, not {expected} times"));
        }
        Ok(())
    }
}
