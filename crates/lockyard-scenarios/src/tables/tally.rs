//! What went wrong with a table, counted. It is written only when something does, and read after all tasks have finished, so it is no shared
//! memory of the experiment.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often something went wrong.
#[derive(Debug, Default)]
pub(super) struct Tally(AtomicU64);

impl Tally {
    /// Once more.
    pub(super) fn note(&self) {
        // Relaxed: a number.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// That it never did.
    ///
    /// # Errors
    ///
    /// What `say` makes of how often it did.
    pub(super) fn never(&self, say: impl FnOnce(u64) -> String) -> Result<(), String> {
        // Relaxed: read after all tasks have finished.
        match self.0.load(Ordering::Relaxed) {
            0 => Ok(()),
            often => Err(say(often)),
        }
    }

    /// That it never did, of insertions that were refused.
    ///
    /// # Errors
    ///
    /// How many were.
    pub(super) fn no_refusal(&self) -> Result<(), String> {
        self.never(|refused| format!("refused {refused} insertions: there was no memory"))
    }
}
