//! Streaks of failures: compare-exchanges of a line that a thread loses in a row.
//!
//! A loop of compare-exchanges may have a bound, as a lockref's has. The bound is reached too
//! seldom to be seen in a simulated millisecond. The number of times that the loop comes part of
//! the way tells how often that is. A streak ends with the thread's next compare-exchange of the
//! line that succeeds. It is forgotten if the thread changes to another line before.

/// Streaks of this length or more are counted together.
const LONGEST: usize = 128;

/// Compare-exchanges of one line that succeeded, by the length of the streak before each.
#[derive(Clone, Debug, Default)]
pub(crate) struct FailureStreaks {
    at_once: u64,
    /// After 1, 2, ... failures. Allocated at the first one: most lines of a large table have none.
    after: Option<Box<[u64; LONGEST]>>,
}

impl FailureStreaks {
    /// Counts a compare-exchange that succeeded after `failures` in a row.
    pub(crate) fn count(&mut self, failures: u32) {
        match (failures as usize).checked_sub(1) {
            None => self.at_once += 1,
            Some(more) => {
                self.after.get_or_insert_with(|| Box::new([0; LONGEST]))[more.min(LONGEST - 1)] += 1
            }
        }
    }

    /// Number of compare-exchanges that succeeded after 0, 1, ... failures.
    pub(crate) fn counts(&self) -> Vec<u64> {
        std::iter::once(self.at_once)
            .chain(self.after.iter().flat_map(|after| after.iter().copied()))
            .collect()
    }
}

/// The compare-exchanges that a thread has lost since its last success, all of one line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Streak {
    line: u32,
    failures: u32,
}

impl Streak {
    /// Adds a compare-exchange of `line` that failed.
    pub(crate) fn extend(&mut self, line: u32) {
        if self.line != line {
            *self = Streak { line, failures: 0 };
        }
        self.failures = self.failures.saturating_add(1);
    }

    /// Ends the streak: a compare-exchange of `line` succeeded. Returns the failures before it.
    pub(crate) fn end(&mut self, line: u32) -> u32 {
        let streak = std::mem::take(self);
        if streak.line == line { streak.failures } else { 0 }
    }
}
