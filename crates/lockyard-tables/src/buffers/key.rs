//! Keys of buffers, and the hash of a block.

use crate::seed::HashOf;
use lockyard::platform::mix;

/// A key of a cache's buffers.
pub trait CacheKey: Clone + Eq + Send + Sync {}

impl<Q: Clone + Eq + Send + Sync> CacheKey for Q {}

/// A hasher of a cache's keys: any [`BuildHasher`](core::hash::BuildHasher) that has a default.
#[doc(hidden)]
pub trait Hashes<Q>: HashOf<Q> + Default + Send + Sync {}

impl<Q, B: HashOf<Q> + Default + Send + Sync> Hashes<Q> for B {}

/// The hash of a [block's key](Key), which is public and fast.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockHash;

impl HashOf<Key> for BlockHash {
    const TRUSTED: bool = true;

    #[inline(always)]
    fn hash_of(&self, key: &Key) -> u64 {
        key.hash()
    }
}

/// The source of a block's contents: a block of a group. The caller decides on the meaning of the
/// two numbers. A group is a part that is used independently, such as an allocation group of a file
/// system, or a device. [`TreePerGroup`](super::TreePerGroup) keeps one tree for each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The group.
    pub group: u32,
    /// The block in the group.
    pub block: u64,
}

impl Key {
    /// Makes the key of `block` in `group`.
    pub const fn new(group: u32, block: u64) -> Self {
        Key { group, block }
    }

    /// Returns 64 bits, each of which depends on every bit of the key. The hash function is public:
    /// an attacker that chooses keys can make them share a chain.
    #[inline]
    pub(super) const fn hash(self) -> u64 {
        mix(self.block ^ (self.group as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_blocks_of_neighbouring_groups_have_different_hashes() {
        let keys = (0..64).flat_map(|group| (0..1024).map(move |block| Key::new(group, block)));
        let hashes: std::collections::HashSet<u64> = keys.map(Key::hash).collect();
        assert_eq!(hashes.len(), 64 * 1024);
        // The keys also fall evenly into 256 chains, by the last bits (for a hash of fixed size)
        // and by the first bits (for a growing hash): 256 keys each, with a standard deviation of
        // 16.
        for bits in [|hash| hash % 256, |hash| hash >> 56] {
            let mut chains = [0u32; 256];
            hashes.iter().for_each(|&hash: &u64| chains[bits(hash) as usize] += 1);
            assert!(chains.iter().all(|&n| (256 - 128..256 + 128).contains(&n)), "{chains:?}");
        }
    }

    /// The model checks depend on this order. In a chain sorted by hashes these blocks come in this
    /// order, the first half ends after the first block, and the third quarter after the second.
    #[test]
    fn the_blocks_of_the_model_checks_are_in_the_order_that_they_say() {
        let places = [9, 2, 4, 0].map(|block| Key::new(0, block).hash());
        assert!(places.is_sorted(), "{places:x?}");
        let quarters = places.map(|place| place >> 62);
        assert!(matches!(quarters, [0 | 1, 2, 3, 3]), "{places:x?}");
    }
}
