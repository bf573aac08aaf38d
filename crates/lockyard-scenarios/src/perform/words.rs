//! Steps on words and registers, from which scripts make algorithms without locks.
//!
//! Each access is one operation of the platform, so that a simulated machine charges its line. The
//! registers are private to the task and cost nothing there.

use super::objects::Shared;
use super::prepared::Prepared;
use super::stage::Stage;
use super::task::Task;
use super::violation::Violation;
use crate::model::{Condition, Place, Step, Value};
use lockyard::platform::{Host, Ordering, U64, Word};

/// Number of turns of loops after which a task checks whether another task is faulty. A look reads
/// shared memory, so it is rare.
const BETWEEN_LOOKS: u64 = 1 << 16;

impl<S: Stage> Prepared<S> {
    /// Performs a step on words or registers. Marks the task as faulty if the step names an element
    /// that an array does not have.
    pub(super) fn perform_on_words(&self, step: &Step, task: &mut Task) {
        match *step {
            Step::Load { place, into } => {
                let Some(word) = self.word_at(place, task) else { return };
                // Acquire: pairs with the release of the store or compare-exchange that wrote the
                // value.
                task.set(into, word.load(Ordering::Acquire));
            }
            Step::Store { place, value } => {
                let Some(word) = self.word_at(place, task) else { return };
                // Release: pairs with the acquire of a task that loads the value.
                word.store(value.of(&task.registers), Ordering::Release);
            }
            Step::FetchAdd { place, value, into } => {
                let Some(word) = self.word_at(place, task) else { return };
                let value = value.of(&task.registers);
                // Acquire and release: pairs with the same addition of other tasks, as for a
                // ticket.
                task.set(into, word.fetch_add(value, Ordering::AcqRel));
                task.changed(place.object, value);
            }
            Step::CompareExchange { place, expect, new, into, result } => {
                let Some(word) = self.word_at(place, task) else { return };
                let (expected, new) = (expect.of(&task.registers), new.of(&task.registers));
                // Release: pairs with the acquire of a task that finds the new value. Acquire:
                // pairs with the release that wrote the value found.
                let order = (Ordering::AcqRel, Ordering::Acquire);
                let found = word.compare_exchange(expected, new, order.0, order.1);
                if found.is_ok() {
                    task.exchanges.succeeded += 1;
                    task.changed(place.object, new.wrapping_sub(expected));
                } else {
                    task.exchanges.failed += 1;
                }
                task.set(result, u64::from(found.is_ok()));
                if let Some(into) = into {
                    task.set(into, found.unwrap_or_else(|actual| actual));
                }
            }
            Step::Set { into, value } => task.set(into, value.of(&task.registers)),
            _ => unreachable!("the interpreter performs all other steps"),
        }
    }

    /// Performs a step if its conditions hold.
    pub(super) fn perform_when(
        &self,
        conditions: &[Condition],
        step: &Step,
        factor: f64,
        task: &mut Task,
    ) {
        if Condition::all_hold(conditions, &task.registers) {
            self.perform(std::slice::from_ref(step), factor, task);
        } else if let Step::CompareExchange { result, .. } = *step {
            task.set(result, 0);
        }
    }

    /// Performs steps until conditions hold, which are in a line of the script.
    pub(super) fn repeat(
        &self,
        (steps, until, line): (&[Step], &[Condition], usize),
        factor: f64,
        task: &mut Task,
    ) {
        loop {
            self.perform(steps, factor, task);
            if task.is_faulty || Condition::all_hold(until, &task.registers) {
                break;
            }
            // The count covers all loops, so that a loop that ends does not hide an endless loop
            // around it.
            task.turns += 1;
            if task.turns.is_multiple_of(BETWEEN_LOOKS) && self.fault.get().is_some() {
                // The loop may wait for the task that stopped at the fault.
                task.is_faulty = true;
                break;
            }
            if task.turns == S::MOST_TURNS {
                self.set_fault(task, line, || {
                    format!(
                        "a loop did not end after {} turns of one operation: no step made its \
                         `until` true",
                        S::MOST_TURNS
                    )
                });
                break;
            }
        }
    }

    /// Passes the time of an operation of a faulty task, which does nothing else any more.
    pub(super) fn idle(&self) {
        S::Host::relax();
    }

    /// Marks a task as faulty, at a step in a line of the script. Keeps the first fault of a run.
    fn set_fault(&self, task: &mut Task, line: usize, what: impl FnOnce() -> String) {
        task.is_faulty = true;
        self.fault.get_or_init(|| Violation(format!("{}:{line}: {}", self.origin, what())));
    }

    /// Returns the word at a place, or marks the task as faulty if there is none.
    fn word_at(&self, place: Place, task: &mut Task) -> Option<&U64<S::Host>> {
        let index = place.at.map_or(0, |at| Value::Whole(at).of(&task.registers));
        match &self.objects[place.object].shared {
            // SAFETY: the word was written in `Shared::make` and lives as long as `self`.
            Shared::Word(word) => Some(unsafe { word.as_ref() }),
            Shared::Words(words) => {
                let word = words.get(index);
                if word.is_none() {
                    let name = &self.objects[place.object].name;
                    self.set_fault(task, place.line, || {
                        let count = words.count;
                        format!(
                            "`{name}` has {count} words, and a step used word {index}; allowed: \
                             0 to {}",
                            count - 1
                        )
                    });
                }
                word
            }
            _ => unreachable!("checked by the parser"),
        }
    }
}
