//! State that tasks leave behind when they end: the registers, and sums over their operations.

use super::exchanges::Exchanges;
use super::task::Task;
use crate::model::RegisterFile;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Sums over ended tasks.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) exchanges: Exchanges,
    /// Sum of the atomic changes of each object. Empty before the first task ends.
    pub(super) changes: Vec<u64>,
    /// The number and the registers of each task, in any order.
    pub(super) tasks: Vec<(u64, RegisterFile)>,
}

/// Tasks that have ended. It is not part of the experiment's shared memory.
#[derive(Default)]
pub(super) struct Ended(Mutex<Sums>);

impl Ended {
    /// Adds a task that has ended.
    pub(super) fn add(&self, task: Task) {
        let mut sums = self.sums();
        sums.exchanges.add(task.exchanges);
        sums.changes.resize(task.changes.len(), 0);
        for (sum, change) in sums.changes.iter_mut().zip(task.changes) {
            *sum = sum.wrapping_add(change);
        }
        sums.tasks.push((task.number, task.registers));
    }

    /// Returns the sums.
    pub(super) fn sums(&self) -> MutexGuard<'_, Sums> {
        // A task that panicked while it held the mutex has added all or nothing of a sum.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
