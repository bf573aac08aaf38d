//! The keyed hash: SipHash, with one round for each word and three at the end.
//!
//! An attacker that chooses addresses and ports must not be able to choose their chain. A table
//! with a known hash becomes slow when all connections fall into one chain. SipHash is designed to
//! prevent that. Its key is the table's [`Seed`], which must stay secret.
//!
//! Source: J.-P. Aumasson and D. J. Bernstein, *SipHash: a fast short-input PRF*, 2012.
//! SipHash-1-3, the variant for hash tables, differs only in its smaller number of rounds.

/// The key of a table's hash: 128 bits that an attacker must not know.
#[derive(Clone, Copy)]
pub struct Seed([u64; 2]);

impl Seed {
    /// Makes a seed of these bits. For repeatable runs any bits will do. A kernel takes them from
    /// its random generator.
    pub const fn new(bits: u128) -> Self {
        Seed([bits as u64, (bits >> 64) as u64])
    }

    /// Makes an unpredictable seed from the standard library's, which comes from the operating
    /// system.
    #[cfg(feature = "std")]
    pub fn random() -> Self {
        use core::hash::BuildHasher;
        let word = || std::hash::RandomState::new().hash_one(0u64);
        Seed([word(), word()])
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

/// Returns SipHash of the bytes of `words`, each word little-endian, with `EACH` rounds per word
/// and `LAST` rounds at the end.
#[inline]
fn sip<const EACH: usize, const LAST: usize>(seed: Seed, words: &[u64]) -> u64 {
    let [k0, k1] = seed.0;
    let mut state = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let length = (words.len() as u64 * 8) << 56;
    for &word in words.iter().chain(&[length]) {
        state[3] ^= word;
        for _ in 0..EACH {
            state = round(state);
        }
        state[0] ^= word;
    }
    state[2] ^= 0xff;
    for _ in 0..LAST {
        state = round(state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

/// Returns the hash of a key's words.
#[inline]
pub(super) fn hash(seed: Seed, words: &[u64; 5]) -> u64 {
    sip::<1, 3>(seed, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::Hasher;

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
        assert_eq!(hash(seed, &words), sip::<1, 3>(seed, &words));
        assert_ne!(hash(seed, &words), hash(Seed::new(17), &words));
    }
}
