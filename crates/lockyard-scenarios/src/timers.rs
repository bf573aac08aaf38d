//! What `timer-gettime` does, which no script can express: each task looks its own timer's identifier up, in a loop, and reads the
//! timer.
//!
//! One operation is some local work (the way into the system call and out of it), a look-up in an [`IdTable`], and the timer's words, read under the
//! timer's own lock. The look-up is the variant: under the table's one lock, or under none.

use crate::stage::Stage;
use lockyard::id_table::{IdTable, InsertError, Variant};

/// A timer, as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Whose it is.
    pub owner: u64,
    /// When it expires, and how often: seconds and nanoseconds.
    pub setting: [u64; 4],
}

/// The timers of some tasks, one each.
pub struct Timers<V: Variant, S: Stage> {
    table: IdTable<Timer, V, S::Host>,
    work_ns: f64,
}

impl<V: Variant, S: Stage> Timers<V, S> {
    /// Without timers. An operation does `work_ns` nanoseconds of local work beside its look-up.
    pub fn new(work_ns: f64) -> Self {
        Timers { table: IdTable::default(), work_ns }
    }

    /// Makes a timer for each of `tasks` tasks: the identifier of task *n* is *n*. To be called once, before they run.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    pub fn begin(&self, tasks: u32) -> Result<(), InsertError<Timer>> {
        for task in 0..tasks {
            let timer = Timer { owner: u64::from(task), setting: [1, 0, u64::from(task), 0] };
            let id = self.table.insert(timer)?;
            debug_assert_eq!(id, task);
        }
        Ok(())
    }

    /// One operation of `task`; returns what the timer says, or `None` if the task has none.
    #[inline]
    pub fn operation(&self, task: u32) -> Option<Timer> {
        S::work(self.work_ns);
        S::wait_begins();
        let entry = self.table.lock(task);
        S::wait_ends();
        let timer = entry.as_deref().copied();
        drop(entry);
        S::operation_done();
        timer
    }

    /// Operations of `task` until the stage stops.
    ///
    /// # Panics
    ///
    /// If it finds another's timer, or none.
    pub fn run(&self, task: u32) {
        while !S::stopping() {
            let found = self.operation(task).map(|timer| timer.owner);
            assert_eq!(found, Some(u64::from(task)), "a task looks its own timer up");
        }
    }
}
