//! Branch prediction: the outcomes that a core expects of compare-exchanges, and the cost of a
//! misprediction.
//!
//! Code branches on the result of a compare-exchange, or of a swap. (A swap fails if it finds its
//! own value, as a test-and-set does.) A core runs ahead of the branch on the way that it predicts.
//! At each place in the code it predicts what followed the same two last outcomes there. This is a
//! two-level adaptive predictor with two outcomes of history and two-bit counters (T.-Y. Yeh and Y.
//! N. Patt, "Two-level adaptive training branch prediction", MICRO-24, 1991), one for each thread.
//! Later cores do better, but no better on loops as short as these. A misprediction discards the
//! work that was done ahead, and the instructions on the right way come `redirect` cycles later.
//!
//! Code that ignores the outcome pays all the same for an unexpected one. No primitive or script
//! does that where it counts. A swap is never mispredicted if its code branches on something else
//! than a changed value, as the joins of MCS and CLH queues do.

use std::panic::Location;

/// The prediction for one place in the code.
#[derive(Clone, Copy, Debug)]
struct Guess {
    /// The place.
    location: &'static Location<'static>,
    /// The last two outcomes; 1: success.
    history: u8,
    /// One counter for each history: 2 and 3 predict success.
    counters: [u8; 4],
}

impl Guess {
    fn new(location: &'static Location<'static>) -> Self {
        Guess { location, history: 3, counters: [3; 4] }
    }

    /// Learns the outcome. Returns `true` if it was predicted.
    fn learn(&mut self, success: bool) -> bool {
        let counter = &mut self.counters[usize::from(self.history)];
        let expected = (*counter >= 2) == success;
        *counter = if success { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        self.history = (self.history << 1 | u8::from(success)) & 3;
        expected
    }
}

/// Predicts the outcomes of a thread's compare-exchanges and swaps, place by place in the code.
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

    /// The guess for a place that is not found by its address. It is new, or it has another address
    /// too: the text tells.
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
