//! The hash of a connection: SipHash of the words of its key, by the table's [`Seed`].

use super::key::StoredKey;
use crate::seed::{HashOf, Seed, sip};

impl HashOf<StoredKey> for Seed {
    #[inline(always)]
    fn hash_of(&self, key: &StoredKey) -> u64 {
        hash(*self, key.key().words())
    }
}

/// Returns the hash of a key's words.
#[inline]
pub(super) fn hash(seed: Seed, words: &[u64; 5]) -> u64 {
    sip::<1, 3>(seed, words)
}
