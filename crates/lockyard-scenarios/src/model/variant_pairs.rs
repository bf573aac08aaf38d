//! Pairs of variants that a published table is about: the change from one to the other counts.

/// Two variants. A prediction of the table is also compared by the change from first to second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantPair {
    /// The variant from which the change is counted.
    pub first: String,
    /// The variant to which it is counted.
    pub second: String,
}
