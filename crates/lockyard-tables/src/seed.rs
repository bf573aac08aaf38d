//! The keyed hash: SipHash, with one round for each word and three at the end.
//!
//! An attacker that chooses keys must not be able to choose their chain. A table with a known hash
//! becomes slow when all keys fall into one chain. SipHash is designed to
//! prevent that. Its key is the table's [`Seed`], which must stay secret.
//!
//! A [`Seed`] is also a [`BuildHasher`], so any key can be hashed with it.
//!
//! Source: J.-P. Aumasson and D. J. Bernstein, *SipHash: a fast short-input PRF*, 2012.
//! SipHash-1-3, the variant for hash tables, differs only in its smaller number of rounds.

use core::hash::{BuildHasher, Hash, Hasher};

/// The hash of a key, by the hasher of a table. Buckets are selected by its first or last bits.
#[doc(hidden)]
pub trait HashOf<K: ?Sized> {
    /// True if equal keys certainly have equal hashes, and a key always has the same hash. A
    /// caller's code may violate both.
    const TRUSTED: bool = false;

    fn hash_of(&self, key: &K) -> u64;
}

/// Any hasher will do, even if some bits of its hash do not depend on every bit of the key.
impl<K: Hash + ?Sized, S: BuildHasher> HashOf<K> for S {
    #[inline(always)]
    fn hash_of(&self, key: &K) -> u64 {
        let product = u128::from(self.hash_one(key)) * 0x9e37_79b9_7f4a_7c15;
        product as u64 ^ (product >> 64) as u64
    }
}

/// The key of a table's hash: 128 bits that an attacker must not know.
#[derive(Clone, Copy)]
pub struct Seed([u64; 2]);

impl Seed {
    /// Makes a seed of these bits. For repeatable runs any bits will do. A kernel takes them from
    /// its random generator.
    pub const fn new(bits: u128) -> Self {
        Seed([bits as u64, (bits >> 64) as u64])
    }

    /// Makes an unpredictable seed from the standard library's random state, which comes from the
    /// operating system.
    #[cfg(feature = "std")]
    pub fn random() -> Self {
        let word = || std::hash::RandomState::new().hash_one(0u64);
        Seed([word(), word()])
    }
}

/// An [unpredictable](Seed::random) seed. Without the feature `std` a fixed seed, which gives no
/// protection.
impl Default for Seed {
    fn default() -> Self {
        #[cfg(feature = "std")]
        return Seed::random();
        #[cfg(not(feature = "std"))]
        Seed::new(0)
    }
}

impl BuildHasher for Seed {
    type Hasher = SeededHasher;

    #[inline]
    fn build_hasher(&self) -> SeededHasher {
        SeededHasher { state: initial(*self), tail: 0, filled: 0, length: 0 }
    }
}

/// SipHash-1-3 of everything that is written to it. Made by a [`Seed`].
#[derive(Clone)]
pub struct SeededHasher {
    state: [u64; 4],
    /// Bytes that do not fill a word yet.
    tail: u64,
    /// Number of these bytes.
    filled: usize,
    length: usize,
}

impl SeededHasher {
    /// Writes `bytes` bytes, from 1 to 8, the lowest first. The others are 0.
    #[inline(always)]
    fn write_bytes(&mut self, word: u64, bytes: usize) {
        let before = self.filled;
        self.length = self.length.wrapping_add(bytes);
        self.tail |= word << (8 * before);
        self.filled += bytes;
        if self.filled >= 8 {
            self.state = absorb::<1>(self.state, self.tail);
            self.filled -= 8;
            self.tail = if before == 0 { 0 } else { word >> (64 - 8 * before) };
        }
    }
}

impl Hasher for SeededHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_bytes(u64::from_le_bytes(*word), 8));
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.write_bytes(u64::from_le_bytes(word), rest.len());
        }
    }
    #[inline(always)]
    fn write_u8(&mut self, n: u8) {
        self.write_bytes(n.into(), 1);
    }
    #[inline(always)]
    fn write_u16(&mut self, n: u16) {
        self.write_bytes(n.into(), 2);
    }
    #[inline(always)]
    fn write_u32(&mut self, n: u32) {
        self.write_bytes(n.into(), 4);
    }
    #[inline(always)]
    fn write_u64(&mut self, n: u64) {
        self.write_bytes(n, 8);
    }
    #[inline(always)]
    fn write_usize(&mut self, n: usize) {
        self.write_bytes(n as u64, size_of::<usize>());
    }
    #[inline(always)]
    fn finish(&self) -> u64 {
        finish::<1, 3>(self.state, self.tail | (self.length as u64) << 56)
    }
}

/// Its state depends on the seed, which is secret.
impl core::fmt::Debug for SeededHasher {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("SeededHasher(..)")
    }
}

/// A seed is secret, so it is not printed.
impl core::fmt::Debug for Seed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Seed(..)")
    }
}

#[inline(always)]
fn round([mut a, mut b, mut c, mut d]: [u64; 4]) -> [u64; 4] {
    a = a.wrapping_add(b);
    c = c.wrapping_add(d);
    b = b.rotate_left(13) ^ a;
    d = d.rotate_left(16) ^ c;
    a = a.rotate_left(32).wrapping_add(d);
    c = c.wrapping_add(b);
    d = d.rotate_left(21) ^ a;
    b = b.rotate_left(17) ^ c;
    [a, b, c.rotate_left(32), d]
}

#[inline(always)]
fn initial(Seed([k0, k1]): Seed) -> [u64; 4] {
    [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ]
}

#[inline(always)]
fn absorb<const EACH: usize>(mut state: [u64; 4], word: u64) -> [u64; 4] {
    state[3] ^= word;
    for _ in 0..EACH {
        state = round(state);
    }
    state[0] ^= word;
    state
}

/// Returns the hash, given the last word.
#[inline(always)]
fn finish<const EACH: usize, const LAST: usize>(state: [u64; 4], word: u64) -> u64 {
    let mut state = absorb::<EACH>(state, word);
    state[2] ^= 0xff;
    for _ in 0..LAST {
        state = round(state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

/// Returns SipHash of the bytes of `words`, each word little-endian, with `EACH` rounds per word
/// and `LAST` rounds at the end.
#[inline]
pub(crate) fn sip<const EACH: usize, const LAST: usize>(seed: Seed, words: &[u64]) -> u64 {
    let state = words.iter().fold(initial(seed), |state, &word| absorb::<EACH>(state, word));
    finish::<EACH, LAST>(state, (words.len() as u64 * 8) << 56)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors from appendix A of the paper: the key is bytes 0 to 15, the message bytes 0, 1,
    /// 2, ...
    #[test]
    fn it_is_siphash_of_the_paper() {
        let seed = Seed::new(u128::from_le_bytes(core::array::from_fn(|i| i as u8)));
        let word = |i: usize| u64::from_le_bytes(core::array::from_fn(|j| (8 * i + j) as u8));
        assert_eq!(sip::<2, 4>(seed, &[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(sip::<2, 4>(seed, &[word(0)]), 0x93f5_f579_9a93_2462);
    }

    #[test]
    #[allow(deprecated)] // the only SipHash of `core` with a key
    fn it_is_the_standard_librarys() {
        let words = [1, u64::MAX, 0x0123_4567_89ab_cdef, 42, 1 << 63];
        let seed = Seed([17, 0xfeed_face_cafe_beef]);
        let mut theirs = core::hash::SipHasher::new_with_keys(seed.0[0], seed.0[1]);
        words.iter().for_each(|word| theirs.write(&word.to_le_bytes()));
        assert_eq!(sip::<2, 4>(seed, &words), theirs.finish());
        assert_ne!(sip::<1, 3>(seed, &words), sip::<1, 3>(Seed::new(17), &words));
    }

    /// However writes are split, the hash is the hash of all the bytes.
    #[test]
    fn what_is_written_in_pieces_is_hashed_as_a_whole() {
        let seed = Seed([3, 0xfeed_face_cafe_beef]);
        let bytes: std::vec::Vec<u8> = (0..=255).map(|i: u8| i.wrapping_mul(151)).collect();
        for length in 0..=64 {
            let mut whole = seed.build_hasher();
            whole.write(&bytes[..length]);
            if length % 8 == 0 {
                let words: std::vec::Vec<u64> = bytes[..length]
                    .chunks(8)
                    .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
                    .collect();
                assert_eq!(whole.finish(), sip::<1, 3>(seed, &words));
            }
            for first in 0..=length {
                let mut pieces = seed.build_hasher();
                pieces.write(&bytes[..first]);
                for &byte in &bytes[first..length] {
                    pieces.write_u8(byte);
                }
                assert_eq!(pieces.finish(), whole.finish(), "{first} of {length} bytes at once");
            }
        }
        let (mut numbers, mut whole) = (seed.build_hasher(), seed.build_hasher());
        numbers.write_u16(0x201);
        numbers.write_u32(0x605_0403);
        numbers.write_u64(0x0e0d_0c0b_0a09_0807);
        whole.write(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
        assert_eq!(numbers.finish(), whole.finish());
    }
}
