//! Counts of faults in a table.
//!
//! A count is written only when a fault occurs, and is read after all tasks have finished. So it
//! adds no traffic to the experiment's shared memory.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of faults of one kind.
#[derive(Debug, Default)]
pub(super) struct Tally(AtomicU64);

impl Tally {
    /// Counts one more fault.
    pub(super) fn note(&self) {
        // Relaxed: the count publishes no other memory.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Checks that no fault occurred.
    ///
    /// # Errors
    ///
    /// The message that `say` makes from the number of faults.
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
