//! The size of a table and the key of its hash. Both are chosen before the first use.

use core::fmt;
use core::mem::ManuallyDrop;
use core::str::FromStr;

/// Binary logarithm of the number of buckets: from [`Bits::MIN`] to [`Bits::MAX`].
///
/// ```
/// use lockyard_tables::connections::Bits;
///
/// assert_eq!(Bits::DEFAULT.buckets(), 4096);
/// assert_eq!("20".parse::<Bits>()?.buckets(), 1 << 20);
/// assert_eq!(Bits::new(28).unwrap_err().to_string(), "`bits` is 28: it must be from 1 to 27");
/// assert_eq!(
///     "many".parse::<Bits>().unwrap_err().to_string(),
///     "`bits` is not a whole number: it must be from 1 to 27"
/// );
/// # Ok::<(), lockyard_tables::connections::BitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bits(u32);

impl Bits {
    /// 2 buckets.
    pub const MIN: Bits = Bits(1);
    /// 2^27 buckets, which take 2 GiB.
    pub const MAX: Bits = Bits(27);
    /// 4,096 buckets, which take 64 KiB. Enough for some thousand connections. With a million, 244
    /// share a chain.
    pub const DEFAULT: Bits = Bits(12);

    /// Returns `bits`, if it is in range. The function is `const`, so a default can be set at
    /// compile time.
    ///
    /// # Errors
    ///
    /// Fails if `bits` is out of range; the error names the range.
    pub const fn new(bits: u32) -> Result<Bits, BitsError> {
        if Bits::MIN.0 <= bits && bits <= Bits::MAX.0 {
            Ok(Bits(bits))
        } else {
            Err(BitsError { given: Some(bits) })
        }
    }

    /// Returns the number of bits.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Number of buckets.
    pub const fn buckets(self) -> usize {
        1 << self.0
    }

    /// Returns the smallest number of bits with which `connections` entries are at most one per
    /// bucket on average. Returns [`Bits::MAX`] if no number is enough.
    pub const fn for_connections(connections: usize) -> Bits {
        let mut bits = Bits::MIN.0;
        while bits < Bits::MAX.0 && (1usize << bits) < connections {
            bits += 1;
        }
        Bits(bits)
    }
}

impl TryFrom<u32> for Bits {
    type Error = BitsError;
    fn try_from(bits: u32) -> Result<Bits, BitsError> {
        Bits::new(bits)
    }
}

/// For configuration files and command lines: a decimal number in range.
impl FromStr for Bits {
    type Err = BitsError;
    fn from_str(text: &str) -> Result<Bits, BitsError> {
        text.trim().parse().map_err(|_| BitsError { given: None }).and_then(Bits::new)
    }
}

/// Error: a table cannot have this number of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitsError {
    /// `None` if the text was not a number, or was a number beyond 2^32.
    given: Option<u32>,
}

impl fmt::Display for BitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.given {
            Some(bits) => write!(f, "`bits` is {bits}")?,
            None => write!(f, "`bits` is not a whole number")?,
        }
        write!(f, ": it must be from {} to {}", Bits::MIN.0, Bits::MAX.0)
    }
}

impl core::error::Error for BitsError {}

/// Error: the choice came after the table's first insertion, when its buckets were already fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyInUse {
    /// The table's bits.
    pub bits: Bits,
}

impl fmt::Display for AlreadyInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the table is in use with {} bits: choose them before the first insertion",
            self.bits.0
        )
    }
}

impl core::error::Error for AlreadyInUse {}

/// The choices from which a table's buckets are created.
#[derive(Debug)]
pub(super) struct Configuration<S> {
    pub bits: Bits,
    /// The table drops the hasher, unless there are buckets: the hasher has then moved to the
    /// buckets.
    pub hasher: ManuallyDrop<Hasher<S>>,
}

/// The hasher of a table whose buckets do not exist yet.
#[derive(Debug)]
pub(super) enum Hasher<S> {
    /// This function makes it.
    Default(fn() -> S),
    Given(S),
}

impl<S> Configuration<S> {
    pub(super) const fn new(bits: Bits, hasher: Hasher<S>) -> Self {
        Configuration { bits, hasher: ManuallyDrop::new(hasher) }
    }

    /// Returns the function that makes the hasher, if no hasher was given.
    pub(super) fn default(&self) -> Option<fn() -> S> {
        match *self.hasher {
            Hasher::Default(make) => Some(make),
            Hasher::Given(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn bits_out_of_range_are_refused_with_the_range() {
        for wrong in [0, 28, 64, u32::MAX] {
            let error = Bits::new(wrong).unwrap_err().to_string();
            assert!(error.contains("from 1 to 27") && error.contains(&wrong.to_string()));
            assert_eq!(Bits::try_from(wrong).unwrap_err().to_string(), error);
            assert_eq!(wrong.to_string().parse::<Bits>().unwrap_err().to_string(), error);
        }
        for wrong in ["", "-1", "1.5", "0x10", "99999999999999999999", "12 bits", "\u{661}"] {
            let error = wrong.parse::<Bits>().unwrap_err().to_string();
            assert!(error.contains("not a whole number: it must be from 1 to 27"), "{wrong}");
        }
        for right in Bits::MIN.0..=Bits::MAX.0 {
            assert_eq!(right.to_string().parse(), Ok(Bits(right)));
        }
        assert_eq!(" 14\n".parse(), Ok(Bits(14)));
    }

    #[test]
    fn bits_for_a_number_of_connections_are_enough() {
        for (connections, bits) in
            [(0, 1), (2, 1), (3, 2), (4096, 12), (1_000_000, 20), (usize::MAX, 27)]
        {
            assert_eq!(Bits::for_connections(connections).get(), bits, "{connections}");
        }
    }
}
