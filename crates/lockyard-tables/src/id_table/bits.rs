//! Finds the lowest free number below a power of two. A bitmap marks the used numbers. A second
//! bitmap marks the full words of the first, and so on up to a single word.
//!
//! ```text
//!   level 1            [.......................01]     a set bit: that word of level 0 is full
//!   level 0   [111..111][10..0111][0...] ...           a set bit: the number is used
//! ```

use lockyard::platform::{Cell, DataCell, Host};

const WORD: u32 = u64::BITS;

/// Number of levels for the largest segment: 64^5 is 2^30.
pub(super) const MOST_LEVELS: usize = 5;

/// Returns the number of words in each level of a bitmap of `numbers` bits, from the lowest; 0 for
/// absent levels.
const fn levels(numbers: u32) -> [u32; MOST_LEVELS] {
    let mut levels = [0; MOST_LEVELS];
    let mut words = numbers.div_ceil(WORD);
    let mut level = 0;
    loop {
        levels[level] = words;
        if words == 1 {
            return levels;
        }
        words = words.div_ceil(WORD);
        level += 1;
    }
}

/// Returns the number of words in a bitmap of `numbers` bits, including all levels.
pub(super) const fn words(numbers: u32) -> u32 {
    let levels = levels(numbers);
    let (mut sum, mut level) = (0, 0);
    while level < MOST_LEVELS {
        sum += levels[level];
        level += 1;
    }
    sum
}

/// Returns word `index` of a bitmap of `numbers` free bits. Bits beyond `numbers` are set.
pub(super) fn initial(numbers: u32, index: u32) -> u64 {
    let (mut index, mut bits) = (index, numbers);
    for words in levels(numbers) {
        if index < words {
            let used = bits.saturating_sub(index * WORD).min(WORD);
            return if used == WORD { 0 } else { u64::MAX << used };
        }
        index -= words;
        bits = words;
    }
    unreachable!("a bitmap of {numbers} bits has no such word")
}

/// A bitmap of `numbers` bits in [`words`] cells. All access is under the table's lock.
pub(super) struct Bits<'a, H: Host> {
    pub(super) numbers: u32,
    pub(super) cells: &'a [Cell<H, u64>],
}

impl<H: Host> Bits<'_, H> {
    fn read(&self, word: u32) -> u64 {
        // SAFETY: under the table's lock no other thread writes here.
        self.cells[word as usize].with(|bits| unsafe { *bits })
    }

    fn write(&self, word: u32, new: u64) {
        // SAFETY: under the table's lock no other thread accesses this.
        self.cells[word as usize].with_mut(|bits| unsafe { *bits = new });
    }

    /// Returns the lowest free number. There must be one.
    pub(super) fn lowest_free(&self) -> u32 {
        let mut first = self.cells.len() as u32;
        let mut at = 0;
        for words in levels(self.numbers).into_iter().rev() {
            if words > 0 {
                first -= words;
                let free = self.read(first + at).trailing_ones();
                debug_assert!(free < WORD, "a full bitmap is asked for a free number");
                at = at * WORD + free;
            }
        }
        at
    }

    /// Marks a free number as used; returns true if none is free afterwards.
    pub(super) fn mark_used(&self, number: u32) -> bool {
        let (mut at, mut first) = (number, 0);
        for words in levels(self.numbers) {
            if words == 0 {
                break;
            }
            let word = self.read(first + at / WORD) | 1 << (at % WORD);
            self.write(first + at / WORD, word);
            if word != u64::MAX {
                return false;
            }
            (at, first) = (at / WORD, first + words);
        }
        true
    }

    /// Marks a used number as free.
    pub(super) fn mark_free(&self, number: u32) {
        let (mut at, mut first) = (number, 0);
        for words in levels(self.numbers) {
            if words == 0 {
                break;
            }
            let before = self.read(first + at / WORD);
            self.write(first + at / WORD, before & !(1 << (at % WORD)));
            if before != u64::MAX {
                return;
            }
            (at, first) = (at / WORD, first + words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockyard::Native;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    fn check(numbers: u32, operations: u32, seed: u64) {
        let cells: Vec<Cell<Native, u64>> =
            (0..words(numbers)).map(|word| DataCell::new(initial(numbers, word))).collect();
        let bits = Bits::<Native> { numbers, cells: &cells };
        let mut free: BTreeSet<u32> = (0..numbers).collect();
        let mut random = seed;
        for _ in 0..operations {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Numbers are marked used twice as often as freed, so the bitmap fills up.
            let number = (random >> 33) as u32 % numbers;
            if random >> 62 == 0 && free.insert(number) {
                bits.mark_free(number);
            } else if let Some(lowest) = free.pop_first() {
                assert_eq!(bits.lowest_free(), lowest);
                assert_eq!(bits.mark_used(lowest), free.is_empty());
            }
        }
    }

    #[test]
    fn the_lowest_free_number_is_found_at_every_size() {
        for (numbers, operations) in
            [(1, 50), (16, 500), (64, 2_000), (128, 4_000), (4_096, 20_000), (8_192, 40_000)]
        {
            for seed in 1..5 {
                check(numbers, operations, seed);
            }
        }
        assert_eq!(levels(1 << 30), [1 << 24, 1 << 18, 1 << 12, 64, 1]);
        assert_eq!(levels(1 << 13), [128, 2, 1, 0, 0]);
    }
}
