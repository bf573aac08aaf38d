//! Pairs of variants that a published table compares.

/// Two variants. The predicted change from the first to the second is also compared with the
/// published change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantPair {
    /// Variant from which the change is counted.
    pub first: String,
    /// Variant to which the change is counted.
    pub second: String,
}
