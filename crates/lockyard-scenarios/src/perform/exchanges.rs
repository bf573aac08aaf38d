//! Count of the compare-exchanges that a script's steps do.

/// Compare-exchanges of a script's own steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchanges {
    /// Number of those that replaced the value.
    pub succeeded: u64,
    /// Number of those that found another value than they expected.
    pub failed: u64,
}

impl Exchanges {
    /// Adds the compare-exchanges of `other`.
    pub fn add(&mut self, other: Exchanges) {
        self.succeeded += other.succeeded;
        self.failed += other.failed;
    }
}
