//! Checks after a run that the primitives did their work.

use super::objects::{Shared, Words};
use super::prepared::Prepared;
use super::stage::Stage;
use super::tables::TableObject;
use super::violation::Violation;
use crate::model::{ChainWords, Conserved, Effect, KeyChoice, ObjectKind, Step, TableOperation};
use lockyard::platform::{DataCell, Ordering, Word};

impl<S: Stage> Prepared<S> {
    /// Checks that locks are free, that counts are as expected, that no update of protected data
    /// was lost, and that chains have all of their elements. All tasks must have finished, with
    /// `operations` operations in total. The check adds no shared traffic to the run.
    ///
    /// # Errors
    ///
    /// The condition that is false.
    pub fn verify(&self, operations: u64) -> Result<(), Violation> {
        if let Some(fault) = self.fault.get().or_else(|| self.not_excluded.get()) {
            return Err(fault.clone());
        }
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
                Shared::Words(words) => self.verify_words(index, words),
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
        self.conserved.iter().try_for_each(|conserved| self.verify_conserved(conserved))
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
        let per_operation: i64 = Step::sum(&self.steps, &|step| match step.effect() {
            Some((object, Effect::References(number))) if object == index => number,
            _ => 0,
        });
        let expected = i128::from(first) + i128::from(per_operation) * i128::from(operations);
        if found.map(i128::from) == Some(expected) {
            return Ok(());
        }
        Err(format!("counts {found:?} references after {operations} operations, not {expected}"))
    }

    /// Checks that a word has the sum that operations add according to the script. Otherwise checks
    /// that it is the sum of all atomic changes, unless a step stores to it.
    fn verify_word(&self, index: usize, operations: u64, value: u64) -> Result<(), String> {
        let ObjectKind::Word { initial, gains } = self.objects[index].kind else { return Ok(()) };
        if let Some(gains) = gains {
            let expected = initial.wrapping_add((gains as u64).wrapping_mul(operations));
            if value != expected {
                return Err(format!(
                    "is {value} after {operations} operations that add {gains} each, not \
                     {expected}"
                ));
            }
            return Ok(());
        }
        let added: i64 = Step::sum(&self.steps, &|step| match step.effect() {
            Some((object, Effect::Adds(value))) if object == index => i64::from(value),
            _ => 0,
        });
        let changed = self.changes(index);
        let expected = (added as u64).wrapping_mul(operations);
        let expected = expected.wrapping_add(initial).wrapping_add(changed);
        if self.writes(index) == 0 && value != expected {
            return Err(format!("is {value} after {operations} operations, not {expected}"));
        }
        Ok(())
    }

    /// Checks that an array is the sum of all atomic changes, unless a step stores to it.
    fn verify_words(&self, index: usize, words: &Words<S::Host>) -> Result<(), String> {
        let ObjectKind::Words { count, initial } = self.objects[index].kind else { return Ok(()) };
        if self.writes(index) != 0 {
            return Ok(());
        }
        let changed = self.changes(index);
        let expected = initial.wrapping_mul(u64::from(count)).wrapping_add(changed);
        let sum = Self::values(words).fold(0, u64::wrapping_add);
        if sum != expected {
            return Err(format!("has the sum {sum}, and its changes come to {expected}"));
        }
        Ok(())
    }

    /// Values of an array of words.
    fn values(words: &Words<S::Host>) -> impl Iterator<Item = u64> {
        let word = |index| words.get(index).map(|word| word.load(Ordering::Relaxed));
        (0..u64::from(words.count)).filter_map(word)
    }

    /// Checks that a chain and the tasks have the elements that they had at first.
    fn verify_conserved(&self, conserved: &Conserved) -> Result<(), Violation> {
        let word = |index: usize| match (&self.objects[index].shared, self.objects[index].kind) {
            (Shared::Word(word), ObjectKind::Word { initial, .. }) => {
                // SAFETY: the word was written in `Shared::make` and lives as long as `self`.
                (initial, unsafe { word.as_ref() }.load(Ordering::Relaxed))
            }
            _ => unreachable!("checked by the parser"),
        };
        let links = &self.objects[conserved.links];
        let (Shared::Words(words), ObjectKind::Words { initial, .. }) = (&links.shared, links.kind)
        else {
            unreachable!("checked by the parser")
        };
        let sums = self.ended.sums();
        let numbers: Vec<u64> = sums.tasks.iter().map(|(number, _)| *number).collect();
        let held = conserved.held.iter().flat_map(|register| {
            sums.tasks.iter().map(|(_, registers)| registers[usize::from(register.0)])
        });
        let (from, to) = (word(conserved.from), conserved.to.map(word));
        let before = ChainWords {
            from: from.0,
            to: to.map(|to| to.0),
            links: vec![initial; words.count as usize],
            held: conserved.held_at_first(&self.first_values, &numbers),
        };
        let after = ChainWords {
            from: from.1,
            to: to.map(|to| to.1),
            links: Self::values(words).collect(),
            held: held.collect(),
        };
        let of = &self.objects[conserved.from].name;
        after.has_all_of(&before).map_err(|what| Violation(format!("the chain from `{of}` {what}")))
    }

    /// Checks that each write changed the data exactly once. Tasks count the writes in branches.
    fn verify_data(&self, index: usize, operations: u64, value: u64) -> Result<(), String> {
        let in_branches = self.changes(index);
        let expected = self.certain_writes(&self.steps, index) * operations + in_branches;
        if value != expected {
            return Err(format!(
                "was changed {value} times in {operations} operations, not {expected} times: \
                 updates were lost, so its lock did not exclude"
            ));
        }
        Ok(())
    }

    /// Returns the number of an operation's steps outside of branches that write data.
    fn certain_writes(&self, steps: &[Step], index: usize) -> u64 {
        let of_one = |step: &Step| match step {
            Step::Branch { .. } => 0,
            step => match step.inner() {
                Some(steps) => self.certain_writes(steps, index),
                None => u64::from(step.effect() == Some((index, Effect::Writes))),
            },
        };
        steps.iter().map(of_one).sum()
    }

    /// Returns the sum of all tasks' changes of an object.
    fn changes(&self, index: usize) -> u64 {
        self.ended.sums().changes.get(index).copied().unwrap_or(0)
    }

    fn verify_table(
        &self,
        index: usize,
        operations: u64,
        table: &dyn TableObject,
    ) -> Result<(), String> {
        table.verify(&|wanted: TableOperation| {
            let each: u64 = Step::sum(&self.steps, &|step| match step.effect() {
                Some((object, Effect::Uses(operation, key))) if object == index => {
                    u64::from(operation == wanted && key != KeyChoice::Inserted)
                }
                _ => 0,
            });
            each * operations
        })
    }

    /// Returns the number of an operation's steps that write an object.
    fn writes(&self, index: usize) -> u64 {
        Step::sum(&self.steps, &|step| match step.effect() {
            Some((object, Effect::Writes | Effect::Stores)) => u64::from(object == index),
            _ => 0,
        })
    }
}
