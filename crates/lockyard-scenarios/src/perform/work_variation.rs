//! Random numbers of a task: factors for the local work of its operations, and random keys.
//!
//! Tasks whose operations all take the same time fall into lockstep. A first-come, first-served
//! lock then keeps the initial order of the tasks for ever. The distances of its hand-overs would
//! say more about that order than about the lock.

use super::random::SplitMix;

/// Random numbers of one task.
#[derive(Debug)]
pub(super) struct TaskNumbers(SplitMix);

impl TaskNumbers {
    /// Returns the random numbers of task `task` in a run with this seed.
    pub(super) fn new(seed: u64, task: u64) -> Self {
        // Neighbouring seeds and tasks have unrelated states.
        let begin = SplitMix(seed).next();
        TaskNumbers(SplitMix(begin ^ task.wrapping_mul(0xd1b5_4a32_d192_ed03)))
    }

    /// Returns a number from 0 to `n - 1`; `n` is not 0.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// Returns a number from 0 to 1, without 1.
    pub(super) fn uniform(&mut self) -> f64 {
        (self.0.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number, at most 37, from the exponential distribution with mean 1.
    pub(super) fn exponential(&mut self) -> f64 {
        // Greater than 0 and at most 1, in steps of 2^-53.
        let uniform = ((self.0.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        -libm::log(uniform)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::LARGEST_FACTOR;

    fn sample(seed: u64, task: u64) -> Vec<f64> {
        let mut numbers = TaskNumbers::new(seed, task);
        (0..10_000).map(|_| numbers.exponential()).collect()
    }

    #[test]
    fn the_numbers_of_a_task_are_exponential_with_mean_one() {
        for (seed, task) in [(0, 0), (1, 0), (1, 39)] {
            let numbers = sample(seed, task);
            let count = numbers.len() as f64;
            let mean = numbers.iter().sum::<f64>() / count;
            let above = |x: f64| numbers.iter().filter(|n| **n > x).count() as f64 / count;
            assert!((mean - 1.0).abs() < 0.03, "{mean}");
            assert!((above(1.0) - (-1f64).exp()).abs() < 0.015, "{}", above(1.0));
            assert!((above(3.0) - (-3f64).exp()).abs() < 0.01, "{}", above(3.0));
            assert!(numbers.iter().all(|n| (0.0..=LARGEST_FACTOR).contains(n)));
        }
    }

    #[test]
    fn the_numbers_are_the_same_bits_on_every_platform() {
        // With `f64::ln`, several of these numbers differ in their last bit on one platform.
        let bits = sample(1, 0).into_iter().fold(0, |all: u64, n| all.rotate_left(1) ^ n.to_bits());
        assert_eq!(bits, 0xc415_2f25_0863_3a1a);
    }

    #[test]
    fn the_same_task_of_the_same_run_draws_the_same_and_no_other_does() {
        assert_eq!(sample(1, 2), sample(1, 2));
        assert_ne!(sample(1, 2)[..8], sample(1, 3)[..8]);
        assert_ne!(sample(1, 2)[..8], sample(2, 2)[..8]);
    }
}
