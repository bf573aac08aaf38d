//! The cells of a shard in one process.

use crate::plan::Plan;
use crate::run::Runner;
use crate::store::Store;
use lockyard_support::jobs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A part of a plan: every `of`th cell, from cell `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Index of the shard, from 0.
    pub index: u64,
    /// Number of shards.
    pub of: u64,
}

impl Shard {
    /// All cells.
    pub const ALL: Shard = Shard { index: 0, of: 1 };

    /// Reads a shard, such as `2/8`: the second of eight.
    pub fn parse(text: &str) -> Option<Shard> {
        let (number, of) = text.split_once('/')?;
        let (number, of): (u64, u64) = (number.trim().parse().ok()?, of.trim().parse().ok()?);
        (1..=of).contains(&number).then(|| Shard { index: number - 1, of })
    }

    /// Returns the number of cells of the shard, of `all` cells.
    pub fn count(self, all: u64) -> u64 {
        all.saturating_sub(self.index).div_ceil(self.of)
    }

    /// Returns the number of the shard's cell `index`.
    pub fn cell(self, index: u64) -> u64 {
        self.index + index * self.of
    }
}

/// Result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Number of cells of the shard.
    pub cells: u64,
    /// Number of cells whose rows were there.
    pub present: u64,
    /// Number of cells that were computed now.
    pub computed: u64,
    /// Number of those whose row is an error.
    pub failed: u64,
}

/// Runs the cells of a shard, `jobs` at the same time, and writes their rows. Rows that are there
/// are not computed again. Calls `done` after each cell. An interrupt ends the sweep early.
///
/// # Errors
///
/// If a row cannot be written.
pub fn run(
    plan: &Plan,
    shard: Shard,
    store: &Store,
    runner: &Runner,
    jobs: usize,
    done: &(impl Fn() + Sync),
) -> Result<Swept, String> {
    let cells = shard.count(plan.count());
    let (next, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let total = Mutex::new(Ok(Swept { cells, ..Swept::default() }));
    let one = || {
        let mut found = Swept::default();
        while !jobs::interrupted() && !ended.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= cells {
                break;
            }
            if let Err(error) = cell(plan, shard.cell(index), store, runner, &mut found) {
                ended.store(true, Ordering::Relaxed);
                *total.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                break;
            }
            done();
        }
        if let Ok(total) = &mut *total.lock().unwrap_or_else(PoisonError::into_inner) {
            total.present += found.present;
            total.computed += found.computed;
            total.failed += found.failed;
        }
    };
    thread::scope(|scope| {
        for _ in 1..(jobs as u64).clamp(1, cells.max(1)) {
            // If the system refuses a thread, the others do its work.
            if thread::Builder::new().spawn_scoped(scope, one).is_err() {
                break;
            }
        }
        one();
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Computes one cell, unless its row is there.
fn cell(
    plan: &Plan,
    number: u64,
    store: &Store,
    runner: &Runner,
    found: &mut Swept,
) -> Result<(), String> {
    let cell = plan.cell(number);
    let id = cell.id();
    if store.has(&id) {
        found.present += 1;
        return Ok(());
    }
    let Some(outcome) = runner.run(&cell) else { return Ok(()) };
    store.write(&id, &outcome.text(&cell))?;
    found.computed += 1;
    found.failed += u64::from(outcome.row.is_err());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_have_each_cell_once() {
        for all in [0, 1, 7, 8, 100] {
            for of in [1, 3, 8, 13] {
                let mut cells: Vec<u64> = (0..of)
                    .map(|index| Shard { index, of })
                    .flat_map(|shard| (0..shard.count(all)).map(move |index| shard.cell(index)))
                    .collect();
                cells.sort_unstable();
                assert!(cells.into_iter().eq(0..all), "{all}, {of}");
            }
        }
    }

    #[test]
    fn a_shard_is_a_number_of_several() {
        assert_eq!(Shard::parse("2/8"), Some(Shard { index: 1, of: 8 }));
        for wrong in ["0/8", "9/8", "2", "/", "2/", "a/b", "-1/3", "1/0"] {
            assert_eq!(Shard::parse(wrong), None, "{wrong}");
        }
    }
}
