//! The numbers by which the local work of a task's operations differs. Tasks whose operations all take the same time fall into
//! step: a lock that serves in the order of arrival then keeps the order in which they began for ever, and how far it is handed
//! over says more about that order than about the lock.
//!
//! The generator is ours, so that results do not change with a library's version.

/// The next number of SplitMix64 (public domain; Steele, Lea and Flood, OOPSLA 2014).
pub(crate) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The numbers of one task.
#[derive(Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    /// Of the task with this number, in a run with this seed.
    pub(crate) fn new(seed: u64, task: u64) -> Self {
        let mut draws = Draws(seed);
        // A state that neighbouring seeds and tasks do not share a part of.
        let begin = draws.next();
        Draws(begin ^ task.wrapping_mul(0xd1b5_4a32_d192_ed03))
    }

    fn next(&mut self) -> u64 {
        split_mix(&mut self.0)
    }

    /// A number from 0 to `n - 1`; `n` is not 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        // The high half of the product is below `n`; the bias is beyond counting.
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// A number of the exponential distribution with mean 1; at most 37.
    pub(crate) fn exponential(&mut self) -> f64 {
        // Above 0, at most 1, in steps of 2^-53.
        let uniform = ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        -uniform.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(seed: u64, task: u64) -> Vec<f64> {
        let mut draws = Draws::new(seed, task);
        (0..10_000).map(|_| draws.exponential()).collect()
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
            assert!(numbers.iter().all(|n| (0.0..=37.0).contains(n)));
        }
    }

    #[test]
    fn the_same_task_of_the_same_run_draws_the_same_and_no_other_does() {
        assert_eq!(sample(1, 2), sample(1, 2));
        assert_ne!(sample(1, 2)[..8], sample(1, 3)[..8]);
        assert_ne!(sample(1, 2)[..8], sample(2, 2)[..8]);
    }
}
