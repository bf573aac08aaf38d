//! Pairs of variants that a published table compares.

/// Two variants. The predicted change from first to second is also compared with the published one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantPair {
    /// The variant from which the change is counted.
    pub first: String,
    /// The variant to which the change is counted.
    pub second: String,
}
