//! Failure streaks: compare-exchanges of a line that a thread loses in a row.
//!
//! A compare-exchange loop may have a bound on retries, like a lockref's loop. The bound is reached
//! too rarely to be seen in a simulated millisecond. The counts of shorter streaks allow an
//! estimate of how often the bound is reached. A streak ends with the thread's next successful
//! compare-exchange of the line. If the thread moves to another line first, the streak is dropped.

/// Streaks of at least this length are counted together.
const LONGEST: usize = 128;

/// Successful compare-exchanges of one line, by the length of the streak before each.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailureStreaks {
    at_once: u64,
    /// Counts after 1, 2, ... failures. Allocated at the first failure: most lines of a large table
    /// have none.
    after: Option<Box<[u64; LONGEST]>>,
}

impl FailureStreaks {
    /// Counts a success after `failures` lost compare-exchanges in a row.
    pub(crate) fn count(&mut self, failures: u32) {
        match (failures as usize).checked_sub(1) {
            None => self.at_once += 1,
            Some(more) => {
                self.after.get_or_insert_with(|| Box::new([0; LONGEST]))[more.min(LONGEST - 1)] += 1
            }
        }
    }

    /// Number of successes after 0, 1, ... failures.
    pub(crate) fn counts(&self) -> Vec<u64> {
        std::iter::once(self.at_once)
            .chain(self.after.iter().flat_map(|after| after.iter().copied()))
            .collect()
    }
}

/// Number of compare-exchanges of one line that a thread has lost since its last success.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Streak {
    line: u32,
    failures: u32,
}

impl Streak {
    /// Adds a failed compare-exchange of `line`.
    pub(crate) fn extend(&mut self, line: u32) {
        if self.line != line {
            *self = Streak { line, failures: 0 };
        }
        self.failures = self.failures.saturating_add(1);
    }

    /// Ends the streak after a successful compare-exchange of `line`. Returns the number of
    /// failures before it.
    pub(crate) fn end(&mut self, line: u32) -> u32 {
        let streak = std::mem::take(self);
        if streak.line == line { streak.failures } else { 0 }
    }
}
