//! Counts of the compare-exchanges in a script's steps.

/// Compare-exchanges of a script's own steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchanges {
    /// Number of exchanges that replaced the value.
    pub succeeded: u64,
    /// Number of exchanges that found an unexpected value.
    pub failed: u64,
}

impl Exchanges {
    /// Adds the compare-exchanges of `other`.
    pub fn add(&mut self, other: Exchanges) {
        self.succeeded += other.succeeded;
        self.failed += other.failed;
    }
}
