//! How a core guesses whether a compare-exchange succeeds, and what a wrong guess costs.
//!
//! Code branches on the result of a compare-exchange (or of a swap, which fails if it finds its own value, as a test-and-set does), and
//! a core runs ahead of the branch on the way that it expects. It expects of a place in the code what followed the same two last
//! outcomes there: a two-level adaptive predictor with two outcomes of history and counters of two bits (T.-Y. Yeh and Y. N. Patt,
//! "Two-level adaptive training branch prediction", MICRO-24, 1991), one for each thread. Later cores do better, but no worse on loops
//! as short as these. After a wrong guess what was done ahead is void, and the instructions on the right way come `redirect` cycles
//! later.
//!
//! Code that does not look at the outcome pays all the same if it was not the expected one; no primitive or script does that where it
//! counts. And a swap whose code branches on something else than whether it found another value (the joins of MCS and CLH queues) is never
//! guessed wrongly.

use super::Engine;
use std::panic::Location;

/// What a thread's core expects at a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guess {
    /// The place.
    location: &'static Location<'static>,
    /// The last two outcomes; 1: success.
    history: u8,
    /// After each history: 2 and 3 expect success.
    counters: [u8; 4],
}

impl Guess {
    fn new(location: &'static Location<'static>) -> Self {
        Guess { location, history: 3, counters: [3; 4] }
    }

    /// Learns that the outcome was `success`; whether it was expected.
    fn learns(&mut self, success: bool) -> bool {
        let counter = &mut self.counters[usize::from(self.history)];
        let expected = (*counter >= 2) == success;
        *counter = if success { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        self.history = (self.history << 1 | u8::from(success)) & 3;
        expected
    }
}

impl Engine {
    /// The outcome of the thread's compare-exchange or swap is known: whether its core had guessed wrongly.
    pub(super) fn guesses_wrongly(&mut self, thread: u32, success: bool) -> bool {
        let entry = &mut self.threads[thread as usize];
        let location = entry.location.expect("an operation has a place");
        let guesses = &mut entry.guesses;
        let known = guesses.iter_mut().find(|guess| std::ptr::eq(guess.location, location));
        let guess = match known {
            Some(guess) => guess,
            None => named(&mut entry.guesses, location),
        };
        !guess.learns(success)
    }
}

/// The guess for a place that is not found by its address: made, unless it has another address too. Then the text tells.
#[cold]
fn named<'a>(guesses: &'a mut Vec<Guess>, location: &'static Location<'static>) -> &'a mut Guess {
    let index = guesses.iter().position(|guess| guess.location == location);
    let index = index.unwrap_or_else(|| {
        guesses.push(Guess::new(location));
        guesses.len() - 1
    });
    let guess = &mut guesses[index];
    guess.location = location;
    guess
}

#[cfg(test)]
mod tests {
    use super::Guess;

    /// How many of `outcomes` are guessed wrongly.
    fn wrong(outcomes: impl IntoIterator<Item = bool>) -> usize {
        let mut guess = Guess::new(std::panic::Location::caller());
        outcomes.into_iter().filter(|&success| !guess.learns(success)).count()
    }

    #[test]
    fn a_place_that_always_succeeds_is_never_guessed_wrongly() {
        assert_eq!(wrong([true; 100]), 0);
    }

    #[test]
    fn a_place_that_always_fails_is_soon_expected_to() {
        assert_eq!(wrong([false; 100]), 4);
    }

    #[test]
    fn failure_and_success_by_turns_are_learnt() {
        let turns = |n: usize| (0..n).map(|i| i % 2 == 1);
        assert_eq!(wrong(turns(100)), wrong(turns(1000)));
    }

    #[test]
    fn one_failure_among_many_successes_is_a_surprise_and_what_follows_is_not() {
        assert_eq!(wrong((0..100).map(|i| i != 50)), 1);
    }
}
