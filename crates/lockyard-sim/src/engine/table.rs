//! A table that only grows, of which release builds do not check the indices.
//!
//! An operation looks some sixty times into the tables of threads, cores, lines and events; to check each look is 15 % of a run's
//! instructions and 8 % of its time. Every index is a number that the engine gave itself, where the entry was made, and that
//! stays within the engine:
//!
//! | table | its numbers are made in | they are kept in |
//! | --- | --- | --- |
//! | threads | `Engine::spawn` | events, waiters, sleepers, parked threads, the scheduler |
//! | cores | `Engine::new`, as many as the machine has | threads (`Simulation` takes them from the machine), events, agents |
//! | lines and their traces | `Engine::new_line` | `line_of`, events, caches, threads |
//! | nodes of the wheel | `Wheel::push_in_new_node` | slots, other nodes |
//! | made entries of a sparse table | `Sparse::make` | that table |
//!
//! No table loses an entry, so a number is good for as long as its engine lives; no number leaves its engine, and none comes from
//! outside. Debug builds check each look, and so do the tests with random programs.

use std::ops::{Index, IndexMut};

/// Entries by numbers that its owner has made with [`push`](Self::push) or from a whole vector, and nobody else.
#[derive(Clone, Debug)]
pub(super) struct Table<T>(Vec<T>);

impl<T> Table<T> {
    pub(super) const fn new() -> Self {
        Table(Vec::new())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// An entry by any number.
    pub(super) fn get(&self, index: usize) -> Option<&T> {
        self.0.get(index)
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }

    /// Adds an entry; returns its number.
    pub(super) fn push(&mut self, entry: T) -> u32 {
        self.0.push(entry);
        (self.0.len() - 1) as u32
    }

    /// Makes room for just so many more.
    pub(super) fn reserve_exact(&mut self, more: usize) {
        self.0.reserve_exact(more);
    }
}

impl<T> From<Vec<T>> for Table<T> {
    fn from(entries: Vec<T>) -> Self {
        Table(entries)
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < self.0.len(), "a number that this table has not made");
        // SAFETY: the number was made for an entry of this table, as the first paragraphs argue for each table, and no entry is
        // ever removed.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.0.len(), "a number that this table has not made");
        // SAFETY: as in `index`.
        unsafe { self.0.get_unchecked_mut(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_made_in_order_and_stay() {
        let mut table = Table::new();
        for number in 0..100u32 {
            assert_eq!(table.push(number * 3), number);
        }
        table[40] += 1;
        assert_eq!((table[0], table[40], table[99], table.len()), (0, 121, 297, 100));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "a number that this table has not made")]
    fn debug_builds_check_each_look() {
        let table: Table<u32> = vec![1, 2].into();
        let _ = table[2];
    }
}
