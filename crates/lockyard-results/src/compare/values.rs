//! Numbers and texts of result files, with size limits. The limits are checked during parsing. So
//! an error names its line, and no oversized value is ever stored.

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Unexpected, Visitor};
use std::fmt::{Formatter, Result as Format};
use std::marker::PhantomData;

/// Maximum size of a text in bytes.
pub const MAX_TEXT_BYTES: usize = 200;
/// Maximum size of a remark for the reader in bytes.
pub const MAX_REMARK_BYTES: usize = 4000;
/// Maximum value of a number.
pub const MAX_NUMBER: f64 = 1e18;

/// A name: a text of at most `LIMIT` bytes without control characters. `LIMIT` is
/// [`MAX_TEXT_BYTES`] by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<const LIMIT: usize = MAX_TEXT_BYTES>(pub String);

impl<'de, const LIMIT: usize> Deserialize<'de> for Text<LIMIT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of<const LIMIT: usize>;
        impl<const LIMIT: usize> Visitor<'_> for Of<LIMIT> {
            type Value = Text<LIMIT>;
            fn expecting(&self, f: &mut Formatter<'_>) -> Format {
                write!(f, "a text of at most {LIMIT} bytes without control characters")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                if text.len() > LIMIT || text.contains(char::is_control) {
                    let short: String = text.chars().take(40).collect();
                    return Err(E::invalid_value(Unexpected::Str(&short), &self));
                }
                Ok(Text(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Of::<LIMIT>)
    }
}

/// A figure: a number from 0 to [`MAX_NUMBER`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;
        impl Visitor<'_> for Of {
            type Value = Number;
            fn expecting(&self, f: &mut Formatter<'_>) -> Format {
                write!(f, "a number, 0 to {MAX_NUMBER:e}")
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
                if (0.0..=MAX_NUMBER).contains(&number) {
                    return Ok(Number(number));
                }
                Err(E::invalid_value(Unexpected::Float(number), &self))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
                Err(E::invalid_value(Unexpected::Signed(number), &self))
            }
        }
        deserializer.deserialize_f64(Of)
    }
}

/// A whole number from 1 to `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<const MOST: u64>(pub u64);

impl<'de, const MOST: u64> Deserialize<'de> for Whole<MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of<const MOST: u64>;
        impl<const MOST: u64> Visitor<'_> for Of<MOST> {
            type Value = Whole<MOST>;
            fn expecting(&self, f: &mut Formatter<'_>) -> Format {
                write!(f, "a whole number, 1 to {MOST}")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                if (1..=MOST).contains(&number) {
                    return Ok(Whole(number));
                }
                Err(E::invalid_value(Unexpected::Unsigned(number), &self))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                Err(E::invalid_value(Unexpected::Signed(number), &self))
            }
        }
        deserializer.deserialize_u64(Of::<MOST>)
    }
}

/// A list of at most `MOST` elements. Parsing fails at the first element beyond that, so memory
/// stays bounded.
#[derive(Clone, Debug, PartialEq)]
pub struct List<T, const MOST: usize>(pub Vec<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for List<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of<T, const MOST: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Of<T, MOST> {
            type Value = List<T, MOST>;
            fn expecting(&self, f: &mut Formatter<'_>) -> Format {
                write!(f, "a list of at most {MOST}")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut found = Vec::new();
                while let Some(one) = list.next_element()? {
                    if found.len() == MOST {
                        return Err(A::Error::custom(format_args!(
                            "a list of more than {MOST}; no more are allowed"
                        )));
                    }
                    found.push(one);
                }
                Ok(List(found))
            }
        }
        deserializer.deserialize_seq(Of::<T, MOST>(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error<'de, T: Deserialize<'de> + std::fmt::Debug>(text: &'de str) -> String {
        serde_json::from_str::<T>(text).unwrap_err().to_string()
    }

    #[test]
    fn a_value_out_of_bounds_is_refused_with_what_is_allowed() {
        assert!(error::<Number>("-1").contains("integer `-1`, expected a number, 0 to 1e18"));
        assert!(error::<Number>("1e19").contains("expected a number, 0 to 1e18"));
        assert!(error::<Number>("\"5\"").contains("invalid type: string \"5\", expected a number"));
        assert!(error::<Whole<9>>("0").contains("integer `0`, expected a whole number, 1 to 9"));
        assert!(error::<Whole<9>>("1.5").contains("expected a whole number, 1 to 9"));
        assert!(error::<Text<3>>("\"four\"").contains("expected a text of at most 3 bytes"));
        assert!(!error::<Text<9>>("\"\\u001b[31m\"").contains('\u{1b}'));
        assert!(error::<List<Number, 2>>("[1, 2, 3]").contains("more than 2; no more are allowed"));
        assert_eq!(serde_json::from_str::<List<Number, 2>>("[1, 2.5]").unwrap().0[1].0, 2.5);
    }
}
