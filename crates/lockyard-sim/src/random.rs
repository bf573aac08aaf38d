//! Random numbers that are the same on every host, from a published generator with a fixed
//! algorithm.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns a number from 0 to `n - 1`; 0 if `n` is 0. The bias is below `n / 2^64`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        if n <= 1 {
            return 0;
        }
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }
}
