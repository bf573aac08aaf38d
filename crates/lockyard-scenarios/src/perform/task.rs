//! Private state of each task of a run.

use super::exchanges::Exchanges;
use super::inside::Seen;
use super::work_variation::TaskNumbers;
use crate::model::{FirstValue, Register, RegisterFile, first_registers};
use std::sync::atomic::{AtomicU64, Ordering};

/// An entry that a task has inserted into a table and not removed.
pub(super) struct Inserted {
    /// The table.
    pub(super) object: usize,
    /// Value with which the table finds the entry; `None` if the insertion was refused.
    pub(super) found_by: Option<u64>,
}

/// The state of a task.
pub(super) struct Task {
    pub(super) number: u64,
    pub(super) numbers: TaskNumbers,
    /// Entries that the task has inserted and not removed, oldest first.
    pub(super) inserted: Vec<Inserted>,
    /// Number of insertions so far.
    pub(super) insertions: u32,
    pub(super) registers: RegisterFile,
    /// Compare-exchanges of the script's steps so far.
    pub(super) exchanges: Exchanges,
    /// Sum of the task's atomic changes of each object so far.
    pub(super) changes: Vec<u64>,
    /// Number of turns of loops so far in this operation.
    pub(super) turns: u64,
    /// Index of the next visit of the task's walk.
    pub(super) visit: usize,
    /// Number of visits until the walk's next one where all tasks meet; 0 if it is not drawn.
    pub(super) until_meeting: usize,
    /// Number of locks that the task is inside with shared access.
    pub(super) shared: u32,
    /// Data that the task read last, inside these locks.
    pub(super) seen: Option<Seen>,
    /// The operation's draw among the branches of its choice.
    pub(super) drawn: f64,
    /// `true` in a branch.
    pub(super) in_branch: bool,
    /// `true` after a step that no script may do. The task then does nothing else.
    pub(super) is_faulty: bool,
}

impl Task {
    /// Puts a value into a register.
    pub(super) fn set(&mut self, register: Register, value: u64) {
        self.registers[usize::from(register.0)] = value;
    }

    /// Records an atomic change of an object by `difference`.
    pub(super) fn changed(&mut self, object: usize, difference: u64) {
        let sum = &mut self.changes[object];
        *sum = sum.wrapping_add(difference);
    }

    /// Returns the position of the entry that the task inserted last into a table, and the value
    /// with which the table finds it.
    pub(super) fn last_inserted(&self, table: usize) -> Option<(usize, Option<u64>)> {
        let last = self.inserted.iter().rposition(|inserted| inserted.object == table)?;
        Some((last, self.inserted[last].found_by))
    }
}

/// Number of tasks that have begun. It is not part of the experiment's shared memory.
#[derive(Default)]
pub(super) struct Begun(AtomicU64);

impl Begun {
    /// Begins a task in a run with this seed and number of objects. The task has up to `inserts`
    /// inserted entries at a time, and begins with these values in its registers.
    pub(super) fn task(
        &self,
        seed: u64,
        objects: usize,
        inserts: usize,
        first: &[FirstValue],
    ) -> Task {
        // Relaxed: tasks only need different numbers.
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        let numbers = TaskNumbers::new(seed, number);
        Task {
            number,
            numbers,
            inserted: Vec::with_capacity(inserts),
            insertions: 0,
            registers: first_registers(first, number),
            exchanges: Exchanges::default(),
            changes: vec![0; objects],
            turns: 0,
            visit: 0,
            until_meeting: 0,
            shared: 0,
            seen: None,
            drawn: 0.0,
            in_branch: false,
            is_faulty: false,
        }
    }
}
