//! A wanted key, hashed once for all steps of a call.

/// A wanted key, and its hash.
#[doc(hidden)]
#[derive(Debug)]
pub struct Wanted<'q, Q> {
    pub(super) key: &'q Q,
    pub(super) hash: u64,
}
