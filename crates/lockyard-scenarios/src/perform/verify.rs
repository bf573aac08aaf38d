//! Checks after a run that the primitives did their work.

use super::objects::Shared;
use super::prepared::Prepared;
use super::stage::Stage;
use super::tables::TableObject;
use crate::model::{KeyChoice, ObjectKind, Step, TableOperation};
use lockyard::platform::{DataCell, Ordering, Word};
use std::fmt;

/// A condition that is false after a run, because the primitives did not do their work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

impl<S: Stage> Prepared<S> {
    /// Checks that locks are free, that counts are as expected, and that no update of protected
    /// data was lost. All tasks must have finished, with `operations` operations in total. The
    /// check adds no shared traffic to the run.
    ///
    /// # Errors
    ///
    /// The condition that is false.
    pub fn verify(&self, operations: u64) -> Result<(), Violation> {
        for (index, object) in self.objects.iter().enumerate() {
            let checked = match &object.shared {
                Shared::Lock(lock) if lock.is_held() => Err("is still held".to_owned()),
                Shared::Lock(_) => Ok(()),
                Shared::LockRef(lockref) if lockref.is_held() => Err("is still locked".to_owned()),
                Shared::LockRef(lockref) => {
                    let ObjectKind::LockRef { count, .. } = object.kind else { continue };
                    self.verify_count(index, operations, count, lockref.count())
                }
                Shared::Page(page) => {
                    let ObjectKind::Page { count, .. } = object.kind else { continue };
                    self.verify_count(index, operations, count, page.count())
                }
                Shared::Word(word) => {
                    // SAFETY: the word was written in `Shared::make` and lives as long as `self`.
                    let value = unsafe { word.as_ref() }.load(Ordering::Relaxed);
                    self.verify_word(index, operations, value)
                }
                Shared::Data(cell) => {
                    // SAFETY: the cell was written in `Shared::make` and lives as long as `self`;
                    // all tasks have finished.
                    let value = unsafe { cell.as_ref() }.with(|data| unsafe { data.read() });
                    self.verify_data(index, operations, value)
                }
                Shared::Table { table, .. } => self.verify_table(index, operations, table.as_ref()),
            };
            checked.map_err(|what| Violation(format!("`{}` {what}", object.name)))?;
        }
        Ok(())
    }

    /// Checks that a count that started with `first` references is `found` after `operations`
    /// operations.
    fn verify_count(
        &self,
        index: usize,
        operations: u64,
        first: u32,
        found: Option<u32>,
    ) -> Result<(), String> {
        let per_operation: i64 = Step::sum(&self.steps, &|step| match step {
            Step::Get { object, .. } if *object == index => 1,
            Step::Put { object, .. } if *object == index => -1,
            _ => 0,
        });
        let expected = i128::from(first) + i128::from(per_operation) * i128::from(operations);
        if found.map(i128::from) == Some(expected) {
            return Ok(());
        }
        Err(format!("counts {found:?} references after {operations} operations, not {expected}"))
    }

    /// Checks that a word is the sum of all additions. Skips words that a step writes.
    fn verify_word(&self, index: usize, operations: u64, value: u64) -> Result<(), String> {
        let added: i64 = Step::sum(&self.steps, &|step| match *step {
            Step::Add { object, value } if object == index => i64::from(value),
            _ => 0,
        });
        let expected = (added as u64).wrapping_mul(operations);
        if self.writes(index) == 0 && value != expected {
            return Err(format!("is {value} after {operations} operations, not {expected}"));
        }
        Ok(())
    }

    /// Checks that each write changed the data exactly once.
    fn verify_data(&self, index: usize, operations: u64, value: u64) -> Result<(), String> {
        let expected = self.writes(index) * operations;
        if value != expected {
            return Err(format!(
                "was changed {value} times in {operations} operations, not {expected} times: \
                 updates were lost, so its lock did not exclude"
            ));
        }
        Ok(())
    }

    fn verify_table(
        &self,
        index: usize,
        operations: u64,
        table: &dyn TableObject,
    ) -> Result<(), String> {
        table.verify(&|wanted: TableOperation| {
            let each: u64 = Step::sum(&self.steps, &|step| match *step {
                Step::Table { object, operation, key } if object == index => {
                    u64::from(operation == wanted && key != KeyChoice::Inserted)
                }
                _ => 0,
            });
            each * operations
        })
    }

    /// Returns the number of an operation's steps that write an object.
    fn writes(&self, index: usize) -> u64 {
        Step::sum(&self.steps, &|step| {
            u64::from(matches!(*step, Step::Write { object } if object == index))
        })
    }
}
