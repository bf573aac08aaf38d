//! Order in which cells are measured: once per round, shuffled for each round. A slow minute of the
//! host then affects all cells, and no cell always follows the same other cell.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Seed of the shuffles. Any value works; fixing it makes runs reproducible.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Generator of a random order for each round.
#[derive(Clone, Debug)]
pub struct Orders {
    order: Vec<usize>,
    random: Xoshiro256PlusPlus,
}

impl Orders {
    /// Creates orders for this many cells.
    pub fn new(cells: usize) -> Orders {
        Orders { order: (0..cells).collect(), random: Xoshiro256PlusPlus::seed_from_u64(SEED) }
    }

    /// Returns the order of the next round. All permutations are equally likely (R. Durstenfeld,
    /// *Algorithm 235: Random permutation*, 1964).
    pub fn next_round(&mut self) -> &[usize] {
        for i in (1..self.order.len()).rev() {
            let below = i as u128 + 1;
            let chosen = ((u128::from(self.random.next_u64()) * below) >> 64) as usize;
            self.order.swap(i, chosen);
        }
        &self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_each_cell_once() {
        let mut orders = Orders::new(12);
        for _ in 0..100 {
            let mut order = orders.next_round().to_vec();
            order.sort_unstable();
            assert_eq!(order, (0..12).collect::<Vec<_>>());
        }
        assert!(Orders::new(0).next_round().is_empty());
    }

    #[test]
    fn every_cell_comes_at_every_place_and_after_every_other() {
        const CELLS: usize = 5;
        const ROUNDS: usize = 4000;
        let (mut at, mut after) = ([[0u32; CELLS]; CELLS], [[0u32; CELLS]; CELLS]);
        let mut orders = Orders::new(CELLS);
        for _ in 0..ROUNDS {
            let order = orders.next_round();
            for (place, &cell) in order.iter().enumerate() {
                at[cell][place] += 1;
            }
            for pair in order.windows(2) {
                after[pair[1]][pair[0]] += 1;
            }
        }
        // Expected: a fifth of 4000 each, and 126 is five standard deviations. The seed is fixed.
        let near = |&count: &u32| count.abs_diff(800) < 127;
        assert!(at.iter().flatten().all(near), "{at:?}");
        // Expected: each of the 20 pairs equally often, 4 neighbours x 4000 / 20 times.
        let pairs = after.iter().enumerate().flat_map(|(a, row)| {
            row.iter().enumerate().filter(move |(b, _)| a != *b).map(|(_, count)| *count)
        });
        assert!(pairs.clone().all(|count| near(&count)), "{after:?}");
    }
}
