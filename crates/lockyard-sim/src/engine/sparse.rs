//! A table with an entry for each thread, of which only a few are used.
//!
//! Of thousands of threads, only two use a queue node's line. Entries are created at their first
//! change. Until then they read as the blank entry.

use std::ops::{Index, IndexMut};

/// Marks an entry that does not exist.
const NONE: u16 = u16::MAX;

/// Entries by index, created at their first change. At most 65 534 entries can exist; a machine has
/// at most 4096 hardware threads.
#[derive(Clone, Debug)]
pub(super) struct Sparse<T> {
    /// Index in `made` of each entry. Entries beyond the end do not exist.
    places: Vec<u16>,
    made: Vec<T>,
    blank: T,
}

impl<T: Clone> Sparse<T> {
    /// Returns a table where all entries are `blank`.
    pub(super) fn new(blank: T) -> Self {
        Sparse { places: Vec::new(), made: Vec::new(), blank }
    }

    #[cold]
    fn make(&mut self, index: usize) -> u16 {
        if self.places.len() <= index {
            self.places.resize(index + 1, NONE);
        }
        let place = self.made.len() as u16;
        assert!(place != NONE, "no machine has this many hardware threads");
        if place == 0 {
            // Of a million lines, most are used by only one thread.
            self.made.reserve_exact(1);
        }
        self.made.push(self.blank.clone());
        self.places[index] = place;
        place
    }
}

impl<T> Index<usize> for Sparse<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        match self.places.get(index) {
            Some(&place) if place != NONE => &self.made[place as usize],
            _ => &self.blank,
        }
    }
}

impl<T: Clone> IndexMut<usize> for Sparse<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let place = match self.places.get(index) {
            Some(&place) if place != NONE => place,
            _ => self.make(index),
        };
        &mut self.made[place as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_entries_that_were_changed_are_made() {
        let mut table = Sparse::new(7u64);
        assert_eq!((table[4000], table.made.len()), (7, 0), "to look at one makes none");
        table[4000] += 1;
        table[2] = 5;
        table[4000] += 1;
        assert_eq!((table[4000], table[2], table[3], table[5000]), (9, 5, 7, 7));
        assert_eq!(table.made.len(), 2);
    }
}
