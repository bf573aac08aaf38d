//! Pairs of variants that a published table is about: what matters there is the change from one to the other.

use crate::file::{Result, Source};
use crate::script::Variant;
use serde::Deserialize;
use toml::Spanned;

/// Two variants; a prediction of the table is compared by the change from the first to the second, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The variant from which the change is counted.
    pub first: String,
    /// The variant to which.
    pub second: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PairEntry {
    first: Spanned<String>,
    second: Spanned<String>,
}

pub(crate) fn pairs(
    source: &Source,
    entries: &[Spanned<PairEntry>],
    variants: &[Variant],
) -> Result<Vec<Pair>> {
    let table: Vec<(&str, &str)> = variants.iter().map(|v| (&*v.name, &*v.name)).collect();
    let one = |entry: &Spanned<PairEntry>| {
        let PairEntry { first, second } = entry.get_ref();
        let pair = Pair {
            first: source.choose("variant", first, &table)?.to_owned(),
            second: source.choose("variant", second, &table)?.to_owned(),
        };
        if pair.first == pair.second {
            return Err(source.error(second.span(), "a pair has two different variants"));
        }
        Ok(pair)
    };
    entries.iter().map(one).collect()
}
