//! A wanted key, hashed once for all steps of a call.

use super::key::Key;

/// A wanted key, and its hash.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub(super) key: Key,
    pub(super) hash: u64,
}

impl Wanted {
    #[inline(always)]
    pub(super) fn new(key: Key) -> Self {
        Wanted { key, hash: key.hash() }
    }
}
