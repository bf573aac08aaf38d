//! Branch prediction: which outcomes a core expects of compare-exchanges, and the cost of a
//! misprediction.
//!
//! Code branches on the result of a compare-exchange, or of a swap. (A swap fails if it finds its
//! own value, as in a test-and-set.) A core runs ahead along the predicted path. For each place in
//! the code, the predictor uses the last two outcomes there, and predicts what followed them
//! before. This is a two-level adaptive predictor with two outcomes of history and two-bit counters
//! (T.-Y. Yeh and Y. N. Patt, "Two-level adaptive training branch prediction", MICRO-24, 1991), one
//! for each thread. Newer cores predict better, but not on loops as short as these. A misprediction
//! discards the work that was done ahead, and the instructions of the right path arrive `redirect`
//! cycles later.
//!
//! In the model, code that ignores the outcome also pays for an unexpected one. No primitive or
//! script has such code where it matters. Conversely, the model never mispredicts a swap whose code
//! branches on something other than a changed value. The joins of MCS and CLH queues are examples.

use std::panic::Location;

/// Prediction for one place in the code.
#[derive(Clone, Copy, Debug)]
struct Guess {
    /// Place in the source.
    location: &'static Location<'static>,
    /// Last two outcomes; 1 is a success.
    history: u8,
    /// One counter for each history: 2 and 3 predict success.
    counters: [u8; 4],
}

impl Guess {
    fn new(location: &'static Location<'static>) -> Self {
        Guess { location, history: 3, counters: [3; 4] }
    }

    /// Learns an outcome. Returns `true` if it was predicted.
    fn learn(&mut self, success: bool) -> bool {
        let counter = &mut self.counters[usize::from(self.history)];
        let expected = (*counter >= 2) == success;
        *counter = if success { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        self.history = (self.history << 1 | u8::from(success)) & 3;
        expected
    }
}

/// Predictor of a thread's compare-exchanges and swaps, for each place in the code.
#[derive(Debug, Default)]
pub(super) struct Predictor(Vec<Guess>);

impl Predictor {
    /// Learns the outcome of the operation at `location`. Returns `true` if it was mispredicted.
    pub(super) fn learn_outcome(
        &mut self,
        location: &'static Location<'static>,
        success: bool,
    ) -> bool {
        let known = self.0.iter_mut().find(|guess| std::ptr::eq(guess.location, location));
        let guess = match known {
            Some(guess) => guess,
            None => self.named(location),
        };
        !guess.learn(success)
    }

    /// Returns the guess for a place that was not found by its address. The place is new, or it has
    /// a second address. A comparison of its text decides between the two.
    #[cold]
    fn named(&mut self, location: &'static Location<'static>) -> &mut Guess {
        let index = self.0.iter().position(|guess| guess.location == location);
        let index = index.unwrap_or_else(|| {
            self.0.push(Guess::new(location));
            self.0.len() - 1
        });
        let guess = &mut self.0[index];
        guess.location = location;
        guess
    }
}

#[cfg(test)]
mod tests {
    use super::Guess;

    /// Number of `outcomes` that are mispredicted.
    fn mispredictions(outcomes: impl IntoIterator<Item = bool>) -> usize {
        let mut guess = Guess::new(std::panic::Location::caller());
        outcomes.into_iter().filter(|&success| !guess.learn(success)).count()
    }

    #[test]
    fn a_place_that_always_succeeds_is_never_mispredicted() {
        assert_eq!(mispredictions([true; 100]), 0);
    }

    #[test]
    fn a_place_that_always_fails_is_soon_expected_to() {
        assert_eq!(mispredictions([false; 100]), 4);
    }

    #[test]
    fn failure_and_success_by_turns_are_learnt() {
        let turns = |n: usize| (0..n).map(|i| i % 2 == 1);
        assert_eq!(mispredictions(turns(100)), mispredictions(turns(1000)));
    }

    #[test]
    fn one_failure_among_many_successes_is_a_surprise_and_what_follows_is_not() {
        assert_eq!(mispredictions((0..100).map(|i| i != 50)), 1);
    }
}
