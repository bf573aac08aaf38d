//! A wanted key with its hash, which all steps of a search share.

/// A wanted key, and its hash.
#[doc(hidden)]
#[derive(Debug)]
pub struct Wanted<'q, Q> {
    pub(super) key: &'q Q,
    pub(super) hash: u64,
}
