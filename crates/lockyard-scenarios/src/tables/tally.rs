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

    /// How often.
    pub(super) fn count(&self) -> u64 {
        // Relaxed: read after all tasks have finished.
        self.0.load(Ordering::Relaxed)
    }
}
