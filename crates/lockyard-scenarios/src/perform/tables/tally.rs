//! A count of what went wrong with a table.
//!
//! It is written only when something does, and read after all tasks have finished. So it is no
//! shared memory of the experiment.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of times that something went wrong.
#[derive(Debug, Default)]
pub(super) struct Tally(AtomicU64);

impl Tally {
    /// Counts one more.
    pub(super) fn note(&self) {
        // Relaxed: it is only a number.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Checks that it never happened.
    ///
    /// # Errors
    ///
    /// The message that `say` makes of the number of times.
    pub(super) fn never(&self, say: impl FnOnce(u64) -> String) -> Result<(), String> {
        // Relaxed: read after all tasks have finished.
        match self.0.load(Ordering::Relaxed) {
            0 => Ok(()),
            often => Err(say(often)),
        }
    }

    /// Checks that no insertion was refused.
    ///
    /// # Errors
    ///
    /// The number of refused insertions.
    pub(super) fn no_refusal(&self) -> Result<(), String> {
        self.never(|refused| format!("refused {refused} insertions: there was no memory"))
    }
}
